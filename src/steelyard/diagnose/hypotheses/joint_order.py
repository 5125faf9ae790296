"""Columns of a log that belong to other joints than they are said to.

Torques alone: every channel is compared with every joint's own regression, and an assignment problem finds the order.
Positions, with or without their torques, change the regression itself: pairs of joints are exchanged, and orders that
files commonly have (alphabetical, from the tool) are tried.
"""

from collections.abc import Iterator, Sequence
from dataclasses import replace
from itertools import combinations

import numpy as np

from steelyard.diagnose.case import RANK, Case
from steelyard.diagnose.hypothesis import Trial, trial
from steelyard.diagnose.regression import Regression

LEAST = 0.1  # nats a sample, of all joints, by which another order of the torques must be better to first order


def trials(case: Case, dofs: Sequence[int]) -> Iterator[Trial]:
    """Other orders of the torques, of the positions and of both. dofs: joints whose exchange is tried."""
    places = case.robot.scalar_positions
    if len(case.dofs) != case.robot.nv or any(dof not in places for dof in case.dofs):
        return
    identity = np.arange(case.robot.nv)
    torques = _by_torque(case)
    if torques is not None:
        yield _trial(case, torques, "tau", case.regression)
    orders = [_exchanged(identity, pair) for pair in combinations(sorted(dofs), 2)]
    names = np.array(case.robot.dof_names)
    orders += [np.argsort(np.argsort(names)), np.argsort(names), identity[::-1]]
    distinct = {tuple(order): order for order in orders if not np.array_equal(order, identity)}
    for order in distinct.values():
        regression = _moved(case, order)  # costs most, and serves both
        for channel in (None, "q"):
            yield _trial(case, order, channel, regression)


def _exchanged(identity: np.ndarray, pair: tuple[int, int]) -> np.ndarray:
    order = identity.copy()
    order[list(pair)] = order[list(pair[::-1])]
    return order


def _trial(case: Case, source: np.ndarray, channel: str | None, regression: Regression) -> Trial:
    """source: (nv,) column in which the signal of each joint is. regression: with its positions there, if they are."""
    names = case.robot.dof_names
    moved = {None: "positions and torques", "q": "positions", "tau": "torques"}[channel]
    changed = case.undone("joint_order", order=case.order if channel == "q" else case.order[source])
    changed = replace(changed, regression=regression)
    belongs = [names[i] for i in np.argsort(source)]
    others = [f"{names[i]} in that of {names[j]}" for i, j in enumerate(source) if i != j]
    return trial(
        case,
        changed,
        f"The {moved} of joints are in each other's columns ({', '.join(others)})",
        options=("--order", f"{'' if channel is None else f'{channel}:'}{','.join(belongs)}"),
    )


def _moved(case: Case, source: np.ndarray) -> Regression:
    """The regression with the positions of joints read from other columns."""
    regression, places = case.regression, case.robot.scalar_positions
    q, nv = regression.q.copy(), case.robot.nv
    q[:, [places[dof] for dof in range(nv)]] = regression.q[:, [places[dof] for dof in source]]
    direction = regression.direction.copy()
    direction[:, :nv] = regression.direction[:, source]
    return replace(regression, q=q, v=regression.v[:, source], a=regression.a[:, source], direction=direction)


def _by_torque(case: Case) -> np.ndarray | None:
    """Assignment of torque channels to joints by what each joint's own rows leave of each channel."""
    from scipy.sparse import csr_array
    from scipy.sparse.csgraph import min_weight_full_bipartite_matching

    energy = case.information.energy
    if not energy.all():
        return None
    left = np.empty((case.robot.nv, case.robot.nv))
    for dof in range(case.robot.nv):
        _, rows = case.regression.own[dof]
        size = np.linalg.norm(rows, axis=0)
        U, s, _ = np.linalg.svd(rows[:, size > 0] / size[size > 0], full_matrices=False)
        inside = U[:, s > RANK * s[0]].T @ case.target.T
        left[dof] = np.log(np.maximum(1 - np.sum(inside**2, axis=0) / energy, 1e-14))
    weights = left - left.min() + 1.0  # no zeros, which a sparse matrix takes for no match at all
    joints, source = min_weight_full_bipartite_matching(csr_array(weights))
    won = 0.5 * (np.trace(left) - left[joints, source].sum())
    return source if won > LEAST else None
