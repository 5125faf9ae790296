"""Drives as MJCF has them: an actuator a joint, and friction as hard as that of gears."""

import math
from collections.abc import Iterator, Mapping
from dataclasses import replace

from steelyard.drive_kinds import DRIVE_KINDS
from steelyard.errors import choices
from steelyard.model.drive import Drive
from steelyard.model.robot import Robot
from steelyard.model.xml_edit import NewElement, number_text

STEP = 2e-3
"""s, of simulations with drives that users see."""
INTEGRATOR = "implicitfast"
IMPEDANCE = 0.9999
"""Of friction loss: MuJoCo lets a joint that sticks creep at a rate that its softness decides; gears stand still."""
PRESENT_COMMANDS = (
    "for i in m.actuator_delay.nonzero()[0]: "
    "mujoco.mj_initCtrlHistory(m, d, i, None, d.ctrl[[i]].repeat(m.actuator_history[i, 0])[:, None])"
)
"""Python, of a model m and its data d: commands that are on their way are those that are set now."""


def simulated() -> dict[str, str]:
    """Attributes of `<option>` with which drives move as was found."""
    return {"timestep": number_text([STEP]), "integrator": INTEGRATOR}


def hard_friction(step: float = STEP) -> dict[str, tuple[float, ...]]:
    """Attributes of a joint with friction loss and a drive. step: of the simulation, s; MuJoCo takes no time constant
    below two of them."""
    return {"solreffriction": (2 * step, 1.0), "solimpfriction": (IMPEDANCE, IMPEDANCE, 0.001, 0.5, 2.0)}


def expressible(robot: Robot) -> dict[str, Drive]:
    """Drives that actuators can be, as they read back: of joints of one degree of freedom, with known gains."""
    import mujoco

    single = {joint.name for joint in robot.free_joints if joint.nv == 1}
    drives = {name: drive.read_back for name, drive in robot.drives.items() if name in single}
    found = {name: drive for name, drive in drives.items() if drive is not None}
    if hasattr(mujoco.MjModel, "actuator_delay"):
        return found
    return {name: replace(drive, delay=None) for name, drive in found.items()}


def actuator_element(name: str, joint: str, drive: Drive, step: float = STEP) -> NewElement:
    """The actuator of a drive of `expressible`; that of a voltage takes volts. step: of the simulation, s."""
    tag = drive.features.element
    attributes = {"name": name, "joint": joint} | as_text(gains(tag, drive))
    if "biasprm" in attributes:
        attributes["biastype"] = "affine"
    if drive.limit is not None:
        attributes |= {"forcelimited": "true", **as_text(force_range(drive.limit))}
    return NewElement(tag, attributes | ({} if drive.delay is None else late(drive.delay, step)))


def as_text(attributes: Mapping[str, tuple[float, ...]]) -> dict[str, str]:
    return {name: number_text(values) for name, values in attributes.items()}


def gains(tag: str, drive: Drive, gear: float = 1.0) -> dict[str, tuple[float, ...]]:
    """Attributes of an actuator that state the gains of a drive. tag: as it is spelled; gear: of the actuator, in whose
    units the commands of servos are, and its torque."""
    assert drive.affine is not None
    a, b, c = drive.affine
    square = gear * gear
    law = a / (square if drive.features.coordinate else gear), b / square, c / square
    spelled = {kind.element: kind.attributes for kind in DRIVE_KINDS.values()}
    return spelled.get(tag, spelled["general"])(*law)


def force_range(limit: float, gear: float = 1.0) -> dict[str, tuple[float, ...]]:
    """Attributes of an actuator that limit the torque of a joint, N m. gear: of the actuator."""
    return {"forcerange": (-limit / abs(gear), limit / abs(gear))}


def late(delay: float, step: float) -> dict[str, str]:
    """Attributes of an actuator whose commands come late, s, in steps of the simulation, s: interpolated, which is the
    mean over a step of commands that hold; MuJoCo would round delays up to whole steps."""
    return {"delay": number_text([delay]), "nsample": str(1 + math.ceil(delay / step)), "interp": "linear"}


def _under_load(name: str, drive: Drive) -> str:
    """What to do about friction that grows with load, which MuJoCo's number of a joint is not."""
    joint = f'm.joint("{name}").dofadr[0]'
    motor, external = drive.load_friction_motor or 0.0, drive.load_friction_external or 0.0
    return (
        f"Friction of {name} grows with load; MuJoCo's friction loss is a constant, in the file the mean. For that of "
        f"the load, a side file has its numbers; in a loop run before each mj_step: k = {joint}; m.dof_frictionloss[k] "
        f"= {drive.friction_base:.4g} + {motor:.4g} * abs(d.qfrc_actuator[k]) + {external:.4g} * abs(d.qfrc_bias[k])"
    )


def unwritten(drives: Mapping[str, Drive]) -> Iterator[str]:
    """What of drives has no place in MJCF, and what their actuators take, in words."""
    found = {
        "Gains of drives that are not known": [n for n, d in drives.items() if d.kind is not None and d.affine is None],
        "Slope limits of commands": [name for name, drive in drives.items() if drive.slope_limit is not None],
        "Positions that are stamped early": [name for name, drive in drives.items() if drive.early],
    }
    for what, names in found.items():
        if names:
            yield f"{what} ({choices(names)}) have no place in MJCF; a side file has one."
    yield from (_under_load(name, drive) for name, drive in drives.items() if drive.friction_base is not None)
    yield from dict.fromkeys(note for drive in drives.values() if drive.kind and (note := drive.features.note))
    if any((drive.delay or 0.0) > 0 for drive in drives.values()):
        yield (
            "MuJoCo's late commands start at zero, in key frames, too. To start from d.ctrl, run once: "
            f"{PRESENT_COMMANDS}"
        )
