"""What decides how a robot with drives moves: numbers a joint, and its bodies."""

from collections.abc import Mapping
from dataclasses import dataclass, replace

import numpy as np

from steelyard.drives.drive import Drive
from steelyard.drives.free_base import of_joints
from steelyard.errors import OptionError, choices
from steelyard.log import Log
from steelyard.log.channels import held
from steelyard.model import Robot
from steelyard.numbers import SAME

LEAD = 0.2  # s before a window in which a command with a limited slope catches up
FAR = 100.0  # s
LOAD_FRICTION = ("load_friction_motor", "load_friction_external")
ODDITIES = ("softness", "dead_band")


@dataclass(frozen=True, eq=False)
class DriveArrays:
    """Drives of all joints and what they move, as the simulation takes them; arrays (nv,).

    The torque of a joint is `clip(gain (command - follows_q q) - kd v, +-limit)`, for a position servo with follows_q =
    1, for a velocity servo with gain = kd, for voltage, current and torque with kd = 0; against it stand damping and
    friction of the joint. kd and damping share their column: only their sum shows.

    delay: s, by which commands come late by the stamps of the log: negative where positions are stamped before they
    were taken. damping, frictionloss, armature: of the joints, N m s/rad, N m, kg m^2. load_friction_motor,
    load_friction_external: friction loss per torque of the drive, and of gravity and speeds, beside the constant one.
    softness: of friction loss, 0 of gears, 1 as MuJoCo's is by default. dead_band: torque that the drive leaves out at
    either side of zero, in friction losses. Robots may have both, models do not.
    ground: how the one that a robot walks on differs from that of its file: height, m, and logarithms of factors of
    friction and of the time constant. A free base has no drive: zeros, without limits.
    """

    follows_q: np.ndarray
    gain: np.ndarray  # torque per unit of the command
    kd: np.ndarray  # N m s/rad
    limit: np.ndarray  # N m, inf where unknown
    delay: np.ndarray
    slope_limit: np.ndarray  # of the command, its unit per s, inf where unknown
    damping: np.ndarray
    frictionloss: np.ndarray
    armature: np.ndarray
    inertias: np.ndarray  # (nb, 10) of the bodies
    load_friction_motor: np.ndarray | float = 0.0
    load_friction_external: np.ndarray | float = 0.0
    softness: np.ndarray | float = 0.0
    dead_band: np.ndarray | float = 0.0
    ground: tuple[float, float, float] = (0.0, 0.0, 0.0)

    def __post_init__(self):
        for name in (*LOAD_FRICTION, *ODDITIES):
            object.__setattr__(self, name, np.broadcast_to(np.asarray(getattr(self, name), float), self.gain.shape))

    @property
    def loaded(self) -> np.ndarray:
        """(nv,) joints whose friction grows with load."""
        return np.logical_or(np.greater(self.load_friction_motor, 0), np.greater(self.load_friction_external, 0))

    def pushed(self, command, q, v) -> np.ndarray:
        """Torques (..., nv) of the drives. command, q, v: (..., nv)."""
        return np.clip(self.gain * (command - self.follows_q * q) - self.kd * v, -self.limit, self.limit)

    def changed(self, **values) -> "DriveArrays":
        return replace(self, **values)

    @property
    def told_by(self) -> bytes:
        """Equal for drives that follow the same of the same commands."""
        return b"".join(each.tobytes() for each in (self.delay, self.slope_limit, self.left_out))

    @property
    def left_out(self) -> np.ndarray:
        """(nv,) half of the dead band, in units of the command."""
        torque = self.dead_band * self.frictionloss
        return np.divide(torque, self.gain, out=np.zeros_like(self.gain), where=self.gain != 0)


def commanded(drives: DriveArrays, recordings, source, starts, step: float, steps: int) -> np.ndarray:
    """What drives follow in windows (k,) of recordings, (k, steps, nv): commands that arrived, their slope limited, as
    the mean over a step, so that a delay may be any share of one."""
    lead = int(np.ceil(LEAD / step)) if np.isfinite(drives.slope_limit).any() else 0
    edges = step * np.arange(-lead, steps + 1)
    found = np.empty((len(source), len(edges) - 1, len(drives.delay)))
    sums = [_integral(own.t, own.command) for own in recordings]
    source, starts = np.asarray(source), np.asarray(starts)
    for number, (t, integral) in enumerate(sums):
        begin = recordings[number].t[starts[source == number]]
        for j, delay in enumerate(drives.delay):
            sent = np.interp(begin[:, None] + edges - delay, t, integral[:, j])
            found[source == number, :, j] = np.diff(sent, axis=1) / step
    if lead:
        most, now = drives.slope_limit * step, found[:, 0]
        for place in range(1, found.shape[1]):
            now = now + np.clip(found[:, place] - now, -most, most)
            found[:, place] = now
    found, most = found[:, lead:], drives.left_out
    if most.any():
        middles = edges[lead:-1] + step / 2
        for k, (number, start) in enumerate(zip(source, starts, strict=True)):
            own = recordings[number]
            q = np.stack([np.interp(own.t[start] + middles, own.t, each) for each in own.joints.T], axis=1)
            found[k] -= np.clip(found[k] - drives.follows_q * q, -most, most)
    return found


