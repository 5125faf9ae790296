"""SY5xx: joints, limits, the tree, and angles in degrees where the format wants radians."""

from collections import defaultdict
from collections.abc import Iterator
from typing import NamedTuple

import numpy as np

from steelyard.check.rule import Hit, figures, reported, rule
from steelyard.check.rules_kinds import in_one_chain, kind_of, mirrored_name, sagittal, stand_mirrored
from steelyard.check.thresholds import THRESHOLDS
from steelyard.model.joint import ENDLESS_EFFORT, Joint
from steelyard.model.sketch import Sketch, SketchJoint
from steelyard.spatial import GRAVITY

DRIVEN = ("revolute", "prismatic")
SINGLE = ("hinge", "slide", *DRIVEN)
RANGED = ("revolute", "hinge")
ANGLES = (
    (("lower", "upper"), THRESHOLDS.turned, "position", "rad"),
    (("velocity",), THRESHOLDS.fast, "velocity", "rad/s"),
)
"""Limits of one unit, what is far beyond it, and its name."""
REMEDY = "Multiply by pi/180."


@rule("SY501", "mass-ratio", "warning")
def mass_ratio(sketch: Sketch) -> Iterator[Hit]:
    """A light body carries one that is a thousand times heavier.

    Why: Iterative solvers converge with the ratio of the masses they couple; beyond a thousand, joints stretch,
    contacts sink in, and double precision is soon used up. The carried mass is that of everything beyond the joint.
    Example:
        A 1 g adapter that carries a 5 kg arm
    Remedy: Fix the light part to its neighbour, or give it its real mass.
    """
    for carrier, mass in sketch.cluster_mass.items():
        part = sketch.parts[carrier]
        if not part.moves or not mass > 0:
            continue
        carried = sketch.subtree_mass[carrier] - mass
        if carried > THRESHOLDS.ratio * mass:
            message = f"{sketch.word} '{part.name}' of {mass:.3g} kg carries {carried:.3g} kg."
            place = part.inertial.place if part.inertial else part.place
            yield Hit(place, message, "Fix it to its neighbour, or give it its real mass.")


@rule("SY502", "no-armature", "info")
def no_armature(sketch: Sketch) -> Iterator[Hit]:
    """A driven joint has no armature (MJCF).

    Why: The rotor behind a gear of ratio n adds n^2 times its inertia to the joint, on small arms more than the links
    have. Without it the simulated robot is faster than the real one and stiff gains oscillate. Directly driven joints
    are the exception.
    Example:
        <joint name="elbow"/> ... <position joint="elbow" kp="2000"/>
    Remedy: Set armature on the joint (rotor inertia times gear ratio squared).
    """
    for joint in sketch.joints:
        if joint.gear is not None and joint.placed and joint.placed.armature == 0 and joint.kind in SINGLE:
            message = f"joint '{joint.name}' is driven and has no armature."
            yield Hit(joint.place, message, "Set armature: rotor inertia times gear ratio squared.")


@rule("SY503", "no-limits", "info")
def no_limits(sketch: Sketch) -> Iterator[Hit]:
    """A driven joint has no effort or velocity limit.

    Why: Excitation design, controllers and simulators need them; URDF requires both on revolute and prismatic joints,
    and some parsers refuse the file without. In MJCF a force or control range of the actuator counts.
    Example:
        <joint type="revolute"><limit lower="-1" upper="1"/></joint>
    Remedy: State effort (N m, N) and velocity (rad/s, m/s) from the data sheet.
    """
    for joint in sketch.joints:
        missing = [key for key in joint.required_limits if key not in joint.limits]
        if missing:
            message = f"joint '{joint.name}' has no {' and no '.join(missing)} limit."
            yield Hit(joint.limit_place or joint.place, message, "State the limits from the data sheet.")


