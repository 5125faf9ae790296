"""The online estimator of the core, sample by sample: what tests hold the core to."""

import numpy as np

from steelyard.inertia import cones
from steelyard.numbers import NEGLIGIBLE
from steelyard.payload import entropic
from steelyard.payload.online import (
    AGE,
    ALARM,
    BEFORE,
    BIAS_SIZE,
    COUNT,
    DIFFERENT,
    DRIFT,
    EMPTY,
    ENERGY,
    FADE,
    FAR,
    FELT,
    FORCE,
    FORCE_RATE,
    FORGET,
    HELD,
    KAPPA,
    KINDS,
    LAST,
    LASTING,
    LEARNING,
    LONG,
    MEMORY,
    NEWTON_STEPS,
    ONSET,
    ONSET_SHARE,
    PATIENCE,
    PULLED,
    RESTING,
    RUN,
    SEEN,
    SETTLE,
    SETTLED,
    THRESHOLD,
    TIME,
    TORQUE,
    TORQUE_RATE,
    TRUSTED,
    USUAL,
    WILD,
    YOUNG,
    YOUNG_STEPS,
)
from twins.small_matrices import newton

SUMMED = [FELT, PULLED, COUNT, ENERGY, TRUSTED]
UNIT = cones.triangle(np.eye(4))
COLUMN, ROW = np.tril_indices(4)


def rows_of(R, twist, acceleration, gravity, Y):
    """Body regressor (6, 10) of one sample, and the acceleration that its mass feels (3,)."""
    wx, wy, wz = twist[3], twist[4], twist[5]
    a, b, c = acceleration[3], acceleration[4], acceleration[5]
    d = np.empty(3)
    for i in range(3):
        d[i] = acceleration[i]
        for k in range(3):
            d[i] -= R[k, i] * gravity[k]
    d[0] += wy * twist[2] - wz * twist[1]
    d[1] += wz * twist[0] - wx * twist[2]
    d[2] += wx * twist[1] - wy * twist[0]
    xx, yy, zz, xy, xz, yz = wx * wx, wy * wy, wz * wz, wx * wy, wx * wz, wy * wz
    Y[:, :] = 0.0
    Y[0, 0], Y[0, 1], Y[0, 2], Y[0, 3] = d[0], -(yy + zz), xy - c, xz + b
    Y[1, 0], Y[1, 1], Y[1, 2], Y[1, 3] = d[1], xy + c, -(xx + zz), yz - a
    Y[2, 0], Y[2, 1], Y[2, 2], Y[2, 3] = d[2], xz - b, yz + a, -(xx + yy)
    Y[3, 2], Y[3, 3], Y[4, 1], Y[4, 3], Y[5, 1], Y[5, 2] = d[2], -d[1], -d[2], d[0], d[1], -d[0]
    Y[3, 4], Y[3, 5], Y[3, 6], Y[3, 7], Y[3, 8], Y[3, 9] = a, b - xz, -yz, c + xy, yy - zz, yz
    Y[4, 4], Y[4, 5], Y[4, 6], Y[4, 7], Y[4, 8], Y[4, 9] = xz, a + yz, b, zz - xx, c - xy, -xz
    Y[5, 4], Y[5, 5], Y[5, 6], Y[5, 7], Y[5, 8], Y[5, 9] = -xy, xx - yy, xy, a - yz, b + xz, c
    return d


def without_tool(R, wrench, twist, acceleration, gravity, theta, bias):
    """That of the core."""
    Y = np.empty((6, 10))
    for k in range(len(wrench)):
        rows_of(R[k], twist[k], acceleration[k], gravity, Y)
        for i in range(6):
            wrench[k, i] -= bias[i]
            for j in range(10):
                wrench[k, i] -= Y[i, j] * theta[j]


