"""Closing loops at position level: damped Newton for many samples at once."""

import numpy as np

from steelyard.dynamics.closed_loop.constraint import constants, gaps, jacobian, placed
from steelyard.model import Robot
from steelyard.spatial import cross, rotate, rotation_from_quaternion

CLOSED = 1e-6  # of the robot's length, or radians: larger gaps are open
DONE = 1e-12  # smaller gaps are rounding
ITERATIONS = 40
LONGEST = 0.5  # radians, or lengths of the robot, in one Newton step
DAMPING, MOST_DAMPING = 1e-3, 1e3
DEPENDENT = 1e-7  # of the largest singular value: smaller ones belong to redundant equations


def moved(robot: Robot, q, step):
    """Positions after a small motion, exact to first order. q (n, nq), step (n, nv), real or complex."""
    out = np.array(q, dtype=np.result_type(q, step))
    for joint, at_q, at_v in zip(robot.joints, robot.q_slices, robot.v_slices, strict=True):
        if joint.mimics is not None:
            continue
        here, rate = q[:, at_q], step[:, at_v]
        if joint.kind == "planar":
            c, s = np.cos(here[:, 2]), np.sin(here[:, 2])
            turned = (c * rate[:, 0] - s * rate[:, 1], s * rate[:, 0] + c * rate[:, 1], rate[:, 2])
            out[:, at_q] = here + np.stack(turned, axis=-1)
        elif joint.nq == 1:
            out[:, at_q] = here + rate
        else:
            quaternion = here[:, -4:]
            w, x = rate[:, -3:] / 2, quaternion[:, :3]
            vector = x + quaternion[:, 3:] * w + cross(x, w)
            scalar = quaternion[:, 3] - np.sum(x * w, axis=-1)
            turned = np.concatenate([vector, scalar[:, None]], axis=-1)
            out[:, at_q.stop - 4 : at_q.stop] = turned / np.sqrt(np.sum(turned**2, axis=-1, keepdims=True))
            if joint.kind == "free":
                R = rotation_from_quaternion(quaternion)
                out[:, at_q.start : at_q.start + 3] = here[:, :3] + rotate(R, rate[:, :3])
    return out


def close(robot: Robot, q, free):
    """Close all loops by moving the coordinates `free` only. q: (n, nq) guesses. Returns q and the gaps left (n,)."""
    q = np.array(q, dtype=float)
    sizes = constants(robot).sizes[free]
    gap, K, size = _evaluated(robot, q, free)
    damping, stuck = np.zeros(len(q)), np.zeros(len(q), dtype=bool)
    for _ in range(ITERATIONS):
        live = np.flatnonzero((size > DONE) & ~stuck)
        if not live.size:
            break
        step = np.zeros((len(live), robot.nv))
        step[:, free] = -_damped(K[live] * sizes, gap[live], damping[live]) * sizes
        trial = moved(robot, q[live], step)
        new = _evaluated(robot, trial, free)
        better = new[2] < size[live]
        taken = live[better]
        q[taken] = trial[better]
        gap[taken], K[taken], size[taken] = (x[better] for x in new)
        damping[live] = np.where(better, damping[live] / 10, np.maximum(10 * damping[live], DAMPING))
        damping[damping < DAMPING] = 0.0
        stuck[live] = damping[live] > MOST_DAMPING
    return q, size


def _evaluated(robot: Robot, q, free):
    at = placed(robot, q)
    gap = gaps(robot, at)
    return gap, jacobian(robot, at, side=1)[..., free], np.linalg.norm(gap, axis=1)


def _damped(K, gap, damping):
    """Smallest steps (n, k) that reduce gaps (n, m), damped; redundant equations are left out."""
    U, s, Vt = np.linalg.svd(K, full_matrices=False)
    kept = s > DEPENDENT * s.max(axis=1, keepdims=True, initial=1e-300)
    weight = np.where(kept, s / np.maximum(s**2 + damping[:, None] ** 2, 1e-300), 0.0)
    step = np.einsum("nkj,nk,nmk,nm->nj", Vt, weight, U, gap)
    longest = np.abs(step).max(axis=1, initial=0.0)
    return step * np.minimum(1.0, LONGEST / np.maximum(longest, 1e-300))[:, None]