@rule("SY504", "void-limits", "warning")
def void_limits(sketch: Sketch) -> Iterator[Hit]:
    """A limit leaves the joint nothing to do.

    Why: The lower position limit is not below the upper one, or effort or velocity may not exceed zero (a generator's
    default): planners find no path, controllers command nothing, and some simulators lock the joint. A zero effort or
    velocity limit is reported as a note; where all joints of a model have it, they mean "unknown".
    Example:
        <limit lower="1.5" upper="-1.5" effort="0" velocity="0"/>
    Remedy: State the true limits.
    """
    for joint in sketch.joints:
        lower, upper = joint.limits.get("lower", -np.inf), joint.limits.get("upper", np.inf)
        place = joint.limit_place or joint.place
        if lower > upper:
            yield Hit(
                place, f"joint '{joint.name}' has lower limit {lower:g} above upper limit {upper:g}.", "Swap them."
            )
        elif joint.kind in DRIVEN and lower == upper and not joint.mimics:
            message = f"joint '{joint.name}' may move from {lower:g} to {upper:g} only: it is locked."
            yield Hit(place, message, "State the range, or make the joint fixed.", "info")
        for key in ("effort", "velocity"):
            value = joint.limits.get(key, np.nan)
            if value <= 0 and joint.kind in (*SINGLE, "continuous"):
                message = f"joint '{joint.name}' has {key} limit {value:g}."
                yield Hit(place, message, f"State the true {key} limit.", None if value < 0 else "info")


@rule("SY511", "degrees", "warning")
def degrees(sketch: Sketch) -> Iterator[Hit]:
    """Angles or joint speeds are in degrees.

    Why: URDF wants rad and rad/s. A limit of 170 rad is 27 turns: planners and motion design leave the true range,
    and 180 rad/s is reached by no arm. Limits are reported where most revolute joints have whole numbers far beyond
    a turn, or beyond such a speed; powers of ten stand for "no limit" and do not count. Each orientation (rpy)
    beyond a turn is reported.
    Example:
        <limit lower="-170" upper="170" effort="80" velocity="180"/>
    Remedy: Multiply by pi/180.
    """
    joints = [joint for joint in sketch.joints if joint.kind in RANGED and not joint.mimics]
    places, said = [], []
    for keys, least, name, unit in ANGLES:
        stated = [joint for joint in joints if any(joint.limits.get(key) for key in keys)]
        found = {joint: value for joint in stated if (value := _in_degrees(joint.limits, keys, least))}
        if 2 * len(found) > len(stated):
            places += [joint.limit_place or joint.place for joint in found]
            values = ", ".join(f"{value:g}" for value in sorted(set(found.values()))[:6])
            said.append(f"{name} limits of {values} {unit} on {len(found)} of {len(stated)} joints")
    if said:
        yield Hit(places[0], f"the model has {' and '.join(said)}; degrees?", REMEDY)
    yield from reported(sketch, "SY511", REMEDY)


def _in_degrees(limits: dict[str, float], keys, least: float) -> float:
    """Largest of the stated limits if all are whole and it is a likely number of degrees, else 0."""
    values = np.abs([limits[key] for key in keys if key in limits])
    largest = values.max()
    if not least <= largest <= THRESHOLDS.degrees or (values != np.round(values)).any():
        return 0.0
    return 0.0 if np.log10(largest).is_integer() else float(largest)


@rule("SY513", "friction", "error")
def friction(sketch: Sketch) -> Iterator[Hit]:
    """Damping or friction of a joint is negative, or more than its drive can give.

    Why: A joint with negative damping or friction gains energy from its own motion; fits without bounds write that.
    Pinocchio refuses it, and simulations run away. Damping that takes more than the effort limit at the velocity limit
    is a warning: the drive would never reach its own speed.
    Example:
        <limit effort="12" velocity="2.6"/><dynamics damping="10" friction="-1"/>
    Remedy: State the measured values, N m s/rad and N m, or 0.
    """
    for joint, placed in ((each, each.placed) for each in sketch.joints if each.placed is not None):
        stated = {"damping": placed.damping, "friction": placed.frictionloss}
        below = [f"{name} {value:g}" for name, value in stated.items() if value < 0]
        if below:
            message = f"joint '{joint.name}' has {' and '.join(below)}: it gains energy by moving."
            yield Hit(joint.place, message, "State 0, or the measured value.")
        speed, most = _limit(joint, "velocity"), joint.limits.get("effort", 0.0)
        if placed.damping * speed > most > 0:
            message = (
                f"joint '{joint.name}' has damping {placed.damping:g}: {placed.damping * speed:.3g} at its velocity "
            )
            yield Hit(
                joint.place, f"{message}limit, {most:g} its effort limit.", "State the measured damping.", "warning"
            )


class _Single(NamedTuple):
    """A joint of one degree: the part it carries, its axis (3,) at zero in the axes of the root, range, N m or N that
    what it carries pulls at it, at most, at one g."""

    joint: SketchJoint
    placed: Joint
    part: int
    axis: np.ndarray
    range: tuple[float, float]
    load: float


