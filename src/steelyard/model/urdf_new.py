"""A new URDF file from a robot and the geometry of its links."""

from dataclasses import replace
from pathlib import Path

import numpy as np

from steelyard.errors import ModelError, choices
from steelyard.inertia import transform
from steelyard.inertia.rotation import from_vector
from steelyard.model.assemble import DEFAULT_GRAVITY
from steelyard.model.carried import carried
from steelyard.model.changes import OPEN, Draft, property_of, require_consistent, unused
from steelyard.model.joint import Joint, is_helical, revolute_subspace, screw
from steelyard.model.meshes import Piece
from steelyard.model.references import Relocation
from steelyard.model.robot import WORLD, Frame, Link, Robot
from steelyard.model.urdf import ATTRIBUTES, FIXED
from steelyard.model.urdf_write import new_inertial
from steelyard.model.xml_edit import NewElement, new_file, number_text
from steelyard.spatial import rpy_from_rotation

GROUND = "world"
STATED = {"box": ("size",), "sphere": ("radius",), "cylinder": ("radius", "length")}
"""Primitives that every reader of URDF knows, and their attributes."""
MESHES = (".stl", ".obj", ".dae")


def mesh_problem(name: str, content: bytes, role: str) -> str:
    """As of `Shapes.problem`: readers of URDF share these kinds of files."""
    suffix = Path(name).suffix.lower()
    return "" if suffix in MESHES else f"{suffix} files are not read by all readers of URDF"


def new_model(robot: Robot, target: Path, pieces: tuple[Piece, ...] = ()) -> Draft:
    """A new file for `target`. Raises ModelError for what URDF has no words for: ball and helical joints."""
    for name, theta in zip(robot.body_names, robot.inertias, strict=True):
        if theta.any():
            require_consistent(name, theta)
    whole, shifts = _expressible(robot)
    root, whole, renamed = _named(whole, pieces)
    shapes = _shapes(pieces, {robot.body_names[body]: shift for body, shift in shifts.items()}, target)
    loads = carried(whole)
    links, joints = [], []
    if root not in {link.name for link in loads.fixed[WORLD]}:
        links.append(NewElement("link", {"name": root}))
    taken = {joint.name for joint in whole.joints}
    for body in (WORLD, *range(whole.nb)):
        carrier = root if body == WORLD else whole.body_names[body]
        if body != WORLD:
            links.append(_link(loads.own[body], shapes))
            joints.append(_new_joint(whole, body, root))
        sites = (
            Link(s.name, s.body, s.rotation, s.position, np.zeros(10), False) for s in whole.sites if s.body == body
        )
        for link in (*loads.fixed[body], *sites):
            links.append(_link(link, shapes))
            if link.name != root:
                name = unused(f"{link.name}_fixed", taken)
                taken.add(name)
                joints.append(_fixed(name, carrier, link))
    return Draft(
        files=((target, new_file(NewElement("robot", {"name": robot.name}, (*links, *joints)))),),
        expected=_as_read(whole),
        changed=("new file: links, joints, inertials",),
        notes=(*_notes(robot, whole, [robot.body_names[body] for body in shifts]), *renamed, *loads.notes),
        rescaled=loads.rescaled,
        whole=whole,
    )


def _as_read(whole: Robot) -> Robot:
    """The robot without what URDF has no place for."""
    return replace(
        whole,
        gravity=np.array(DEFAULT_GRAVITY),
        armature=np.zeros(whole.nv),
        links=(),
        sites=(),
        loops=(),
        rotors=(),
        drives={},
        **{field: np.where(_with_axis(whole), getattr(whole, field), 0.0) for field in ATTRIBUTES},
    )


def _notes(robot: Robot, whole: Robot, shifted: list[str]):
    if shifted:
        yield f"URDF puts link frames on joint axes; those of {choices(shifted)} were moved there with what they carry."
    if whole.nb > robot.nb:
        added = [name for name in whole.body_names if name not in robot.body_names]
        yield f"Bodies with several joints got massless links between them: {choices(added)}."
    if whole.sites:
        yield f"Sites are links without mass: {choices(site.name for site in whole.sites)}."