class Bias:
    """Views of an array of BIAS_SIZE: values and rates (6, 11), covariances (2, 3) of bias, both, and rate."""

    def __init__(self, array):
        self.value, self.rate, self.spread = array[:66].reshape(6, 11), array[66:132].reshape(6, 11), array[132:]
        self.spread = self.spread.reshape(2, 3)

    def covariances(self):
        return self.spread[:, [[0, 1], [1, 2]]]

    def set(self, P):
        self.spread[:] = P[:, [0, 0, 1], [0, 1, 1]]

    def predict(self, dt, config):
        if dt <= 0:
            return
        kept = np.exp(-dt / config[FADE])
        F = np.array([[1.0, config[FADE] * (1 - kept)], [0.0, kept]])
        self.value[:], self.rate[:] = self.value + F[0, 1] * self.rate, kept * self.rate
        driven = config[[FORCE_RATE, TORQUE_RATE], None, None] ** 2 * (1 - kept**2)
        self.set(F @ self.covariances() @ F.T + driven * np.array([[dt**2 / 3, dt / 2], [dt / 2, 1.0]]))

    def update(self, found, variance):
        P = self.covariances()
        gain = P[:, :, 0] / (P[:, :1, 0] + variance)
        each = np.repeat(gain, 3, axis=0)
        self.value += each[:, :1] * found
        self.rate += each[:, 1:] * found
        self.set(P - gain[:, :, None] * P[:, None, 0])

    def settle(self, w, C):
        parts = np.stack([self.value[:, :10], self.rate[:, :10]], axis=1)  # (6, 2, 10)
        self.set(self.covariances() + (parts @ C @ parts.mT).reshape(2, 3, 2, 2).mean(axis=1))
        for each in (self.value, self.rate):
            each[:, 10] -= each[:, :10] @ w
            each[:, :10] = 0.0


class Past:
    """Views of an array of PAST_SIZE."""

    def __init__(self, array):
        sizes = (BIAS_SIZE, BIAS_SIZE, 10, 100, 100, 10, len(SUMMED), 1, 1, 1)
        parts = np.split(array, np.cumsum(sizes)[:-1])
        self.surely, self.bias, self.w, C, G, self.h, self.sums, self.time, self.sure_time, self.usual = parts
        self.covariance, self.G = C.reshape(10, 10), G.reshape(10, 10)


def _follow(G, h, Q, wide, w, mass, kappa, H, L, shift, steps):
    """Newton steps towards the minimum; H, L and shift are left at the last point. True if they are."""
    half, near = 0.5 * kappa, Q / mass**2
    gram, pull = (G + near) / half, h / half - UNIT / mass + near @ UNIT * mass / half
    found, factor = np.empty((10, 10)), np.zeros((10, 10))
    if not newton(gram, pull, w, ROW, COLUMN, found, factor, steps, NEGLIGIBLE * mass):
        return False
    slope = pull - gram @ w + cones.triangle(np.linalg.inv(cones.from_triangle(w, 4)))
    if slope @ np.linalg.solve(found, slope) > FAR:
        (middle,), _, (arrived,) = entropic._by_core(mass**2 * gram[None], mass * pull[None])
        if not arrived:
            return False
        w[:] = mass * middle
        if not newton(gram, pull, w, ROW, COLUMN, found, factor, steps, NEGLIGIBLE * mass):
            return False
    less = (wide - Q) / mass**2
    H[:] = half * found
    L[:] = np.linalg.cholesky(H + less)
    shift[:] = np.linalg.solve(H + less, less @ (w - mass * UNIT))
    return True


def _surprise(found, w, spread, L, ready):
    """How unlikely what was not predicted of a whitened sample (6, 11) is: six numbers of variance one."""
    e, S = found[:, 10] - found[:, :10] @ w, np.diag(1 + np.repeat(spread[:, 0], 3))
    if ready:
        reach = np.linalg.solve(L, found[:, :10].T)
        S = S + reach.T @ reach
    return np.linalg.solve(np.linalg.cholesky(S), e)


def _loudness(state):
    return state[LONG] if state[LONG] > LASTING * state[USUAL] else state[USUAL]


def _covariance(state, L, shift):
    inverse = np.linalg.inv(L)
    return _loudness(state) * inverse.T @ inverse + np.outer(shift, shift)


