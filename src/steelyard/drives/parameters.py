"""What decides how a robot with drives moves: numbers a joint, and its bodies."""

from dataclasses import dataclass, replace

import numpy as np

LEAD = 0.2  # s before a window in which a command with a limited slope catches up
FAR = 100.0  # s


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
    """What drives follow in several windows, (k, steps, nv): the commands that have arrived, their slope limited.

    Each is the mean over a step, so that a delay may be any share of one.
    recordings: with t (n,) and command (n, nv), which holds until the next one. source, starts: (k,) the recording of
    each window, and its first sample.
    """
    lead = int(np.ceil(LEAD / step)) if np.isfinite(drives.slope_limit).any() else 0
    edges = step * np.arange(-lead, steps + 1)
    found = np.empty((len(source), len(edges) - 1, len(drives.delay)))
    sums = [_integral(own.t, own.command) for own in recordings]
    for k, (number, first) in enumerate(zip(source, starts, strict=True)):
        (t, integral), begin = sums[number], recordings[number].t[first]
        for j, delay in enumerate(drives.delay):
            found[k, :, j] = np.diff(np.interp(begin + edges - delay, t, integral[:, j])) / step
    if lead:
        most, now = drives.slope_limit * step, found[:, 0]
        for place in range(1, found.shape[1]):
            now = now + np.clip(found[:, place] - now, -most, most)
            found[:, place] = now
    return found[:, lead:]


def _integral(t, command) -> tuple[np.ndarray, np.ndarray]:
    """Times (n + 2,), from long before the first command to long after the last, and the integral (n + 2, nv)."""
    times = np.concatenate([[t[0] - FAR], t, [t[-1] + FAR]])
    held = np.concatenate([command[:1], command])
    return times, np.concatenate([np.zeros((1, command.shape[1])), np.cumsum(held * np.diff(times)[:, None], axis=0)])
