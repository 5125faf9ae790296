"""All that a log may hold in the place of positions and torques of joints, simple readings first."""

from collections.abc import Iterator, Sequence
from itertools import combinations, pairwise

import numpy as np

from steelyard.diagnose.case import Case
from steelyard.diagnose.orders import limb_orders, named_orders
from steelyard.diagnose.reading import Reading

TURN = 2 * np.pi  # rad, which angles of a joint in degrees go beyond
# Nats a number that other coordinates must win: of true ones it is 0.43 at least, on healthy logs 0.24 at most, as
# joints of nothing but friction fit any.
WINS = 0.3
GEARS = (2.0, 3.0)  # ratios that a driver may not know
REPLAYED = (1.5, *GEARS, 4.0, 5.0, 10.0)  # ratios at which logs are commonly played
GEARED = 0.18  # nats a number that one must win: a true one 0.22 and more, on healthy logs 0.14 at most


def readings_of_motion(case: Case, worst: Sequence[int]) -> Iterator[Reading]:
    """Readings with matrices of their own. worst: degrees whose own signs and orders are tried."""
    yield from _units_of_angles(case)
    yield from _gravity(case)
    yield from _signs(case, worst)
    yield from _gears(case, worst)
    if len(case.dofs) == case.robot.nv == len(case.robot.scalar_positions):
        yield from _orders(case, worst)
        yield from _coordinates(case.robot.dof_names)


def _units_of_angles(case: Case) -> Iterator[Reading]:
    names, places = case.robot.dof_names, case.robot.scalar_positions
    joints = {joint.name for joint in case.robot.free_joints if joint.turns}
    turning = np.array([dof in places and name in joints for dof, name in enumerate(names)])
    if not turning.any():
        return
    if np.abs(case.regression.q[:, [at for dof, at in places.items() if turning[dof]]]).max() > TURN:
        degrees = np.diag(np.where(turning, np.pi / 180, 1.0))
        yield Reading("degrees", "Joint angles are in degrees", ("--unit", "q=deg"), position=degrees)
    said, code = "{} in revolutions", "joint_coordinates"
    everything = np.diag(np.where(turning, TURN, 1.0))
    yield Reading(code, said.format("All positions are"), ("--unit", "q=rev"), position=everything, least=WINS)
    for dof in np.flatnonzero(turning).tolist():
        told, options = said.format(f"The position of {names[dof]} is"), ("--unit", f"q:{names[dof]}=rev")
        yield Reading(code, told, options, position=scaled(case, dof, TURN), least=WINS)


def _gravity(case: Case) -> Iterator[Reading]:
    """Gravity along other axes, or taken off the torques."""
    nominal, size = case.robot.gravity, np.linalg.norm(case.robot.gravity)
    if not size:
        return
    for vector in size * np.concatenate([np.eye(3), -np.eye(3)]):
        if nominal @ vector > 0.9 * size**2:
            continue
        numbers = [f"{x:.4g}" for x in vector + 0.0]
        opposite = nominal @ vector < -0.9 * size**2
        what = "has the wrong sign" if opposite else "points along another axis than the robot is mounted"
        said = f"Gravity {what}: the torques fit gravity ({', '.join(numbers)}) m/s^2 and not "
        said += f"({', '.join(f'{x:.4g}' for x in nominal + 0.0)})"
        yield Reading("gravity", said, ("--gravity", *numbers), gravity=vector)
    if len(case.dofs) < case.robot.nv:  # a base holds gravity that no torque is
        return
    none, remedy = "Torques hold no gravity", "Log torques before gravity compensation, or have gravity added again: "
    remedy += "that of the nominal model, or, where the controller uses another, of that one (--gravity-model MODEL), "
    remedy += "as masses follow the gravity that is added."
    taken, options = f"{none}: that of the nominal model was taken off them", ("--gravity-compensated",)
    yield Reading("gravity_compensated", taken, options, remedy=remedy, weighs=True)
    yield Reading("gravity_compensated", none, ("--gravity", "0", "0", "0"), gravity=np.zeros(3))


def _signs(case: Case, worst: Sequence[int]) -> Iterator[Reading]:
    yield from signs_of_torques(case, case.dofs)
    for dof in worst:
        name, turned = case.robot.dof_names[dof], scaled(case, dof, -1.0)
        yield from signs_of_torques(case, [dof])
        if dof not in case.robot.scalar_positions:
            continue
        place = f"The position of {name} has the wrong sign"
        yield Reading("position_sign", place, ("--scale", f"q:{name}=-1"), name, position=turned)
        both = f"{name} turns the other way in the log than in the model: position and torque both have the wrong sign"
        yield Reading("joint_direction", both, ("--scale", f"{name}=-1"), name, position=turned, torque=turned)


def signs_of_torques(case: Case, dofs: Sequence[int]) -> Iterator[Reading]:
    """Torques of some degrees negated, of all of them as one reading."""
    if len(dofs) == len(case.dofs) > 1:
        said = "Every torque has the opposite sign of the model's convention (as a load that the joint feels, perhaps)"
        yield Reading("torque_sign_all", said, ("--scale", "tau:all=-1"), torque=-np.eye(case.robot.nv))
        return
    for name, turned in ((case.robot.dof_names[dof], scaled(case, dof, -1.0)) for dof in dofs):
        said = f"The torque of {name} has the wrong sign"
        yield Reading("torque_sign", said, ("--scale", f"tau:{name}=-1"), name, torque=turned)


