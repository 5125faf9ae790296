"""Kinds of rows that a log gives: torques of joints, wrenches, and balances of momentum and energy."""

from collections.abc import Iterable

from steelyard.dynamics import choose, sensor_frame
from steelyard.errors import OptionError, choices
from steelyard.model import Robot

OF_JOINTS = ("joints", "momentum", "power", "energy")  # they all follow from torques of all joints
OF_LOOPS = ("joints", "power", "energy")  # forces in closed loops do no work
WEAK = ("momentum", "energy")  # integrals over windows, without acceleration
BASE, WRENCH = "base", "wrench:"
AXES = ("fx", "fy", "fz", "nx", "ny", "nz")


def kinds_of(robot: Robot, rows: str | Iterable[str]) -> tuple[str, ...]:
    """Kinds by name, each once. Raises OptionError that lists the valid names."""
    kinds = (rows,) if isinstance(rows, str) else tuple(dict.fromkeys(rows))
    for kind in kinds:
        if kind.startswith(WRENCH):
            sensor_frame(robot, link_of(kind))
        elif kind not in (*OF_JOINTS, BASE):
            raise OptionError(f"rows are any of {choices((*OF_JOINTS, BASE))} and wrench:LINK; got {kind!r}.")
    if not kinds:
        raise OptionError(f"rows names at least one of {choices((*OF_JOINTS, BASE))} and wrench:LINK.")
    return kinds


def refuse_for_loops(robot: Robot, kinds: tuple[str, ...], *, engine: str, rotors: bool):
    """Raise OptionError for what `accumulate` does not do for robots with closed loops."""
    untold, about = [kind for kind in kinds if kind not in OF_LOOPS], f"robot '{robot.name}' has closed loops"
    if untold:
        raise OptionError(f"rows: {about}; of it, {choices(OF_LOOPS)} can be used, and not {choices(untold)}.")
    if rotors:
        raise OptionError(f"rotors: {about}; leave rotors out, armature=True has their inertia at the motors.")
    if engine in ("numba", "jax"):
        raise OptionError(f"engine: {about}; engine '{engine}' is for trees. Leave it at 'auto'.")


def link_of(kind: str) -> str:
    """Link of a wrench kind, "base" for the one under the robot."""
    return kind.removeprefix(WRENCH)


def groups_of(robot: Robot, kind: str) -> tuple[str, ...]:
    """Names of the row groups of a kind; each has a noise of its own."""
    if kind == "joints":
        return robot.dof_names if not robot.loops else choose(robot).names
    if kind == "momentum":
        return tuple(f"momentum({name})" for name in robot.dof_names)
    return (kind,) if kind in OF_JOINTS else tuple(f"{kind}.{axis}" for axis in AXES)


def sensors_of(robot: Robot, kinds: tuple[str, ...]) -> tuple[str, ...]:
    """The sensors, as `identifiability` names them, that measure rows of these kinds."""
    sensors = ["joints"] if set(kinds) & set(OF_JOINTS) else []
    for kind in kinds:
        if kind == BASE:
            sensors.append(BASE)
        elif kind.startswith(WRENCH):
            sensors.append(WRENCH + robot.body_names[sensor_frame(robot, link_of(kind)).body])
    return tuple(dict.fromkeys(sensors))
