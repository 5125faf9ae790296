"""MJCF write-back: new inertials and joint properties spliced into copies of the user's files, byte for byte."""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

from steelyard.errors import ModelError
from steelyard.model.changes import Changes, Draft, com_form, find_changes
from steelyard.model.mjcf import CONTACT, MjcfDocument, floor_nodes, highest
from steelyard.model.mjcf_compile import compile_files
from steelyard.model.mjcf_drives import Actuators, expressible, unwritten
from steelyard.model.mjcf_files import Made, MjcfBody, MjcfFiles, Node, bodies, relocate
from steelyard.model.robot import ContactParameters, Robot
from steelyard.model.sketch import Inertial, Sketch
from steelyard.model.xml import Document
from steelyard.model.xml_edit import (
    Edit,
    NewElement,
    apply,
    assign,
    insert,
    number_text,
    replace_attribute,
    set_numbers,
    update,
)
from steelyard.numbers import ROUNDING, to_float
from steelyard.spatial import quaternion_of


@dataclass(frozen=True, eq=False)
class CompilerSettings:
    """What the compiler made of a file.

    springs: (stiffness, damping) of each joint with `springdamper`, by its place among the joints of the file.
    """

    springs: dict[int, tuple[float, float]]
    total: float | None  # kg of all bodies, where `settotalmass` says so
    scale: float  # kg in the model for each kg in the file
    ratios: frozenset[int]  # actuators with `dampratio`
    m: Any  # the MjModel


def settings_of(files: MjcfFiles) -> CompilerSettings:
    """Settings of a file. Raises ModelError where MuJoCo cannot compile it."""
    specs = []
    m, _ = compile_files(files, specs.append)
    (spec,) = specs
    sprung = [joint.id for joint in spec.joints if (np.asarray(joint.springdamper) > 0).all()]
    springs = {i: (float(m.jnt_stiffness[i].flat[0]), float(m.dof_damping[m.jnt_dofadr[i]].flat[0])) for i in sprung}
    # MuJoCo tells a ratio from a damping by its sign
    ratios = frozenset(each.id for each in spec.actuators if each.biasprm[2] > 0 >= m.actuator_biasprm[each.id, 2])
    total = float(getattr(spec.compiler, "settotalmass", 0.0))  # deprecated in MuJoCo 4.0
    if total <= 0:
        return CompilerSettings(springs, None, 1.0, ratios, m)
    own, _ = compile_files(files, lambda spec: setattr(spec.compiler, "settotalmass", -1.0))  # none
    return CompilerSettings(springs, total, total / float(own.body_mass.sum()), ratios, m)


def new_total(files: MjcfFiles, settings: CompilerSettings, inertials: dict[int, np.ndarray]) -> Iterator[Made]:
    """Let the file's sum of masses follow new inertials, (10,) by body."""
    if settings.total is None:
        return
    more = sum(float(theta[0] - settings.m.body_mass[i]) for i, theta in inertials.items())
    total = number_text([settings.total + more])
    for node in files.sections("compiler"):
        if "settotalmass" in node.element.attributes:
            yield node, assign(node.document, node.element, "settotalmass", total), f'settotalmass="{total}"'


def plain_springs(joints: list[Node], settings: CompilerSettings, damped: set[int]) -> Iterator[Made]:
    """Write stiffness and damping of joints with `springdamper` themselves; those that generators make are left."""
    for place, (stiffness, damping) in settings.springs.items():
        if place < len(joints):
            node = joints[place]
            values = {"springdamper": (0.0, 0.0), "stiffness": (stiffness,), "damping": (damping,)}
            edits = [
                edit
                for name, numbers in values.items()
                if name != "damping" or place not in damped
                for edit in assign(node.document, node.element, name, number_text(numbers))
            ]
            yield node, edits, "stiffness and damping that springdamper stood for"


