"""What decides how a robot with drives moves: numbers a joint, and its bodies."""

from dataclasses import dataclass, replace

import numpy as np

from steelyard.model import Robot


LEAD = 0.2  # s before a window in which a command with a limited slope catches up
ROUNDING = 1e-9  # s


@dataclass(frozen=True, eq=False)
class Drives:
    """Drives of all joints and what they move, as the simulation takes them; arrays (nv,), zero-order-hold commands.

    The torque of a joint is `clip(gain (command - follows_q q) - kd v + offset, +-limit)`, for a position servo with
    follows_q = 1, for a velocity servo with gain = kd, for voltage, current and torque with kd = 0; against it stand
    damping and friction of the joint. kd and damping share their column: only their sum shows.

    gain: torque per unit of the command. kd: N m s/rad. limit: N m, inf where unknown. offset: N m. delay: s, by which
    commands come late. slope_limit: of the command, its unit per s, inf where unknown. damping, frictionloss, armature:
    of the joints, N m s/rad, N m, kg m^2. inertias: (nb, 10) of the bodies.
    """

    follows_q: np.ndarray
    gain: np.ndarray
    kd: np.ndarray
    limit: np.ndarray
    offset: np.ndarray
    delay: np.ndarray
    slope_limit: np.ndarray
    damping: np.ndarray
    frictionloss: np.ndarray
    armature: np.ndarray
    inertias: np.ndarray

    def changed(self, **values) -> "Drives":
        return replace(self, **values)

    @property
    def told_by(self) -> bytes:
        """Equal for drives that follow the same of the same commands."""
        return self.delay.tobytes() + self.slope_limit.tobytes()


def commanded(drives: Drives, recordings, source, starts, step: float, steps: int) -> np.ndarray:
    """What drives follow in several windows, (k, steps, nv): the last command that has arrived, its slope limited.

    recordings: with t (n,) and command (n, nv), which holds until the next one. source, starts: (k,) the recording of
    each window, and its first sample.
    """
    lead = int(np.ceil(LEAD / step)) if np.isfinite(drives.slope_limit).any() else 0
    times = step * np.arange(-lead, steps)
    found = np.empty((len(source), len(times), len(drives.delay)))
    for k, (number, first) in enumerate(zip(source, starts, strict=True)):
        own = recordings[number]
        for j, delay in enumerate(drives.delay):
            last = np.searchsorted(own.t, own.t[first] + times - delay + ROUNDING, side="right") - 1
            found[k, :, j] = own.command[np.maximum(last, 0), j]
    if lead:
        most, now = drives.slope_limit * step, found[:, 0]
        for place in range(1, len(times)):
            now = now + np.clip(found[:, place] - now, -most, most)
            found[:, place] = now
    return found[:, lead:]