def advance(
    t, R, wrench, twist, acceleration, gravity, basis, Q, wide, config, state, G, h, w, H, L, shift, bias, past, thetas,
    events,
):  # fmt: skip
    """That of the core."""
    count, Y, whole, now, before = 0, np.empty((6, 10)), np.empty((6, 11)), Bias(bias), Past(past)
    scale = np.repeat(config[[FORCE, TORQUE]], 3)
    for k in range(t.size):
        felt = rows_of(R[k], twist[k], acceleration[k], gravity, Y)
        if state[COUNT] == 0 and state[LAST] < 0:
            state[TIME] = before.sure_time[0] = t[k]
        now.predict(t[k] - state[TIME], config)
        state[TIME] = t[k]
        whole[:, :10], whole[:, 10] = Y @ basis / scale[:, None], wrench[k] / scale
        e = _surprise(whole - now.value, w, now.spread, L, state[AGE] > 0)
        surprise = e @ e
        state[AGE] += 1
        level = surprise / 6
        excess = level / state[USUAL] - 1.0 - config[DRIFT] if state[AGE] > config[SETTLE] else 0.0
        if state[ALARM] < ONSET_SHARE * config[THRESHOLD]:
            state[ONSET] = t[k]
            if state[LAST] < 0:
                before.bias[:], before.w[:], before.time[:] = bias, w, t[k]
        state[ALARM] = max(0.0, state[ALARM] + min(excess, config[THRESHOLD] / 3))
        if state[ALARM] > config[THRESHOLD]:
            if state[LAST] < 0:
                state[BEFORE], state[LAST] = state[HELD], state[ONSET]
                before.covariance[:] = _covariance(state, L, shift)
                before.usual[:] = _loudness(state)
                before.G[:], before.h[:], before.sums[:] = G, h, state[SUMMED]
            if state[AGE] > LEARNING:
                before.surely[:], before.sure_time[:] = before.bias, before.time
                Bias(before.surely).settle(before.w, before.covariance)
            bias[:] = before.surely
            now.predict(t[k] - before.sure_time[0], config)
            G[:], h[:], state[SUMMED], state[AGE], state[ALARM] = 0.0, 0.0, 0.0, 0.0, 0.0
            state[RUN : RUN + 6] = 0.0
        found = whole - now.value
        trust = min(1.0, WILD * state[USUAL] / max(surprise, 1e-300)) if state[AGE] > config[SETTLE] else 1.0
        free = wrench[k, :3] - config[FORCE] * (now.value[:3, 10] - now.value[:3, :10] @ w)
        share = np.repeat(now.spread[:, 0], 3)
        weight = 1 / (share + 1 / trust)
        told = np.sum(weight * np.sum(found[:, :10] ** 2, axis=1)) / np.sum(trust * whole[:, :10] ** 2)
        forget = config[FORGET] ** min(1.0, told / RESTING)
        state[SUMMED] *= forget
        state[SUMMED] += [
            trust * felt @ felt,
            trust * felt @ free,
            1,
            weight @ found[:, 10] ** 2,
            weight @ (share + 1) / 6,
        ]
        h[:] = forget * h + found[:, :10].T @ (weight * found[:, 10])
        G[:] = forget * G + found[:, :10].T @ (weight[:, None] * found[:, :10])
        now.update(found, 1 / trust)
        mass = state[PULLED] / state[FELT]
        held = max(mass, 0.3 * config[EMPTY])
        steps = YOUNG_STEPS if state[AGE] < YOUNG else NEWTON_STEPS
        if state[AGE] == 0:
            w[:] = held * UNIT
        if not _follow(G, h, Q, wide, w, held, config[KAPPA], H, L, shift, steps):
            w[:] = held * UNIT
        thetas[k] = basis @ w
        # how surprising samples usually are, motion errors included: never less than the sensor alone
        if state[AGE] > YOUNG:
            state[RUN : RUN + 6] = MEMORY * state[RUN : RUN + 6] + e * np.sqrt(trust)
            run = (1 - MEMORY**2) * np.mean(state[RUN : RUN + 6] ** 2)
            state[SEEN] = min(state[SEEN] + 1, LEARNING)
            state[USUAL] = max(1.0, state[USUAL] + (min(level, WILD) - state[USUAL]) / state[SEEN])
            state[LONG] += (run - state[LONG]) / state[SEEN]
        if state[AGE] < config[SETTLE]:
            continue
        if state[LAST] >= 0:
            kind = _change(mass, w, _covariance(state, L, shift), before, config, state)
            if kind in KINDS:
                events[count] = state[LAST], kind, state[BEFORE], thetas[k, 0]
                count += 1
                state[SETTLED] = KINDS[kind] == "swapped"
            if kind == 0:  # the same payload after all
                faded = config[FORGET] ** (state[AGE] + 1)
                state[SUMMED] += faded * before.sums
                G += faded * before.G
                h += faded * before.h
            if kind >= 0:
                state[LAST] = -1.0
        elif state[AGE] > LEARNING:
            state[SETTLED] = 1.0
        if state[LAST] < 0:
            state[HELD] = thetas[k, 0]
    return count


def _change(mass, w, covariance, before, config, state):
    """What has happened to the payload: a kind of `KINDS`, 0 for nothing, -1 where that is not known yet."""
    was, now = state[BEFORE] > config[EMPTY], mass > config[EMPTY]
    if was != now:
        return 1 if now else 3
    apart, louder = w - before.w, _loudness(state) / before.usual
    different = apart @ np.linalg.solve(covariance + louder * before.covariance, apart) > DIFFERENT
    if was and different:
        return 2 if state[SETTLED] > 0 else 4  # 4: it was hardly known, and is no other one
    return -1 if was and state[AGE] < PATIENCE else 0
