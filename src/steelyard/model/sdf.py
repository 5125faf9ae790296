"""An SDF file: a tolerant `Sketch`, and the strict `Robot` that is refused by the first fault of its links or joints.

What the format says counts, also where it surprises: a link without `<inertial>` has 1 kg and moments of 1 kg m^2, and
a model that nothing holds flies. Both are said in notes, and the linter reports the first.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

import numpy as np

from steelyard.errors import ModelError, choices
from steelyard.inertia import from_com_inertia, to_com_inertia
from steelyard.lazy import later
from steelyard.model.assemble import assemble, segments_of, unmodelled
from steelyard.model.document import ModelDocument
from steelyard.model.loops import Loop
from steelyard.model.meshes import Meshes, Piece
from steelyard.model.robot import WORLD, ModelSource, Robot
from steelyard.model.sdf_files import ROOT, SdfFiles
from steelyard.model.sdf_frames import STATED, TRUE, WORLD_FRAME, raw_pose, text_of
from steelyard.model.sdf_geometry import automatic, named_files, pieces_of, shapes_of, surroundings_of
from steelyard.model.sdf_joints import AXES, TYPES, axis_of, geared, read_joints
from steelyard.model.sdf_tree import FLIES, SdfBody, SdfTree, tree_of
from steelyard.model.side_mechanism import z_along
from steelyard.model.sketch import Inertial, Sketch, SketchJoint, SketchPart
from steelyard.model.urdf_geometry import CLOSED, TENSOR
from steelyard.model.xml import Document, rooted
from steelyard.spatial import GRAVITY, Pose, inverse, then

UNIT = np.asarray(from_com_inertia(1.0, np.zeros(3), np.eye(3)))  # of a link without <inertial>
TOLD = ("SY507", "SY509", "SY511", "SY606")  # faults that a robot is read in spite of, and that its user must know of


@dataclass(frozen=True, eq=False)
class SdfDocument(ModelDocument):
    """An SDF file, with what it includes."""

    @cached_property
    def xml(self) -> Document:
        """What is in it. Raises ModelError for what is no SDF."""
        return rooted(self.path, "an SDF", ROOT)

    @property
    def whole(self) -> bool:
        return any(each.tag in ("world", "model") for each in self.xml.root.children)

    def files(self) -> SdfFiles:
        """Its files, with new readers. Raises ModelError for what cannot be read at all."""
        return SdfFiles(self.xml, self.folders, self.arguments.get("model", ""))

    def read(self) -> tuple[SdfFiles, SdfTree, list[SketchJoint]]:
        """Its files, trees and joints, with new readers. Raises ModelError for what cannot be read at all."""
        files = self.files()
        tree = tree_of(files)
        return files, tree, geared(tree, read_joints(files, tree))

    def referenced(self) -> Iterator[Path]:
        return named_files(self.files(), self.meshes)

    def robot(self, *, floating, gravity) -> Robot:
        files, tree, joints = self.read()
        source, listed = self.meshes, tree.listed
        parts = {listed.index(body): _part(tree, body, source, strict=True) for body in sorted(tree.chosen)}
        silent = [part.name for part in parts.values() if part.inertial is None]
        if silent:
            tree.notes.append(
                f"{self.path.name}: no <inertial> states mass and tensor of {choices(silent)}; SDF gives each 1 kg and "
                "moments of 1 kg m^2."
            )
        roots = [body for body in tree.over.roots if body in tree.chosen]
        world = WORLD_FRAME if len(roots) != 1 or roots[0] in tree.over.carriers else None
        closures = [_closure(tree, index) for index in tree.over.closing if _acts(tree, index)]
        if files.refusals:
            raise ModelError(files.refusals[0])
        model = next(iter(tree.prefix), self.path.stem)
        stated = GRAVITY if files.gravity is None else files.gravity
        return assemble(
            model,
            segments_of(parts, joints, world),
            floating=floating,
            gravity=stated if gravity is None else gravity,
            source=ModelSource(self.path.absolute(), "sdf", self.folders, arguments=self.arguments),
            notes=_notes(files, tree, floating),
            closures=filter(None, closures),
            places=_places(tree),
        )

    def sketch(self, *, meshes: bool = True) -> Sketch:
        files, tree, joints = self.read()
        for index in tree.over.closing:
            _closure(tree, index)
        if not tree.listed:
            raise ModelError(f"{self.path} has no <link>; there is nothing to check.")
        source = self.meshes
        parts = [_part(tree, index, source, read=meshes) for index in tree.listed]
        return Sketch(self.path, "sdf", "link", tuple(parts), tuple(joints), tuple(files.faults), tuple(files.notes))

    def pieces(self) -> Iterator[Piece]:
        return pieces_of(tree_of(self.files()), self.meshes)

    def surroundings(self, *, alone: bool = False) -> list[dict]:
        return surroundings_of(tree_of(self.files()), self.meshes)

    edited = later("steelyard.model", "sdf_write.edited")
    with_inertials = later("steelyard.model", "sdf_write.with_inertials")


def inertial_of(body: SdfBody, label: str, source: Meshes, *, strict: bool = False) -> Inertial | None:
    """What the `<inertial>` of a link states; None without one. strict: whether missing numbers are those that SDF says
    instead of them, not NaN."""
    element, reader = body.item.element.find("inertial"), body.item.sheet.reader
    if element is None:
        return None
    label = f"{label} > inertial"
    place = reader.place(element, label)
    if element.attributes.get("auto", "").strip().lower() in TRUE:
        theta = automatic(body, label, source)
        if theta is None:
            return Inertial(place, np.nan, np.zeros(3), np.eye(3), np.full((3, 3), np.nan))
        mass, com, tensor = to_com_inertia(theta)
        return Inertial(place, float(mass), com, np.eye(3), tensor)
    (R, com), named = raw_pose(body.item.sheet, element, label, code=STATED)
    if named:
        said = f"the pose of its <inertial> is relative to '{named[:60]}', which simulators pass over."
        reader.fault("SY506", element, label, said, remedy="State it in the frame of the link.")
    stated = {each.tag for each in element.children if each.children or each.text.strip()}
    missing = [tag for tag in ("mass", "inertia") if tag not in stated]
    inertia = element.find("inertia")
    if inertia is not None:
        missing += [tag for tag in ("ixx", "iyy", "izz") if not text_of(inertia, tag)]
    for tag in missing:
        said = f"<inertial> has no <{tag}>: SDF takes it for 1 {'kg' if tag == 'mass' else 'kg m^2'}."
        reader.fault("SY105", element, label, said)
    unstated = 1.0 if strict else np.nan
    mass = reader.amount(element, "mass", label, default=unstated)
    if inertia is None:
        return Inertial(place, mass, com, R, unstated * np.eye(3) if strict else np.full((3, 3), np.nan))
    xx, xy, xz, yy, yz, zz = (
        reader.amount(inertia, tag, f"{label} > inertia", default=unstated if tag[1] == tag[2] else 0.0)
        for tag in TENSOR
    )
    return Inertial(place, mass, com, R, np.array([[xx, xy, xz], [xy, yy, yz], [xz, yz, zz]]))


def _part(tree: SdfTree, index: int, source: Meshes, *, read: bool = False, strict: bool = False) -> SketchPart:
    """A link as a part of a sketch, or of a robot, which has no shapes. strict: as of `inertial_of`."""
    body = tree.bodies[index]
    name = tree.named(index)
    label = f"link '{name}'"
    carrier, parent = tree.over.carriers.get(index), tree.over.parent(index)
    kind = "" if carrier is None else tree.joints[carrier.joints[0][0]].kind
    moves = not body.static if carrier is None else kind not in TYPES or bool(TYPES[kind])
    R, p = tree.relative(index)
    inertial = inertial_of(body, label, source, strict=strict)
    if inertial is None and not body.static:
        said = f"{label} has no <inertial>, so that SDF gives it 1 kg and moments of 1 kg m^2."
        body.item.sheet.reader.fault("SY107", body.item.element, f"{label} > inertial", said)
    shapes, partial = ((), False) if strict else shapes_of(body, label, source, read=read)
    return SketchPart(
        name,
        body.item.sheet.reader.place(body.item.element, label),
        None if parent == WORLD else tree.over.order.index(parent),
        R,
        p,
        moves,
        inertial,
        shapes,
        1.0 if inertial is None and not body.static else 0.0,
        partial,
        UNIT if inertial is None else None,
    )


def _acts(tree: SdfTree, index: int) -> bool:
    joint = tree.joints[index]
    return not tree.chosen.isdisjoint((joint.parent, joint.child))


def _closure(tree: SdfTree, index: int) -> Loop | None:
    """The loop that a joint closes, z along its axis; None where it is left open."""
    joint = tree.joints[index]
    kind, name = CLOSED.get(joint.kind), tree.name(joint.path)
    if kind is None:
        said = f"joint '{name}' of type '{joint.kind[:40]}' closes a loop, which is not read; it is left open."
        joint.item.sheet.reader.fault("SY509", joint.item.element, f"joint '{name}'", said)
        return None
    R, p = joint.pose
    if kind in ("hinge", "slide"):
        axis = axis_of(joint, AXES[0])
        R = z_along(axis) if np.isfinite(axis).all() else R
    ends = joint.parent, joint.child
    frames = ((R, p) if end == WORLD else then(inverse(tree.bodies[end].pose), (R, p)) for end in ends)
    one, other = (None if end == WORLD else tree.named(end) for end in ends)
    return Loop(name, kind, (one, other), *map(np.stack, zip(*frames, strict=True)))


def _places(tree: SdfTree) -> Iterator[tuple[str, str | None, Pose]]:
    known = {tree.named(index) for index in tree.chosen}
    for scope in dict.fromkeys(tree.bodies[index].scope for index in sorted(tree.chosen)):
        for item in scope.of("frame"):
            name, pose = tree.name((*scope.path, item.name)), scope.absolute(item.name)
            carrier = scope.carrier(item.name)
            if carrier is None:
                yield name, None, pose
                continue
            link = tree.name((*carrier[0].path, carrier[1].name))
            if link in known:
                yield name, link, then(inverse(carrier[0].absolute(carrier[1].name)), pose)


def _notes(files: SdfFiles, tree: SdfTree, floating) -> list[str]:
    notes = [*files.notes, *tree.notes]
    if floating is not None:
        notes = [note for note in notes if FLIES not in note]
    notes += [each.line for each in files.faults if each.code in TOLD]
    chosen = [tree.bodies[index].item.element for index in tree.chosen]
    joints = [each.item.element for index, each in enumerate(tree.joints) if _acts(tree, index)]
    springs = [each for joint in joints for each in joint.every("spring_stiffness") if each.text.strip(" 0.\n\t")]
    found = {
        "links without gravity": sum(text_of(each, "gravity").lower() in ("false", "0") for each in chosen),
        "joint springs": len(springs),
        "fluid added masses": sum(any(True for _ in each.every("fluid_added_mass")) for each in chosen),
    }
    return [*notes, *unmodelled(files.main.path, found)]