def _named(whole: Robot, pieces: tuple[Piece, ...]) -> tuple[str, Robot, tuple[str, ...]]:
    """The root link, the robot with names that links of URDF can share, and a note on those that are others.

    The root is the link that has the world's frame. The ground, which MJCF names "world" in every file, is left out
    where it carries nothing and another link can take its place.
    """
    still = [link for link in whole.links if link.body == WORLD and _is_origin(link)]
    full = {piece.link for piece in pieces} | {site.name for site in whole.sites if site.body == WORLD}
    kept = [link for link in still if link.name != GROUND or link.theta.any() or link.name in full]
    names = {link.name for link in whole.links} | set(whole.body_names)
    root = kept[0].name if kept else GROUND if still else unused(GROUND, names)
    links = tuple(
        link for link in whole.links if not (link in still and link.name == GROUND != root and link not in kept)
    )
    sites, renamed, taken = [], [], {*names, root}
    for site in whole.sites:
        if site.body == WORLD and site.name == root == GROUND and _is_origin(site):  # the ground, told apart
            continue
        name = unused(site.name, taken)
        taken.add(name)
        sites.append(replace(site, name=name))
        renamed += [f"{site.name} -> {name}"] if name != site.name else []
    notes = (f"Sites that have the name of a link got another: {choices(renamed)}.",) if renamed else ()
    return root, replace(whole, links=links, sites=tuple(sites)), notes


def _is_origin(frame: Frame) -> bool:
    return not frame.position.any() and np.array_equal(frame.rotation, np.eye(3))


def _shapes(pieces: tuple[Piece, ...], shifts: dict[str, np.ndarray], target: Path) -> dict[str, list[NewElement]]:
    """Elements of the geometry of each link. shifts: by link, (3,) by which its frame moves along its axes."""
    found: dict[str, list[NewElement]] = {}
    for piece in pieces:
        placed = replace(piece, position=piece.position - shifts.get(piece.link, np.zeros(3)))
        found.setdefault(piece.link, []).append(_shape(placed, target))
    return found


def _shape(piece: Piece, target: Path) -> NewElement:
    children = [_origin(piece.position, piece.rotation), NewElement("geometry", {}, (_geometry(piece, target),))]
    if piece.color is not None:
        color = NewElement("color", {"rgba": number_text(piece.color)})
        children.append(NewElement("material", {"name": "_".join(f"{each:.4g}" for each in piece.color)}, (color,)))
    return NewElement(piece.role, {}, tuple(children))


def _geometry(piece: Piece, target: Path) -> NewElement:
    if piece.solid is not None:
        kind, sizes = piece.solid
        names = STATED[kind]
        values = [sizes] if len(names) == 1 else [[size] for size in sizes]
        return NewElement(kind, {name: number_text(value) for name, value in zip(names, values, strict=True)})
    assert piece.file is not None and piece.file.path is not None and piece.scale is not None  # of `shape_output`
    attributes = {"filename": Relocation(target.parent, target.parent).seen(piece.file.path)}
    if not np.array_equal(piece.scale, np.ones(3)):
        attributes["scale"] = number_text(piece.scale)
    return NewElement("mesh", attributes)


def _link(link: Link, shapes: dict[str, list[NewElement]]) -> NewElement:
    inertial = (new_inertial(link.theta),) if link.theta.any() else ()
    return NewElement("link", {"name": link.name}, (*inertial, *shapes.get(link.name, ())))


def _origin(position, rotation) -> NewElement:
    return NewElement("origin", {"xyz": number_text(position), "rpy": number_text(rpy_from_rotation(rotation))})


def _fixed(name: str, carrier: str, link: Frame) -> NewElement:
    ends = (NewElement("parent", {"link": carrier}), NewElement("child", {"link": link.name}))
    return NewElement("joint", {"name": name, "type": FIXED}, (*ends, _origin(link.position, link.rotation)))


def _expressible(robot: Robot) -> tuple[Robot, dict[int, np.ndarray]]:
    """The robot with link frames on joint axes, zero positions folded into the frames, and a link for every joint.

    Returns it, and by body of `robot` the (3,) by which its frame moves, along its axes, where it does.
    """
    shifts, joints = {WORLD: np.zeros(3)}, []
    for index, joint in enumerate(robot.joints):
        _require_expressible(joint)
        shift = screw(joint)[1] if joint.nv == 1 else np.zeros(3)
        shifts[index] = shift
        joints.append(_reframed(joint, shifts[int(robot.parents[index])], shift))
    bodies = {int(j): body for body, j in enumerate(robot.body_joints)}
    at = {WORLD: WORLD} | {body: index for index, body in bodies.items()}
    taken = {*robot.body_names, *(link.name for link in robot.links)}
    names, inertias = [], []
    for index, joint in enumerate(robot.joints):
        body = bodies.get(index)
        names.append(robot.body_names[body] if body is not None else unused(f"{joint.name}_link", taken))
        theta = np.zeros(10) if body is None else robot.inertias[body]
        inertias.append(transform(theta, np.eye(3), -shifts[index]))
    moves = {robot.body_names[body]: shifts[index] for index, body in bodies.items() if np.any(shifts[index])}
    reframed = replace(
        robot,
        joints=tuple(joints),
        body_names=tuple(names),
        body_joints=np.arange(robot.nj),
        inertias=np.array(inertias),
        links=tuple(_moved(link, shifts[at[link.body]], at[link.body], robot) for link in robot.links),
        sites=tuple(_moved(site, shifts[at[site.body]], at[site.body], robot) for site in robot.sites),
        loops=tuple(
            replace(loop, positions=loop.positions - [moves.get(str(body), np.zeros(3)) for body in loop.bodies])
            for loop in robot.loops
        ),
        rotors=tuple(
            replace(rotor, position=rotor.position - moves.get(str(rotor.carrier), np.zeros(3)))
            for rotor in robot.rotors
        ),
    )
    return reframed, {body: shifts[index] for index, body in bodies.items() if np.any(shifts[index])}


