"""The online estimator of the core, sample by sample: what tests hold the core to."""

import numpy as np

from steelyard.payload.online import (
    AGE,
    ALARM,
    BEFORE,
    BEFORE_MOMENT,
    COUNT,
    DRIFT,
    EMPTY,
    ENERGY,
    FELT,
    FORCE,
    FORGET,
    HELD,
    HELD_MOMENT,
    KAPPA,
    LAST,
    LEARNING,
    LEAST,
    NEWTON_STEPS,
    ONSET,
    ONSET_SHARE,
    PULLED,
    SAME,
    SETTLE,
    THRESHOLD,
    TORQUE,
    TRUSTED,
    TYPICAL,
    USUAL,
    WILD,
    YOUNG,
    YOUNG_STEPS,
)
from twins.small_matrices import cholesky, newton, solve


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


def _times_basis(Y, basis, out):
    for i in range(6):
        for j in range(10):
            total = 0.0
            for k in range(10):
                total += Y[i, k] * basis[k, j]
            out[i, j] = total


def _follow(G, h, Q, w, mass, kappa, row, column, H, L, steps):
    """Newton steps towards the minimum; H and its factor L are left at the last point. True if they are."""
    half = 0.5 * kappa  # the barrier's share of half the cost, which `newton` takes as one
    gram, pull = np.empty((10, 10)), np.empty(10)
    for i in range(10):
        pull[i] = h[i] / half - (1.0 / mass if row[i] == column[i] else 0.0)
        for j in range(10):
            near = Q[i, j] / (mass * mass * half)
            gram[i, j] = G[i, j] / half + near
            pull[i] += near * mass if row[j] == column[j] else 0.0
    found, factor = np.empty((10, 10)), np.zeros((10, 10))
    if not newton(gram, pull, w, row, column, found, factor, steps, LEAST * mass):
        return False
    H[:], L[:] = half * found, np.sqrt(half) * factor
    return True


def _surprise(rows, w, r, L, ready, S):
    """How unlikely a whitened sample r (6,) is, as a chi-square of 6: innovation over its own variance."""
    e, solved = np.empty(6), np.empty((6, 10))
    for i in range(6):
        e[i] = r[i]
        for k in range(10):
            e[i] -= rows[i, k] * w[k]
            solved[i, k] = rows[i, k]
    for i in range(6):
        if ready:
            solve(L, solved[i], 10)
        for j in range(6):
            S[i, j] = 1.0 if i == j else 0.0
            if ready:
                for k in range(10):
                    S[i, j] += solved[i, k] * rows[j, k]
    for i in range(6):  # symmetric up to rounding; the factor reads the lower half
        for j in range(i):
            S[i, j] = 0.5 * (S[i, j] + S[j, i])
    C = np.zeros((6, 6))
    if not cholesky(S, C, 6):
        return 0.0
    total = 0.0
    for i in range(6):
        for k in range(i):
            e[i] -= C[i, k] * e[k]
        e[i] /= C[i, i]
        total += e[i] * e[i]
    return total


def _watch(level, t, config, state, G, h):
    """Has the payload changed? Sums up how surprising samples are; at an alarm, sums of the new payload begin."""
    excess = level / state[USUAL] - 1.0 - config[DRIFT] if state[AGE] > config[SETTLE] else 0.0
    excess = min(excess, config[THRESHOLD] / 3)  # one wild sample is no change
    if state[ALARM] < ONSET_SHARE * config[THRESHOLD]:
        state[ONSET] = t
    state[ALARM] = max(0.0, state[ALARM] + excess)
    if state[ALARM] > config[THRESHOLD]:
        state[BEFORE], state[LAST] = state[HELD], state[ONSET]
        state[BEFORE_MOMENT : BEFORE_MOMENT + 3] = state[HELD_MOMENT : HELD_MOMENT + 3]
        G[:, :] = 0.0
        h[:] = 0.0
        state[FELT] = state[PULLED] = state[COUNT] = state[AGE] = state[ALARM] = state[ENERGY] = state[TRUSTED] = 0.0