LEAST = 2e-15  # kg m^2: MuJoCo refuses moving bodies below 1e-15 (mjMINVAL)
ORIENTATIONS = ("axisangle", "xyaxes", "zaxis", "euler")
# compiler settings after which an inertial is not what the file says
INFLUENCES = (
    "settotalmass",
    "boundmass",
    "boundinertia",
    "balanceinertia",
    "inertiafromgeom",
    "alignfree",
    "fusestatic",
)


def edited(document: MjcfDocument, robot: Robot, reference: Robot, target: Path) -> Draft:
    """As of `ModelDocument.edited`, of the file and at and beside `target` what it includes.

    Raises ModelError where a changed body cannot be found in the files.
    """
    files = document.files
    listed, barrier = bodies(files)
    joints = {name: joint for body in listed for name, joint in body.joints.items()}

    def writable(joint, _):
        # a free base that was asked for is in no file, and <freejoint> has no properties
        return joint.kind != "free" or (joint.name in joints and joints[joint.name].element.tag == "joint")

    settings = settings_of(files)
    actuators = Actuators(files, settings.m, joints, settings.ratios)
    changes = find_changes(
        robot,
        reference,
        format="MJCF",
        hosts=lambda link: link > 0,
        writable=writable,
        drives=expressible(robot, settings.m.opt.timestep),
        obstacle=actuators.obstacle,
    )
    if changes.links or changes.joints:
        _require_matched(changes, reference, files, listed, joints, barrier)
    edits: dict[Document, list[Edit]] = {}
    for index, theta in changes.links.items():
        body = listed[index - 1]
        owner, made = _inertial(body, theta / settings.scale)
        edits.setdefault(owner, []).extend(made)
    for name, properties in changes.joints.items():
        edits.setdefault(joints[name].document, []).extend(_properties(joints[name], properties))
    lines = _collect(edits, _followed(files, settings, changes, joints))
    lines += _collect(edits, _driven(actuators, changes, reference))
    floor = [] if robot.floor in (None, reference.floor) else list(floor_edits(files, settings.m, robot.floor))
    lines += _collect(edits, floor)
    written, renamed = _written(files, edits, target)
    told = unwritten({name: drive for name, drive in robot.drives.items() if drive != reference.drives.get(name)})
    return changes.draft(
        "body",
        target,
        files.folders,
        written,
        renamed,
        lines=lines,
        expected=replace(changes.expected, floor=robot.floor) if floor else changes.expected,
        notes=(*told, *(actuators.notes(changes.drives) if changes.drives else ())),
        suspects=_influences(files),
    )


def _written(files: MjcfFiles, edits: dict[Document, list[Edit]], target: Path):
    """Path and content of each file of a copy, the model last, and one line for each changed path in it."""
    places, moves, lines = relocate(files, set(edits), target)
    main, *others = [(path, apply(each, edits.get(each, []) + moves[each])) for each, path in places.items()]
    return (*others, main), lines


def _require_matched(
    changes: Changes, reference: Robot, files: MjcfFiles, listed: list[MjcfBody], joints, barrier: Node | None
):
    """Raise ModelError unless every changed body and joint is known to be one element of the files."""
    path = files.main.path
    if barrier is None and len(listed) != len(reference.links) - 1:
        raise ModelError(
            f"{path} writes {len(listed)} bodies and MuJoCo makes {len(reference.links) - 1} of them, so they cannot "
            'be told apart. Turn fusestatic off (<compiler fusestatic="false"/>) and try again.'
        )
    for body, link in zip(listed, reference.links[1:], strict=False):
        if body.name != link.name:
            raise ModelError(
                f"{body.node} is named '{body.name}' where MuJoCo has '{link.name}'; the file cannot be edited."
            )
    lost = [reference.links[i].name for i in changes.links if i > len(listed)]
    lost += [name for name in changes.joints if name not in joints]
    if lost:
        raise ModelError(
            f"'{lost[0]}' cannot be written back to {path}: it is made by, or comes after, {barrier}, which makes "
            "bodies that are not written in the file. Save the compiled model (MjSpec.to_xml) and identify that."
        )


