"""Less noise in measured motion: twist and acceleration fused by a smoother, offline.

In body axes the spatial acceleration is the derivative of the twist, component by component, so both measure one
smooth curve. Noise on the acceleration would not only spread the estimates: as noise in the regressor it biases the
inertia towards zero, by a third at the levels of paper E's Table II. The maximum a posteriori curve under a random-walk
jerk is one banded linear system; how stiff it is, its likelihood decides. Signals out of a motion filter are left
alone.
"""

import numpy as np

from steelyard.log import segments
from steelyard.payload.motion import QUIETEST, roughness
from steelyard.payload.wrench_log import WrenchLog

STIFFNESS = np.logspace(-4, 4, 9)  # tried densities of the jerk's change, relative to the acceleration's RMS per s^2
WORTH = 2e-3  # noise of the acceleration over its RMS below which there is nothing to gain
FLOOR = 1e-4  # least noise over RMS: keeps weights within rounding
TUNING = 1000  # samples that tuning looks at
COLORED = 1.4  # roughness of every second sample over that of all, above which noise is not white
SHORTEST = 12  # samples of a stretch worth smoothing


def smooth_motion(log: WrenchLog) -> WrenchLog:
    """The log with twist and acceleration smoothed together; the same log where that gains nothing. Stretches between
    gaps are smoothed each on its own; wrench and rotation stay as they are."""
    if log.twist is None or log.acceleration is None or len(log) < SHORTEST:
        return log
    v, a, gained = log.twist.copy(), log.acceleration.copy(), []
    for half, unit in ((slice(0, 3), "m/s^2"), (slice(3, 6), "rad/s^2")):
        rough_a, rough_v = roughness(log.acceleration[:, half]), roughness(log.twist[:, half])
        size = float(np.sqrt(np.mean(log.acceleration[:, half] ** 2)))
        if size < QUIETEST or rough_a < WORTH * size or _colored(log.acceleration[:, half], rough_a):
            continue
        step = float(np.median(np.diff(log.t)))
        noise = (max(rough_v, FLOOR * size * step), rough_a)
        parts = [part for part in segments(log.t) if part.stop - part.start >= SHORTEST]
        if not parts:
            continue
        longest = max(parts, key=lambda part: part.stop - part.start)
        tuned = slice(longest.start, min(longest.stop, longest.start + TUNING))
        scores = [
            _smoothed(log.t[tuned], v[tuned, half], a[tuned, half], noise, (q * size) ** 2)[-1] for q in STIFFNESS
        ]
        q = (STIFFNESS[int(np.argmax(scores))] * size) ** 2
        for part in parts:
            v[part, half], a[part, half], _ = _smoothed(log.t[part], v[part, half], a[part, half], noise, q)
        gained.append(f"{rough_a:.2g} {unit}")
    if not gained:
        return log
    return log.replace(twist=v, acceleration=a).noted(
        f"acceleration and twist smoothed together: the measured acceleration has noise of {' and '.join(gained)}"
    )


def _colored(a, rough):
    """Whether the noise of a (n, k) has memory, as that of a motion filter: every second sample then looks rougher."""
    return max(roughness(a[::2]), roughness(a[1::2])) > COLORED * rough


def _smoothed(t, v, a, noise, q):
    """Smoothed v and a (n, k), and the log-likelihood of the density q of the jerk's random walk."""
    from scipy.linalg import LinAlgError, cho_solve_banded, cholesky_banded

    unit = float(np.median(np.diff(t)))
    n, k = v.shape
    state = np.array([1.0, 1 / unit, 1 / unit**2])  # states [v, a unit, j unit^2] are alike in size
    weight = np.array([1 / noise[0] ** 2, (state[1] / noise[1]) ** 2])
    transition, precision, determinant = _steps(np.diff(t) / unit, q * unit**5)
    blocks = np.zeros((n, 3, 3))
    blocks[:, 0, 0], blocks[:, 1, 1] = weight
    blocks[:-1] += transition.transpose(0, 2, 1) @ precision @ transition
    blocks[1:] += precision
    across = -precision @ transition  # row block k + 1, column block k
    bands = np.zeros((6, 3 * n))
    for i in range(3):
        for j in range(i + 1):
            bands[i - j, j::3] = blocks[:, i, j]
    for i in range(3):
        for j in range(3):
            bands[3 + i - j, j : 3 * n - 3 : 3] = across[:, i, j]
    right = np.zeros((n, 3, k))
    right[:, 0], right[:, 1] = v * weight[0], a * unit * weight[1]
    try:
        factor = cholesky_banded(bands, lower=True)
    except LinAlgError:  # so stiff that the digits run out
        return v, a, -np.inf
    x = cho_solve_banded((factor, True), right.reshape(3 * n, k)).reshape(n, 3, k)
    smooth_v, smooth_a = x[:, 0], x[:, 1] / unit
    defect = x[1:] - transition @ x[:-1]
    cost = np.sum(((smooth_v - v) / noise[0]) ** 2) + np.sum(((smooth_a - a) / noise[1]) ** 2)
    cost += np.einsum("nik,nij,njk->", defect, precision, defect)
    likelihood = -0.5 * cost + 0.5 * k * determinant - k * np.sum(np.log(factor[0]))
    return smooth_v, smooth_a, float(likelihood)


def _steps(h, q):
    """Transitions and inverse process covariances (n, 3, 3) of steps h (n,), and the log-determinant of the latter."""
    transition = np.zeros((len(h), 3, 3))
    transition[:] = np.eye(3)
    transition[:, 0, 1], transition[:, 1, 2], transition[:, 0, 2] = h, h, h * h / 2
    shape = np.array([[1 / 20, 1 / 8, 1 / 6], [1 / 8, 1 / 3, 1 / 2], [1 / 6, 1 / 2, 1.0]])
    scale = h[:, None] ** np.array([2.5, 1.5, 0.5])
    inverse = np.linalg.inv(shape) / (q * scale[:, :, None] * scale[:, None, :])
    return transition, inverse, float(np.linalg.slogdet(inverse)[1].sum())
