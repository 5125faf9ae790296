"""A robot in what files of a format can say, computed once: which the writer of a format only has to spell.

Joints without words become others or are refused, names become legal, zeros of joints go into poses, and each link
keeps the inertial that it was read with, or its share of a new one.
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path

import numpy as np

from steelyard.errors import ModelError, choices
from steelyard.inertia import to_com_inertia, transform
from steelyard.model.assemble import FLOATING_BASE, without_massless
from steelyard.model.changes import Draft, divide, require_consistent, unused
from steelyard.model.compare import PROPERTIES, relative_difference
from steelyard.model.drive import Drive
from steelyard.model.joint import Joint, is_helical, pieces_of, revolute_subspace, screw
from steelyard.model.meshes import Piece
from steelyard.model.robot import WORLD, Frame, Link, Robot
from steelyard.model.side_mechanism import GROUND
from steelyard.numbers import ROUNDING
from steelyard.spatial import exponential

HELICAL = "helical"
AXES = ("revolute", "prismatic", "planar")


@dataclass(frozen=True, eq=False)
class Abilities:
    """What files of a format can say of a robot."""

    title: str  # the format in messages
    kinds: tuple[str, ...]  # of joints that have words, `HELICAL` among them; others are their pieces or refused
    free: str = "origin"  # where a body may be free: "anywhere", "origin" of the world, or "base" of the robot alone
    names_free: bool = True  # whether joints of free bodies have names
    properties: tuple[str, ...] = PROPERTIES  # of joints
    of: tuple[str, ...] = AXES  # kinds of joints that have these
    zeros: bool = False  # whether a joint may have another zero than the pose of what it carries
    on_axes: bool = False  # whether links have their origins on the axes of the joints that carry them
    inner: Callable[[Robot, int], bool] = lambda robot, index: True  # whether a joint needs no link before the next
    compiled: bool = False  # whether bodies that cannot be, and moving ones without mass and extent, are refused
    ground: bool = False  # whether the name `GROUND` is that of the world
    separator: str = ""  # of names, not in any; a format that has one has one name for one thing
    parts: bool = True  # whether links that are fixed to others state inertials of their own
    weighs: bool = False  # whether a body without mass weighs what its collision geometry does
    drives: Callable[[Robot], dict[str, Drive]] = lambda robot: {}  # that it holds, as they read back


@dataclass(frozen=True, eq=False)
class Member:
    """A link and how it hangs on another."""

    link: Link
    on: str  # name of the other, empty for the world
    joints: tuple[int, ...]  # between them, outermost first; none of a fixed link
    rotation: np.ndarray
    position: np.ndarray


@dataclass(frozen=True, eq=False)
class NormalForm:
    """A robot as a file can say it."""

    robot: Robot  # in the joints, frames and names of the file
    names: dict[str, str]  # of links by those that they had
    shifts: dict[str, np.ndarray]  # (3,) by which the frame of a body moves, along its axes
    expected: Robot  # as of a `Draft`
    notes: tuple[str, ...]
    rescaled: tuple[str, ...]  # as of a `Draft`

    def geometry(self, pieces: Sequence[Piece]) -> dict[str, list[Piece]]:
        """Pieces of each link, in its frame."""
        found: dict[str, list[Piece]] = {}
        for piece in pieces:
            name = self.names.get(piece.link, piece.link)
            moved = piece.position - self.shifts.get(name, np.zeros(3))
            found.setdefault(name, []).append(replace(piece, link=name, position=moved))
        return found

    @cached_property
    def members(self) -> list[Member]:
        """Links, fixed ones too, parents first."""
        return list(_members(self.robot))

    @cached_property
    def hanging(self) -> dict[str, list[Member]]:
        found: dict[str, list[Member]] = {name: [] for name in ("", *self.robot.body_names)}
        for each in self.members:
            found[each.on].append(each)
        return found

    def value(self, index: int, field: str) -> float:
        """A property of a joint by index, as the file has it: a mimic joint's are with its master's."""
        robot = self.expected
        return 0.0 if robot.joints[index].mimics else float(getattr(robot, field)[robot.v_slices[index]][0])

    def draft(self, target: Path, content: bytes, notes=(), **changed) -> Draft:
        """The file. changed: fields that are others."""
        about = {"expected": self.expected, "whole": self.robot, "rescaled": self.rescaled}
        return Draft(files=((target, content),), changed=(), notes=(*self.notes, *notes), **about | changed)


def normal_form(robot: Robot, abilities: Abilities, pieces: Sequence[Piece] = ()) -> NormalForm:
    """The robot as files of a format, with the geometry of its links, can say it. Raises ModelError for what they
    cannot."""
    notes: list[str] = []
    if abilities.compiled:
        robot, left_out = without_massless(robot, {piece.link for piece in pieces})
        notes += left_out
    touched = {piece.link for piece in pieces if piece.role == "collision"}
    weighed = {link.body for link in robot.links if abilities.weighs and link.name in touched}
    for body, (name, theta) in enumerate(zip(robot.body_names, robot.inertias, strict=True)):
        _require_body(name, theta, abilities, weighed=body in weighed)
    for index, joint in enumerate(robot.joints):
        _require_joint(robot, index, joint, abilities)
        if joint.features.pieces and joint.kind not in abilities.kinds:
            notes.append(f"{joint.kind.capitalize()} joint '{joint.name}' is written as {joint.features.told}.")
    given = robot
    robot, names = _named(robot, abilities, notes)
    robot, shifts = _expressed(robot, abilities)
    if shifts:
        title, moved = abilities.title, choices(shifts)
        notes.append(f"{title} puts link frames on joint axes; those of {moved} were moved there with what they carry.")
    if robot.nb > given.nb:
        added = [name for name in robot.body_names if name not in names.values()]
        notes.append(f"Bodies with several joints got massless links between them: {choices(added)}.")
    links, rescaled = _shared(robot, abilities, notes)
    robot = replace(robot, links=tuple(links))
    if not abilities.names_free:
        robot = _without_names(robot, abilities, notes)
    has = np.array([j.kind in abilities.of for j in robot.free_joints for _ in range(j.nv)], dtype=bool)
    kept = {field: has & (field in abilities.properties) for field in PROPERTIES}
    expected = replace(
        robot,
        links=(),
        drives=abilities.drives(robot),
        **{field: np.where(each, getattr(robot, field), 0.0) for field, each in kept.items()},
    )
    return NormalForm(robot, names, shifts, expected, tuple(notes), tuple(rescaled))


def at_origin(frame: Frame) -> bool:
    return not frame.position.any() and np.array_equal(frame.rotation, np.eye(3))


def _require_body(name: str, theta, abilities: Abilities, *, weighed: bool) -> None:
    if abilities.ground and name == GROUND:
        raise ModelError(
            f"{abilities.title} keeps the name 'world' for the ground, and body 'world' moves. Rename the link in the "
            "model and try again."
        )
    if theta.any():
        require_consistent(name, theta)
    if (abilities.compiled or weighed) and not theta.any():
        needs = "MuJoCo needs some" if abilities.compiled else f"{abilities.title} takes that of its colliders"
        raise ModelError(
            f"Body '{name}' cannot be written: it moves and has no mass, and {needs}. State its inertial, or let it "
            "stand still: --lock JOINT=0 (lock={JOINT: 0})."
        )
    if abilities.compiled and not to_com_inertia(theta)[2].any():
        raise ModelError(
            f"Body '{name}' cannot be written: it moves and is a point, and MuJoCo needs moments of inertia. State "
            "the tensor that the part has."
        )


def _require_joint(robot: Robot, index: int, joint: Joint, abilities: Abilities) -> None:
    kind = HELICAL if is_helical(joint) else joint.kind
    if kind not in abilities.kinds and not joint.features.pieces:
        told = HELICAL if kind == HELICAL else joint.features.title
        raise ModelError(
            f"Joint '{joint.name}' is {told}, which {abilities.title} cannot say. Choose another format, or model the "
            "joint as others."
        )
    moved = np.any(joint.position) or not np.allclose(joint.rotation, np.eye(3), atol=ROUNDING)
    inner = int(robot.parents[index]) != WORLD or index not in robot.body_joints
    if kind == "free" and abilities.free != "anywhere" and (moved or inner or (index and abilities.free == "base")):
        raise ModelError(
            f"Joint '{joint.name}' is free and not at the origin of the world; {abilities.title} frees only such "
            f"bodies{' that carry the whole robot' if abilities.free == 'base' else ''}."
        )


def _named(robot: Robot, abilities: Abilities, notes: list[str]) -> tuple[Robot, dict[str, str]]:
    """The robot with names that the format takes, and those of links and bodies by the ones that they had."""

    def legal(name: str) -> str:
        return name.replace(abilities.separator, "_") if abilities.separator else name

    joints = {joint.name: legal(joint.name) for joint in robot.joints}
    ground = {link.name for link in robot.links if link.body == WORLD and at_origin(link)} & {GROUND}
    links: dict[str, str] = {name: name for name in ground}
    taken = {*(joints.values() if abilities.separator else ()), *((GROUND,) if abilities.ground else ())}
    for name in (*(link.name for link in robot.links), *robot.body_names):
        if name not in links:
            links[name] = legal(name)
            while links[name] in taken:
                links[name] += "_link"
            taken.add(links[name])
    renamed = [f"{old} -> {new}" for old, new in (*joints.items(), *links.items()) if old != new]
    if not renamed:
        return robot, links
    notes.append(f"{abilities.title} does not take some names; these are others: {choices(renamed)}.")

    bodies: dict[str | None, str | None] = {None: None, **links}
    return replace(
        robot,
        joints=tuple(replace(j, name=joints[j.name], mimics=j.mimics and joints[j.mimics]) for j in robot.joints),
        body_names=tuple(links[name] for name in robot.body_names),
        links=tuple(replace(link, name=links[link.name]) for link in robot.links),
        sites=tuple(replace(site, name=legal(site.name)) for site in robot.sites),
        loops=tuple(replace(loop, bodies=(bodies[loop.bodies[0]], bodies[loop.bodies[1]])) for loop in robot.loops),
        rotors=tuple(
            replace(
                rotor,
                joint=joints[rotor.joint],
                carrier=bodies[rotor.carrier],
                also=tuple((joints[each], ratio) for each, ratio in rotor.also),
            )
            for rotor in robot.rotors
        ),
        actuated=tuple(joints[name] for name in robot.actuated),
        drives={joints.get(name, name): drive for name, drive in robot.drives.items()},
    ), links


def _expressed(robot: Robot, abilities: Abilities) -> tuple[Robot, dict[str, np.ndarray]]:
    """The robot in joints and frames of the format, and by body the (3,) by which its frame moves, where it does."""
    bodies = {int(joint): body for body, joint in enumerate(robot.body_joints)}
    taken = {*robot.frames, *(joint.name for joint in robot.joints)}
    joints, parents, names, held, thetas = [], [], [], [], []
    values: dict[str, list[float]] = {field: [] for field in PROPERTIES}
    shifts, last, at, moves = {WORLD: np.zeros(3)}, {WORLD: WORLD}, {WORLD: WORLD}, {}
    for index, joint in enumerate(robot.joints):
        parent = last[int(robot.parents[index])]
        pieces = [joint] if joint.kind in abilities.kinds else pieces_of(joint)
        for piece in pieces:
            shift = screw(piece)[1] if abilities.on_axes and piece.nv == 1 else np.zeros(3)
            joints.append(_placed(piece, abilities, shifts[parent], shift))
            parents.append(parent)
            parent = len(joints) - 1
            shifts[parent] = shift
            body = bodies.get(index) if piece is pieces[-1] else None
            if body is not None:
                at[body] = len(held)
                if shift.any():
                    moves[robot.body_names[body]] = shift
            elif abilities.inner(robot, index):
                continue
            held.append(parent)
            names.append(unused(f"{piece.name}_link", taken) if body is None else robot.body_names[body])
            theta = np.zeros(10) if body is None else robot.inertias[body]
            thetas.append(transform(theta, np.eye(3), -shift) if shift.any() else theta)
        last[index] = parent
        for field, rows in values.items() if joint.mimics is None else ():
            rows += (own := getattr(robot, field)[robot.v_slices[index]].tolist())
            if (
                len(pieces) == 1
                and joint.kind in abilities.of
                and field in abilities.properties
                and min(own) < max(own)
            ):
                raise ModelError(
                    f"Joint '{joint.name}' has {field} {own}; {abilities.title} holds one value a joint. Make them "
                    "equal."
                )

    def by(name) -> np.ndarray:
        return moves.get(str(name), np.zeros(3))

    def moved(frame):
        """A link that has the frame of the body keeps it, and what it carries moves instead."""
        name = "" if frame.body == WORLD else robot.body_names[frame.body]
        frame = replace(frame, body=at[frame.body])
        if name not in moves:
            return frame
        if isinstance(frame, Link) and frame.name == name:
            return replace(frame, theta=transform(frame.theta, np.eye(3), -moves[name]))
        return replace(frame, position=frame.position - moves[name])

    return replace(
        robot,
        joints=tuple(joints),
        parents=np.array(parents),
        body_names=tuple(names),
        body_joints=np.array(held),
        inertias=np.array(thetas),
        links=tuple(map(moved, robot.links)),
        sites=tuple(map(moved, robot.sites)),
        loops=tuple(replace(each, positions=each.positions - [by(b) for b in each.bodies]) for each in robot.loops),
        rotors=tuple(replace(each, position=each.position - by(each.carrier)) for each in robot.rotors),
        **{field: np.array(rows) for field, rows in values.items()},
    ), moves


def _placed(joint: Joint, abilities: Abilities, above, shift) -> Joint:
    """The joint between frames that move by `above` and `shift` (3,), along their own axes."""
    if abilities.on_axes:
        subspace = revolute_subspace(screw(joint)[0]) if joint.nv == 1 and joint.turns else joint.subspace
        position = joint.position - above + joint.rotation @ shift
        joint = replace(joint, subspace=subspace, position=position)
    if abilities.zeros or joint.nv != 1 or joint.mimics is not None or joint.offset == 0:
        return joint
    R, p = exponential(joint.subspace[:, 0], np.asarray(joint.offset))
    position = joint.position + joint.rotation @ p
    return replace(joint, rotation=joint.rotation @ R, position=position, offset=0.0)


def _without_names(robot: Robot, abilities: Abilities, notes: list[str]) -> Robot:
    """The robot with the names that its free joints have when they are read."""
    free = {int(index): body for body, index in enumerate(robot.body_joints) if robot.joints[index].kind == "free"}
    names = {i: FLOATING_BASE + (f"_{robot.body_names[b]}" if len(free) > 1 else "") for i, b in free.items()}
    told = [robot.joints[i].name for i, name in names.items() if robot.joints[i].name != name]
    if told:
        notes.append(
            f"{abilities.title} has no joints for free bodies; {choices(told)} is called {FLOATING_BASE} when it is "
            "read."
        )
    return replace(robot, joints=tuple(replace(j, name=names.get(i, j.name)) for i, j in enumerate(robot.joints)))


def _shared(robot: Robot, abilities: Abilities, notes: list[str]) -> tuple[list[Link], list[str]]:
    """Links, one a body at least, whose inertials add up to those of the bodies, and notes on those that could not keep
    theirs."""
    links = list(robot.links)
    known = {link.name for link in links if link.body != WORLD}
    for body, name in enumerate(robot.body_names):
        if name not in known:  # of a robot that was not read from a file
            links.append(Link(name, body, np.eye(3), np.zeros(3), robot.inertias[body], True))
    sums = np.zeros((robot.nb, 10))
    for link in links:
        if link.body != WORLD:
            sums[link.body] += transform(link.theta, link.rotation, link.position)
    whole = replace(robot, links=tuple(links), inertias=sums)
    together, rescaled = [], []
    for body, theta in enumerate(robot.inertias):
        own = [i for i, link in enumerate(links) if link.body == body]
        if abilities.parts and relative_difference(sums[body], theta) > ROUNDING:
            parts, lines = divide(theta, body, whole, lambda link: True)
            rescaled += lines
            for i, part in parts.items():
                links[i] = replace(links[i], theta=part, has_inertial=True)
        if not all(_alone(links[i].theta, abilities) for i in own):
            together.append(robot.body_names[body])
            for i in own:
                main = links[i].name == robot.body_names[body]
                links[i] = replace(links[i], theta=theta if main else np.zeros(10), has_inertial=main)
    lost = [i for i, link in enumerate(links) if link.body == WORLD and not _alone(link.theta, abilities)]
    for i in lost:
        links[i] = replace(links[i], theta=np.zeros(10), has_inertial=False)
    notes += rescaled
    if together:
        notes.append(f"Links on {choices(together)} have inertials that no body has alone; the sum is stated instead.")
    if lost:
        names = choices(links[i].name for i in lost)
        notes.append(f"Inertials of {names}, which stand still, are those of no body; they were not written.")
    return links, rescaled


def _alone(theta, abilities: Abilities) -> bool:
    """Whether the format lets a fixed link have these inertial parameters (10,)."""
    try:
        if abilities.compiled and theta.any():
            require_consistent("", theta)
    except ModelError:
        return False
    return True


def fixed(robot: Robot, link: Link) -> Member:
    """A link that is fixed to a body of a robot, or to the world."""
    return Member(link, "" if link.body == WORLD else robot.body_names[link.body], (), link.rotation, link.position)


def _members(robot: Robot) -> Iterator[Member]:
    """Links in the order of the file that they are of; those between the joints of a body come before it."""
    mains = {link.body: link for link in robot.links if link.body != WORLD and link.name == robot.body_names[link.body]}
    ends = {WORLD: ""} | {int(joint): robot.body_names[body] for body, joint in enumerate(robot.body_joints)}
    done = 0
    for link in robot.links:
        if link is not mains.get(link.body):
            yield fixed(robot, link)
            continue
        for body in range(done, link.body + 1):
            chain = [int(robot.body_joints[body])]
            while int(robot.parents[chain[0]]) not in ends:
                chain.insert(0, int(robot.parents[chain[0]]))
            first = robot.joints[chain[0]]
            carrier = ends[int(robot.parents[chain[0]])]
            yield Member(mains[body], carrier, tuple(chain), first.rotation, first.position)
        done = max(done, link.body + 1)