def new_inertial(theta) -> NewElement:
    """`<inertial>` of a body. theta: (10,) in its frame."""
    mass, com, inertia = _compilable(theta)
    moments, quaternion = principal_moments(inertia)
    attributes = {"pos": number_text(com), "quat": number_text(quaternion)}
    return NewElement("inertial", attributes | {"mass": number_text([mass]), "diaginertia": number_text(moments)})


def _compilable(theta):
    """`com_form` that MuJoCo takes: it allows no rounding beyond a plate, and three moments above `LEAST`.

    Rods and plates get as much more of a ball as that needs. theta: (10,).
    """
    mass, com, inertia = com_form(theta)
    a, b, c = np.linalg.eigvalsh(inertia)
    short = max(ROUNDING * c - (a + b - c), LEAST - a, 0.0) if c > LEAST else 0.0
    return mass, com, inertia + short * np.eye(3)


def _inertial(body: MjcfBody, theta, form=None, *, own_axes=None) -> tuple[Document, list[Edit]]:
    """The file and edits that give a body theta (10,), in the spelling the file has. form: mass, centre of mass and
    inertia about it instead. own_axes: (3,) moments in the axes that the file states, where those can stay."""
    if body.inertial is None:
        return body.node.document, insert(body.node.document, body.node.element, new_inertial(theta))
    document, element = body.inertial.document, body.inertial.element
    mass, com, inertia = _compilable(theta) if form is None else form
    edits = set_numbers(document, element, "pos", com) + set_numbers(document, element, "mass", [mass])
    if "fullinertia" in element.attributes:
        full = inertia[(0, 1, 2, 0, 0, 1), (0, 1, 2, 1, 2, 2)]
        return document, edits + set_numbers(document, element, "fullinertia", full)
    if own_axes is not None:
        return document, edits + set_numbers(document, element, "diaginertia", own_axes)
    moments, quaternion = principal_moments(inertia)
    edits += set_numbers(document, element, "diaginertia", moments)
    spelled = [name for name in ORIENTATIONS if name in element.attributes]
    if spelled:
        return document, edits + replace_attribute(document, element, spelled[0], "quat", number_text(quaternion))
    return document, edits + set_numbers(document, element, "quat", quaternion, default=(1.0, 0.0, 0.0, 0.0))


def principal_moments(inertia):
    """Principal moments (..., 3) of inertias (..., 3, 3) about the centre of mass, kg m^2, and the quaternions (..., 4)
    of their axes, w first."""
    moments, axes = np.linalg.eigh(inertia)
    axes[..., 0] *= np.sign(np.linalg.det(axes))[..., None]
    # MuJoCo allows no rounding beyond a flat body, where the largest moment is the sum of the others
    moments[..., 2] = np.minimum(moments[..., 2], moments[..., 0] + moments[..., 1])
    aligned = ~inertia[..., *np.triu_indices(3, 1)].any(axis=-1, keepdims=True)
    moments = np.where(aligned, np.diagonal(inertia, axis1=-2, axis2=-1), moments)
    return moments, np.where(aligned, [1.0, 0.0, 0.0, 0.0], np.roll(quaternion_of(axes), 1, axis=-1))


def _properties(joint: Node, properties: dict[str, float]) -> list[Edit]:
    edits = []
    for name, value in properties.items():
        higher = joint.element.attributes.get(name, "").split()[1:]  # of a damping polynomial
        edits += update(joint.document, joint.element, name, [value, *(to_float(word) for word in higher)])
    return edits


