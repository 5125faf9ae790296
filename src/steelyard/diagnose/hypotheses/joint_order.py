"""Columns of a log that belong to other joints than they are said to.

Torques alone: every channel is compared with every joint's own regression, and an assignment problem finds the order.
Positions, with or without their torques, change the regression itself: pairs of joints are exchanged, and orders that
files commonly have (alphabetical, from the tool) are tried. Of robots with limbs, vendors list these in other orders
than models (FR FL RR RL), and simulators joint by joint (all hips, all thighs): see `of_limbs`.
"""

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import replace
from itertools import combinations, permutations, zip_longest

import numpy as np

from steelyard.diagnose.case import RANK, Case
from steelyard.diagnose.hypothesis import Mistake, Trial
from steelyard.diagnose.regression import Regression
from steelyard.model import Robot

LEAST = 0.1  # nats a sample, of all joints, by which another order of the torques must be better to first order
MOST_LIMBS = 5  # whose orders are all tried; of more, pairs are exchanged


def trials(case: Case, dofs: Sequence[int]) -> Iterator[Trial]:
    """Other orders of the torques, of the positions and of both. dofs: joints whose exchange is tried."""
    if not _possible(case):
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


def of_limbs(case: Case, _: Sequence[int] = ()) -> Iterator[Trial]:
    """Positions and torques by limbs in another order, or joint by joint of all limbs."""
    if not _possible(case):
        return
    for order in limb_orders(case.robot):
        source = np.argsort(order)
        yield _trial(case, source, None, _moved(case, source))


def limb_orders(robot: Robot) -> list[np.ndarray]:
    """Orders (nv,) in which a file may list the degrees of a robot with limbs: column k holds degree order[k].

    Limbs in any order, one after another, or first joints, second joints, ... of all of them; those that move limbs
    least first, as FR FL RR RL of FL FR RL RR.
    """
    limbs = _limbs(robot)
    if len(limbs) < 2:
        return []
    if len(limbs) <= MOST_LIMBS:
        sequences = sorted(
            permutations(limbs), key=lambda each: sum(abs(limbs.index(x) - k) for k, x in enumerate(each))
        )
    else:
        places = range(len(limbs))
        sequences = [[limbs[{i: j, j: i}.get(k, k)] for k in places] for i, j in combinations(places, 2)] + [limbs]
    found = {}
    for sequence in sequences:
        together = [dof for limb in sequence for dof in limb]
        level = [dof for row in zip_longest(*sequence) for dof in row if dof is not None]
        found |= {tuple(order): np.array(order) for order in (together, level)}
    found.pop(tuple(range(robot.nv)), None)
    return list(found.values())


def _limbs(robot: Robot) -> list[list[int]]:
    """Degrees of freedom by limb: chains between branches, in the order of the model."""
    moving = [j for j, joint in enumerate(robot.joints) if joint.mimics is None]
    above = {}
    for joint in moving:
        above[joint] = int(robot.parents[joint])
        while above[joint] >= 0 and above[joint] not in moving:
            above[joint] = int(robot.parents[above[joint]])
    children = Counter(above.values())
    first: dict[int, int] = {}  # joint of the limb that a joint is part of, by joint
    limbs: dict[int, list[int]] = {}
    for joint in moving:
        first[joint] = first[above[joint]] if above[joint] in first and children[above[joint]] == 1 else joint
        own = robot.v_slices[joint]
        limbs.setdefault(first[joint], []).extend(range(own.start, own.stop))
    return list(limbs.values())


def _possible(case: Case) -> bool:
    """Whether every degree has one number for its position, and a motor."""
    places = case.robot.scalar_positions
    return len(case.dofs) == case.robot.nv and all(dof in places for dof in case.dofs)


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
    return Trial(
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


MISTAKE = Mistake(trials=(trials,), by_given_links=(trials, of_limbs))
