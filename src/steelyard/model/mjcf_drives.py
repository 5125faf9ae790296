"""Drives as MJCF writes them: an actuator a joint, and friction as hard as that of gears."""

import math
from collections.abc import Iterator

from steelyard.model.drive import Drive
from steelyard.model.robot import Robot
from steelyard.model.xml_edit import NewElement, number_text

STEP = 2e-3
"""s, of simulations with drives that users see."""
IMPEDANCE = 0.9999
"""Of friction loss: MuJoCo lets a joint that sticks creep at a rate that its softness decides; gears stand still."""


def simulated() -> dict[str, str]:
    """Attributes of `<option>` with which drives move as was found."""
    return {"timestep": number_text([STEP]), "integrator": "implicitfast"}


def hard_friction() -> dict[str, str]:
    """Attributes of a joint with friction loss and a drive."""
    limits = number_text([IMPEDANCE, IMPEDANCE, 0.001, 0.5, 2])
    return {"solreffriction": number_text([2 * STEP, 1]), "solimpfriction": limits}


def actuator_elements(robot: Robot) -> Iterator[NewElement]:
    """An actuator of each drive whose gain is known; a voltage drive takes volts."""
    for name, drive in robot.drives.items():
        found = _gains(drive)
        if found is None or name not in robot.dof_names:
            continue
        tag, attributes = found
        if drive.limit is not None:
            attributes |= {"forcelimited": "true", "forcerange": number_text([-drive.limit, drive.limit])}
        if drive.delay is not None and drive.delay > 0:
            attributes |= {"delay": number_text([drive.delay]), "nsample": str(1 + math.ceil(drive.delay / STEP))}
        yield NewElement(tag, {"name": name, "joint": name, **attributes})


def _gains(drive: Drive) -> tuple[str, dict[str, str]] | None:
    """Element and gains of a drive, None where a gain is not known."""
    kd = drive.kd or 0.0
    if drive.kind == "position":
        return None if drive.kp is None else ("position", {"kp": number_text([drive.kp]), "kv": number_text([kd])})
    if drive.kind == "velocity":
        return None if drive.kd is None else ("velocity", {"kv": number_text([kd])})
    gain = 1.0 if drive.kind == "torque" and drive.gain is None else drive.gain
    bias = {"biastype": "affine", "biasprm": number_text([0, 0, -kd])} if kd else {}
    return None if gain is None or drive.kind is None else ("general", {"gainprm": number_text([gain])} | bias)


def unwritten(robot: Robot) -> Iterator[str]:
    """What of drives has no place in MJCF, in words."""
    limited = [name for name, drive in robot.drives.items() if drive.slope_limit is not None]
    early = [name for name, drive in robot.drives.items() if drive.delay is not None and drive.delay < 0]
    if limited:
        yield f"MJCF has no place for slope limits of commands ({', '.join(limited)}); the side file has them."
    if early:
        yield f"MJCF has no place for commands that come early ({', '.join(early)}); the side file has their delays."
    if any(drive.kind == "voltage" for drive in robot.drives.values()):
        yield "Actuators of voltage drives take volts: duty times the bus voltage."