def _followed(files: MjcfFiles, settings: CompilerSettings, changes: Changes, joints) -> Iterator[Made]:
    """Let MuJoCo read inertials where the file tells it to weigh the geoms only, and settings by which it makes masses
    and dampers of its own follow what is written."""
    for node in files.sections("compiler") if changes.links else ():
        if node.element.attributes.get("inertiafromgeom") == "true":
            yield node, assign(node.document, node.element, "inertiafromgeom", "auto"), 'inertiafromgeom="auto"'
    if changes.links or changes.joints:
        damped = {place for place, name in enumerate(joints) if "damping" in changes.joints.get(name, {})}
        yield from new_total(files, settings, changes.links)
        yield from plain_springs(list(joints.values()), settings, damped)


def _driven(actuators: Actuators, changes: Changes, reference: Robot) -> Iterator[Made]:
    """What drives need: actuators, and hard friction where there are new ones."""
    if changes.drives:
        rubbing = dict(zip(reference.dof_names, changes.expected.frictionloss, strict=True))
        yield from actuators.edits(changes.drives, reference.drives)
        yield from actuators.hardened(name for name in changes.expected.drives if rubbing[name])
    if changes.links or any("armature" in properties for properties in changes.joints.values()):
        yield from actuators.settled({n: d for n, d in reference.drives.items() if n not in changes.drives})


def _collect(edits: dict[Document, list[Edit]], made: Iterable[Made]) -> list[str]:
    lines = []
    for node, own, what in made:
        edits.setdefault(node.document, []).extend(own)
        lines.append(f"{node}: {what}")
    return lines


def _influences(files: MjcfFiles) -> tuple[str, ...]:
    """Settings after which inertials or joint properties are not what the file says."""
    found = [(node, name) for node in files.sections("compiler") for name in INFLUENCES]
    found += [(node, "springdamper") for node in files.everything() if node.element.tag == "joint"]
    named = [(n, a) for n, a in found if a in n.element.attributes]
    return tuple(f'{name}="{node.element.attributes[name]}" of {node}' for node, name in named[:3])


def with_inertials(
    document: MjcfDocument, sketch: Sketch, inertials: dict[int, Inertial], target: Path
) -> list[tuple[Path, bytes]]:
    """As of `ModelDocument.with_inertials`, with what the file includes beside `target`."""
    files = document.files
    listed = {body.name: body for body in bodies(files)[0]}
    made = [name for index in inertials if (name := sketch.parts[index].name) not in listed]
    if made:
        raise ModelError(
            f"{sketch.path}: body '{made[0]}' is made by a generator, so its inertial cannot be edited. Save the "
            "compiled model (MjSpec.to_xml) and repair that."
        )
    edits: dict[Document, list[Edit]] = {}
    for index, inertial in inertials.items():
        owner, made = _stated(listed[sketch.parts[index].name], inertial)
        edits.setdefault(owner, []).extend(made)
    return list(_written(files, edits, target)[0])


def _stated(body: MjcfBody, inertial: Inertial) -> tuple[Document, list[Edit]]:
    """The same for an inertial whose own axes stay where its tensor is diagonal in them."""
    I = inertial.tensor
    diagonal = np.abs(I - np.diag(np.diag(I))).max() <= ROUNDING * np.abs(I).max()
    form = inertial.mass, inertial.com, inertial.tensor_in_part
    return _inertial(body, inertial.theta, form, own_axes=np.diag(I) if diagonal else None)


def floor_edits(files: MjcfFiles, m: Any, contact: ContactParameters) -> Iterator[Made]:
    """Edits that give every contact with the floor its parameters."""
    nodes, others = floor_nodes(files, m), highest(m)
    numbers = {name: getattr(contact, name) for name in CONTACT} | {"condim": (contact.condim,)}
    for geom, node in nodes.items():
        before = {name: np.atleast_1d(getattr(m, f"geom_{name}")[geom]) for name in (*numbers, "priority")}
        own = numbers | {"priority": (max(int(before["priority"][0]), others + 1),)}
        edits = [
            edit
            for name, values in own.items()
            for edit in set_numbers(node.document, node.element, name, values, default=before[name].tolist())
        ]
        yield node, edits, "what contacts with it have"