def _integral(t, command) -> tuple[np.ndarray, np.ndarray]:
    """Times (n + 2,), from long before the first command to long after the last, and the integral (n + 2, nv)."""
    times = np.concatenate([[t[0] - FAR], t, [t[-1] + FAR]])
    held = np.concatenate([command[:1], command])
    return times, np.concatenate([np.zeros((1, command.shape[1])), np.cumsum(held * np.diff(times)[:, None], axis=0)])


def arrays_of(robot: Robot, drives: Mapping[str, Drive]) -> DriveArrays:
    """The drives of all joints, with friction, armature and inertias of the model; what is None is zero or without
    limit. Raises OptionError: joints without a drive, or without its gain."""
    require_driven(robot, drives)
    driven = list(robot.driven_dofs)
    own = [drives[robot.dof_names[dof]] for dof in driven]
    gains = [drive.torque_per_unit for drive in own]
    unknown = [robot.dof_names[dof] for dof, gain in zip(driven, gains, strict=True) if gain is None]
    if unknown:
        raise OptionError(
            f"The gain of the drives of {choices(unknown)} is not known: they cannot be simulated. State kp (or kd, or "
            "gain) in [drives] of the side file."
        )

    def placed(values, otherwise: float = 0.0) -> np.ndarray:
        found = np.full(robot.nv, otherwise)
        found[driven] = values
        return found

    def values(name: str, otherwise: float) -> np.ndarray:
        held = [getattr(drive, name) for drive in own]
        return placed([otherwise if value is None else value for value in held], otherwise)

    return DriveArrays(
        follows_q=placed([drive.features.follows_q for drive in own]),
        gain=placed(gains),
        kd=values("kd", 0.0),
        limit=values("limit", np.inf),
        delay=values("delay", 0.0) - values("early", 0.0),
        slope_limit=values("slope_limit", np.inf),
        damping=robot.damping,
        frictionloss=placed(
            [
                fc if drive.friction_base is None else drive.friction_base
                for drive, fc in zip(own, robot.frictionloss[driven], strict=True)
            ]
        ),
        armature=robot.armature,
        inertias=robot.inertias,
        load_friction_motor=values("load_friction_motor", 0.0),
        load_friction_external=values("load_friction_external", 0.0),
    )


def require_driven(robot: Robot, drives: Mapping[str, Drive]) -> None:
    """Raises OptionError for robots with joints that no drive is known of."""
    absent = [robot.dof_names[dof] for dof in robot.driven_dofs if robot.dof_names[dof] not in drives]
    if absent:
        raise OptionError(
            f"Nothing says what drives {choices(absent)}. Give --drive a kind for all joints, say it in [drives] of "
            "the side file, or use a model with actuators."
        )


def told(robot: Robot, log: Log, drives: Mapping[str, Drive]) -> np.ndarray:
    """What the drives of a log were told, or took, in the units of their gains.

    log: with command; duty, and voltage where a drive states no volts, for voltages; current for currents; tau for
    torques that were measured rather than commanded. drives: by joint, all of them. Returns (n, nv). Raises LogError: a
    channel is missing.
    """
    found = np.zeros((len(log), robot.nv))
    for dof in robot.driven_dofs:
        drive = drives[robot.dof_names[dof]]
        found[:, dof] = drive.features.taken(log, drive, dof)
    return found


def effort(robot: Robot, log: Log, drives: Mapping[str, Drive]) -> np.ndarray:
    """(n, nv) torques of drives but for their damping, clipped to known limits, where a gain is known or a joint has no
    drive; else in units of what the drive takes, as late as it says. Raises LogError: a channel is missing."""
    columns, q = [], of_joints(log.q, robot.nv)
    for dof, name in enumerate(robot.dof_names):
        if name not in drives:  # nothing pushes a free base but the ground
            pushed = log.tau is None and dof not in robot.driven_dofs
            columns.append(np.zeros(len(log)) if pushed else log.require("tau")[0][:, dof])
            continue
        drive, kind = drives[name], drives[name].features
        sent, late = kind.taken(log, drive, dof), (drive.delay or 0.0) - (drive.early or 0.0)
        if late and kind.late:
            sent = held(log.t - late + SAME, log.t, sent[:, None])[:, 0]
        if kind.follows_q:
            sent = sent - q[:, dof]
        gain, most = drive.torque_per_unit, np.inf if drive.limit is None else drive.limit
        columns.append(sent if gain is None else np.clip(gain * sent, -most, most))
    return np.stack(columns, axis=1)