def _gears(case: Case, worst: Sequence[int]) -> Iterator[Reading]:
    """A stage of gears or a belt that one joint has and its driver does not know, or that it has no more."""
    for dof in worst:
        name = case.robot.dof_names[dof]
        for ratio in (*GEARS, *(1 / each for each in GEARS)) if dof in case.robot.scalar_positions else ():
            said = f"Position and torque of {name} are those before a gear or belt of ratio {ratio:.3g}: the joint "
            said += f"moves {1 / ratio:.3g} times as far, with {ratio:.3g} times the torque"
            options = ("--scale", f"q:{name}={1 / ratio:.5g}", "--scale", f"tau:{name}={ratio:.5g}")
            slower, more = scaled(case, dof, 1 / ratio), scaled(case, dof, ratio)
            yield Reading("joint_gear", said, options, name, position=slower, torque=more, least=GEARED, of_links=True)


def replays() -> Iterator[Reading]:
    """Stamps of all samples off by a factor."""
    for ratio in REPLAYED:
        yield from (replayed(ratio), replayed(1 / ratio))


def replayed(pace: float) -> Reading:
    """Motion so many times as fast as stamps say."""
    said = f"The motion took {1 / pace:.3g} times as long as stamps say, as where a log was replayed at {1 / pace:.3g} "
    said += "times its speed and recorded again"
    return Reading("clock", said, ("--scale", f"t:all={1 / pace:.5g}"), pace=pace, of_links=True)


def _orders(case: Case, worst: Sequence[int]) -> Iterator[Reading]:
    orders = []
    for pair in combinations(sorted(worst), 2):
        orders.append(np.arange(case.robot.nv))
        orders[-1][list(pair)] = pair[::-1]
    orders += named_orders(case.robot)
    for source in {tuple(order): order for order in orders}.values():
        yield from reordered(case, source)
    for order in limb_orders(case.robot):
        yield from reordered(case, np.argsort(order), ("",))


def reordered(case: Case, source: np.ndarray, channels: Sequence[str] = ("", "q:", "tau:")) -> Iterator[Reading]:
    """source: (nv,) column in which the signal of each joint is."""
    if (source == np.arange(case.robot.nv)).all():
        return
    names, matrix = case.robot.dof_names, np.eye(case.robot.nv)[source]
    belongs = ",".join(names[i] for i in np.argsort(source))
    others = ", ".join(f"{names[i]} in that of {names[j]}" for i, j in enumerate(source) if i != j)
    for channel in channels:
        moved = {"": "positions and torques", "q:": "positions", "tau:": "torques"}[channel]
        said = f"The {moved} of joints are in each other's columns ({others})"
        position, torque = (None if channel == skipped else matrix for skipped in ("tau:", "q:"))
        yield Reading("joint_order", said, ("--order", f"{channel}{belongs}"), position=position, torque=torque)


def _coordinates(names: tuple[str, ...]) -> Iterator[Reading]:
    """Angles to the horizontal, parallel drives and differentials, of joints in the order of a chain."""
    same, code = np.eye(len(names)), "joint_coordinates"
    for i, (one, other) in enumerate(pairwise(names)):
        pair, told = np.ix_((i, i + 1), (i, i + 1)), {"mixed": (one, other), "least": WINS}
        for sign, word in ((-1.0, "plus"), (1.0, "minus")):
            apart = same.copy()
            apart[i + 1, i] = -sign
            opposite = "minus" if word == "plus" else "plus"
            both = f"The position of {other} is that of the joint {opposite} {one}'s"
            level = f"{both}, as of an angle to the horizontal: write {other} {word} {one}"
            yield Reading(code, level, position=apart, **told)
            moved = f"{both}, and so are torques, as of a parallel drive: write {other} {word} {one} for positions and "
            moved += f"{one} {opposite} {other} for torques of {one}"
            yield Reading(code, moved, position=apart, torque=np.linalg.inv(apart).T, **told)
            for first, second in ((one, other), (other, one)):
                mixed = same.copy()
                mixed[pair] = np.array([[1.0, 1.0], [sign, -sign]]) / 2
                if first == other:
                    mixed[[i, i + 1]] = mixed[[i + 1, i]]
                said = f"{one} and {other} are the motors of a differential: write half their sum for {first} and "
                difference = f"{one} minus {other}" if sign > 0 else f"{other} minus {one}"
                said += f"half of {difference} for {second}, and the same of torques without the half"
                yield Reading(code, said, position=mixed, torque=np.linalg.inv(mixed).T, **told)


def scaled(case: Case, dofs: int | Sequence[int], factor: float) -> np.ndarray:
    """(nv, nv) that scales some degrees."""
    return np.diag(np.where(np.isin(np.arange(case.robot.nv), dofs), factor, 1.0))