def _add(rows, r, felt, wrench, trust, forget, state, G, h):
    """Add a sample to the sums, in which a wild one counts little and old ones are forgotten."""
    strength = force = 0.0
    for i in range(3):
        strength += felt[i] * felt[i]
        force += felt[i] * wrench[i]
    state[FELT] = forget * state[FELT] + trust * strength
    state[PULLED] = forget * state[PULLED] + trust * force
    state[COUNT] = forget * state[COUNT] + 1
    state[TRUSTED] = forget * state[TRUSTED] + trust
    state[ENERGY] *= forget
    for m in range(6):
        state[ENERGY] += trust * r[m] * r[m]
    for i in range(10):
        total = 0.0
        for m in range(6):
            total += rows[m, i] * r[m]
        h[i] = forget * h[i] + trust * total
        for j in range(10):
            total = 0.0
            for m in range(6):
                total += rows[m, i] * rows[m, j]
            G[i, j] = forget * G[i, j] + trust * total


def _start(w, mass, row, column):
    """The body from which Newton's steps start: a multiple of the unit."""
    for i in range(10):
        w[i] = mass if row[i] == column[i] else 0.0


def _change(mass, theta, config, state):
    """What has happened to the payload, now that the new sums have settled: a kind of `advance`, 0 for nothing."""
    was, now = state[BEFORE] > config[EMPTY], mass > config[EMPTY]
    if state[LAST] < 0:
        return 0.0
    kind = 1.0 if now and not was else 3.0 if was and not now else 2.0 if was else 0.0
    if kind == 2.0 and abs(mass - state[BEFORE]) < config[EMPTY]:
        moved = 0.0
        for i in range(3):
            moved += (theta[1 + i] - state[BEFORE_MOMENT + i]) ** 2
        if np.sqrt(moved) < SAME * config[EMPTY]:
            return 0.0  # the same payload: a disturbance
    return kind


def advance(t, R, wrench, twist, acceleration, gravity, basis, Q, config, state, G, h, w, H, L, thetas, events):
    """That of the core."""
    n, count = t.size, 0
    column, row = np.tril_indices(4)
    Y, rows, S, r = np.empty((6, 10)), np.empty((6, 10)), np.empty((6, 6)), np.empty(6)
    for k in range(n):
        felt = rows_of(R[k], twist[k], acceleration[k], gravity, Y)
        for i in range(6):
            scale = 1.0 / (config[FORCE] if i < 3 else config[TORQUE])
            r[i] = wrench[k, i] * scale
            for j in range(10):
                Y[i, j] *= scale
        _times_basis(Y, basis, rows)
        surprise = _surprise(rows, w, r, L, state[AGE] > 0, S)
        state[AGE] += 1
        level = surprise / 6.0
        _watch(level, t[k], config, state, G, h)
        trust = min(1.0, WILD * state[USUAL] / max(surprise, 1e-300)) if state[AGE] > config[SETTLE] else 1.0
        _add(rows, r, felt, wrench[k], trust, config[FORGET], state, G, h)
        mass = state[PULLED] / state[FELT]
        held = max(mass, 0.3 * config[EMPTY])
        if state[AGE] == 0:
            _start(w, held, row, column)
        steps = YOUNG_STEPS if state[AGE] < YOUNG else NEWTON_STEPS
        if not _follow(G, h, Q, w, held, config[KAPPA], row, column, H, L, steps):
            _start(w, held, row, column)
        for i in range(10):
            total = 0.0
            for j in range(10):
                total += basis[i, j] * w[j]
            thetas[k, i] = total
        # how surprising samples usually are, motion errors included: never less than the sensor alone
        if state[AGE] > YOUNG:
            state[USUAL] = max(1.0, state[USUAL] + (min(level, TYPICAL) - state[USUAL]) / LEARNING)
        # a change is named once the new sums have settled
        if state[AGE] == config[SETTLE]:
            kind = _change(mass, thetas[k], config, state)
            if kind > 0:
                events[count, 0], events[count, 1] = state[LAST], kind
                events[count, 2], events[count, 3] = state[BEFORE], mass
                count += 1
            state[LAST] = -1.0
        if state[AGE] >= config[SETTLE]:
            state[HELD] = mass
            state[HELD_MOMENT : HELD_MOMENT + 3] = thetas[k, 1:4]
    return count