def _singles(sketch: Sketch) -> list[_Single]:
    masses, moments = np.zeros(len(sketch.parts)), np.zeros((len(sketch.parts), 3))
    for index, part in reversed(list(enumerate(sketch.parts))):
        if part.inertial is not None and part.inertial.usable:
            R, p = sketch.poses[index]
            masses[index] += part.mass
            moments[index] += part.mass * (p + R @ part.inertial.com)
        if part.parent is not None:
            masses[part.parent] += masses[index]
            moments[part.parent] += moments[index]
    found = []
    for joint in sketch.joints:
        placed, part = joint.placed, joint.part
        if placed is None or part is None or placed.nv > 1:
            continue
        R, p = sketch.poses[part]
        along, axis = (R @ each for each in np.split(placed.subspace[:, 0], 2))
        # of one that turns `along` is the anchor, seen from the part, times the axis
        pull = np.cross(axis, moments[part] - masses[part] * p) + masses[part] * along
        load = -GRAVITY[2] * float(np.linalg.norm(pull) if placed.turns else masses[part])
        limits = joint.limits.get("lower", -np.inf), joint.limits.get("upper", np.inf)
        found.append(_Single(joint, placed, part, axis if placed.turns else along, limits, load))
    return found


@rule("SY514", "sides-move-apart", "warning")
def sides_move_apart(sketch: Sketch) -> Iterator[Hit]:
    """Axis and limits of a joint are not those of the other side.

    Why: Where the axes of a left and a right joint are mirror images, so that equal angles are, limits are equal; where
    one of the axes points the other way, they are exchanged and negated. Limits of one kind beside axes of the other
    come from one side that was changed alone. Where ranges lie around zero, the pair is named whose axes are unlike
    those of all other pairs of its kind.
    Example:
        left: axis 0 1 0, limits -0.5 and 2; right: axis 0 -1 0, limits -0.5 and 2
    Remedy: Correct axis or limits on the side that is wrong.
    """
    by_kind: dict[str, list[tuple[_Single, _Single, float, str]]] = defaultdict(list)
    for one, other, alike in _twins(sketch):
        (low, high), names = one.range, f"'{one.joint.name}' and '{other.joint.name}'"
        if not np.isfinite((*one.range, *other.range)).all() or abs(low + high) <= THRESHOLDS.lopsided * (high - low):
            by_kind[kind_of(one.joint.name)].append((one, other, alike, names))
            continue
        fitting, turned = ((low, high), (-high, -low))[:: int(alike)]
        same, exchanged = (np.abs(np.subtract(other.range, each)).max() for each in (fitting, turned))
        if exchanged < 0.1 * THRESHOLDS.lopsided * (high - low) < same:
            limits = f"and their limits ({figures(one.range)}) and ({figures(other.range)}) are{' not' * (alike > 0)}."
            message = f"the axes of {names} are{' not' * (alike < 0)} mirror images, {limits}"
            yield Hit(other.joint.place, message, "Correct axis or limits on the side that is wrong.")
    for members in by_kind.values():
        signs = [alike for _, _, alike, _ in members]
        rare = next((each for each in (1.0, -1.0) if signs.count(each) == 1 and -each in signs), None)
        if rare is not None and not in_one_chain(sketch, [one.part for one, *_ in members]):
            _, other, _, names = members[signs.index(rare)]
            like = f"unlike those of {members[signs.index(-rare)][-1]}."
            message = f"the axes of {names} are{' not' * (rare < 0)} mirror images, {like}"
            yield Hit(other.joint.place, message, "Correct the axis that is wrong.")


def _twins(sketch: Sketch) -> Iterator[tuple[_Single, _Single, float]]:
    """Left and right joints at mirrored places, with 1.0 where their axes are mirror images, and -1.0 where one is
    flipped."""
    S = sagittal(sketch)
    known = {} if S is None else {each.joint.name: each for each in _singles(sketch)}
    for one in known.values():
        other = known.get(mirrored_name(one.joint.name) or "")
        if S is not None and other is not None and other.placed.turns == one.placed.turns:
            along = float(S @ one.axis @ other.axis) * (-1.0 if one.placed.turns else 1.0)
            if abs(along) > 1 - THRESHOLDS.thin and stand_mirrored(sketch, one.part, other.part, S):
                yield one, other, float(np.sign(along))


