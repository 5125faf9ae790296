"""The derivatives of `derivative_rows` by the Numba kernel, samples shared among threads."""

from concurrent.futures import ThreadPoolExecutor

import numpy as np

from steelyard.dynamics import kernel_choice
from steelyard.dynamics.derivative_plan import derivative_plan
from steelyard.dynamics.tree_plan import fixed_poses
from steelyard.model import Robot

SHARE = 512  # samples a thread takes at a time


def fused(robot: Robot, q, v, a, *, twists: bool):
    """dtau/dq, dv, da (n, nv, nv), and where asked dtau/deta (n, nv, nj, 6). q (n, nq), v, a (n, nv)."""
    by_q, by_v, M = (np.zeros((len(q), robot.nv, robot.nv)) for _ in range(3))
    eta = np.zeros((len(q), robot.nj, 6, robot.nv)) if twists else np.zeros((0, 0, 0, 0))
    _run(robot, q, v, a, by_q, by_v, M, eta)
    M[:, range(robot.nv), range(robot.nv)] += robot.armature
    degrees = by_q.mT, by_v.mT, M
    return (*degrees, np.moveaxis(eta, -1, 1)) if twists else degrees


def _run(robot: Robot, q, v, a, *outs):
    from steelyard.dynamics.derivative_kernel import add_derivatives

    plan = derivative_plan(robot)

    def share(start: int, stop: int):
        part = slice(start, stop)
        q_part, v_part, a_part = (np.array(x[part], dtype=float, order="C") for x in (q, v, a))
        parts = (x[part] if x.size else x for x in outs)
        add_derivatives(plan, q_part, fixed_poses(robot, q_part), v_part, a_part, *parts)

    first = 0 if add_derivatives.signatures else min(1, len(q))
    if first:  # compiled by a first sample, before threads share it
        share(0, 1)
    edges = [*range(first, len(q), SHARE), len(q)]
    with ThreadPoolExecutor(kernel_choice.threads()) as pool:
        list(pool.map(share, edges[:-1], edges[1:]))