def _moved(frame, shift, body: int, robot: Robot):
    """A link or site in the moved frame of its body. A link that has the frame of the body keeps it, and what it
    carries moves instead."""
    if isinstance(frame, Link) and body != WORLD and frame.name == robot.body_names[frame.body]:
        return replace(frame, body=body, theta=transform(frame.theta, np.eye(3), -shift))
    return replace(frame, body=body, position=frame.position - shift)


def _with_axis(robot: Robot) -> np.ndarray:
    """(nv,) whether a freedom is that of a joint about or along an axis, which alone have <dynamics>."""
    return np.array([joint.features.has_axis for joint in robot.free_joints for _ in range(joint.nv)])


def _require_expressible(joint: Joint):
    if joint.features.urdf is None or is_helical(joint):
        kind = "helical" if is_helical(joint) else joint.features.title
        raise ModelError(
            f"Joint '{joint.name}' is {kind}, which URDF cannot say. Save the robot as MJCF (.xml), or model the joint "
            "as three hinges."
        )


def _reframed(joint: Joint, parent_shift, shift) -> Joint:
    """The joint between shifted frames. Both shifts (3,) are along the axes of the frame they move."""
    R, p = joint.rotation, joint.position - parent_shift + joint.rotation @ shift
    if joint.nv != 1:
        return replace(joint, position=p)
    axis, _, _ = screw(joint)
    if joint.turns:
        joint = replace(joint, subspace=revolute_subspace(axis))
    if joint.mimics is not None:
        return replace(joint, position=p)
    if joint.turns:
        R = R @ from_vector(joint.offset * axis)
    else:
        p = p + R @ axis * joint.offset
    return replace(joint, rotation=R, position=p, offset=0.0)


def _new_joint(robot: Robot, index: int, root: str) -> NewElement:
    joint, parent = robot.joints[index], int(robot.parents[index])
    kind = joint.features.urdf
    assert kind is not None  # `_require_expressible`
    bounds = np.array([joint.lower[0], joint.upper[0]])
    if kind == "revolute" and not np.isfinite(bounds).any():
        kind = "continuous"
    children = [
        NewElement("parent", {"link": root if parent == WORLD else robot.body_names[parent]}),
        NewElement("child", {"link": robot.body_names[index]}),
        _origin(joint.position, joint.rotation),
    ]
    if joint.features.has_axis:
        children += [
            NewElement("axis", {"xyz": number_text(screw(joint)[0])}),
            *_new_limit(joint, kind, bounds),
            *_new_dynamics(robot, index),
        ]
    if joint.mimics is not None:
        attributes = {
            "joint": joint.mimics,
            "multiplier": number_text([joint.ratio]),
            "offset": number_text([joint.offset]),
        }
        children.append(NewElement("mimic", attributes))
    return NewElement("joint", {"name": joint.name, "type": kind}, tuple(children))


def _new_limit(joint: Joint, kind: str, bounds) -> list[NewElement]:
    """`<limit>`, which URDF requires of bounded joints; a missing bound becomes a number no robot reaches."""
    strength = np.array([joint.effort_limit[0], joint.velocity_limit[0]])
    if joint.nv > 1 or (kind == "continuous" and not np.isfinite(strength).any()):
        return []
    names = ("effort", "velocity") if kind == "continuous" else ("lower", "upper", "effort", "velocity")
    values = strength if kind == "continuous" else np.concatenate([bounds, strength])
    return [
        NewElement("limit", {n: number_text([v]) for n, v in zip(names, np.clip(values, -OPEN, OPEN), strict=True)})
    ]


def _new_dynamics(robot: Robot, index: int) -> list[NewElement]:
    values = {name: property_of(robot, index, field, format="URDF")[0] for field, name in ATTRIBUTES.items()}
    pair = {name: number_text([value]) for name, value in values.items() if value}
    return [NewElement("dynamics", pair)] if pair else []