@rule("SY515", "limit-apart", "warning")
def limit_apart(sketch: Sketch) -> Iterator[Hit]:
    """An effort or a velocity limit is far from those of like joints, or from what the joint carries.

    Why: Points shift by two or three places, and N m become N mm. A limit that is fifty times off from those of its
    kind (names without sides and numbers), or from all others, is no drive of the same robot. An effort below a tenth
    of what the joint carries at one g holds nothing and moves nothing. Powers of ten stand for "no limit".
    Example:
        <limit effort="0.87" velocity="2.2"/>  between joints of 87 N m
    Remedy: State the limit from the data sheet.
    """
    singles = _singles(sketch)
    for key in ("effort", "velocity"):
        stated = [(each, value) for each in singles if (value := _limit(each.joint, key))]
        values, turns = (np.array(each) for each in ([v for _, v in stated], [each.placed.turns for each, _ in stated]))
        names: dict[str, int] = {}
        kinds = np.array([names.setdefault(kind_of(each.joint.name), len(names)) for each, _ in stated])
        for i, (own, value) in enumerate(stated):
            others = (turns == own.placed.turns) & (np.arange(len(stated)) != i)
            rest, kind = np.sort(values[others]), np.sort(values[others & (kinds == kinds[i])])
            usual = rest[len(rest) // 2] if len(rest) else value
            if len(kind) == 1 and abs(np.log(value / usual)) < abs(np.log(kind[0] / usual)):
                continue  # its twin is the one that is off
            like = kind[[len(kind) // 2]] if len(kind) else rest if len(rest) >= THRESHOLDS.several else [value]
            said = f"joint '{own.joint.name}' has {key} limit {value:g}"
            if value > THRESHOLDS.off_limit * like[-1] or value * THRESHOLDS.off_limit < like[0]:
                said += f", and like joints {' to '.join(f'{each:g}' for each in sorted({like[0], like[-1]}))}."
            elif key == "effort" and value < THRESHOLDS.idle * own.load:
                said += f", and what it carries pulls with {own.load:.3g} at one g."
            else:
                continue
            yield Hit(own.joint.limit_place or own.joint.place, said, "State the true limit.")


def _limit(joint: SketchJoint, key: str) -> float:
    """A limit, 0 where it stands for none, as powers of ten do, or is another joint's."""
    value = 0.0 if joint.mimics else joint.limits.get(key, 0.0)
    return value if 0 < value < ENDLESS_EFFORT and not np.log10(value).is_integer() else 0.0


@rule("SY516", "one-fixed", "warning")
def one_fixed(sketch: Sketch) -> Iterator[Hit]:
    """A joint is fixed, and the same joint of three like limbs moves.

    Why: Four legs or fingers that hang on one link and are alike, but for one joint of one of them: it was fixed for a
    test, or its type was lost.
    Example:
        FL_calf_joint, FR_calf_joint and RL_calf_joint revolute, RR_calf_joint fixed
    Remedy: Let it move as the others do.
    """
    below: dict[int | None, list[int]] = defaultdict(list)
    for index, part in enumerate(sketch.parts):
        below[part.parent].append(index)
    shapes, numbers = np.zeros(len(sketch.parts), int), {}  # limbs with one number branch alike
    for index in reversed(range(len(sketch.parts))):
        branches = below[index] = sorted(below[index], key=shapes.__getitem__)
        shapes[index] = numbers.setdefault(tuple(shapes[branches]), len(numbers))
    for siblings in list(below.values()):
        for number in {int(shapes[each]) for each in siblings} if len(siblings) > THRESHOLDS.several else ():
            limbs = [list(_limb(each, below)) for each in siblings if shapes[each] == number]
            moving = [tuple(sketch.parts[i].moves for i in members) for members in limbs]
            usual = max(set(moving), key=moving.count)
            for members, moves in zip(limbs, moving, strict=True):
                off = [sketch.parts[i] for i, a, b in zip(members, moves, usual, strict=True) if a < b]
                if moving.count(usual) >= THRESHOLDS.several and len(off) == 1 and sum(usual) == sum(moves) + 1 > 1:
                    message = (
                        f"{sketch.word} '{off[0].name}' is fixed, and in {moving.count(usual)} like limbs it moves."
                    )
                    yield Hit(off[0].place, message, "Let it move as the others do.")


def _limb(index: int, below: dict[int | None, list[int]]) -> Iterator[int]:
    """A part and all beyond it, like branches of like limbs in the same order."""
    rest = [index]
    while rest:
        yield (index := rest.pop())
        rest += below[index]
