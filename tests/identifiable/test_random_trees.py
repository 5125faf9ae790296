"""Three hundred random trees of all joint types, with motors, mimic and locked joints, against Pinocchio."""

import numpy as np
import pytest

from pinocchio_trees import Twin, scaled_rank
from random_trees import random_tree
from steelyard.identifiable import basis as subspaces
from steelyard.identifiable import identifiability, recursion

pytestmark = pytest.mark.claim("identifiability.count")

TREES = 300
BATCHES = 10


def cases(batch: int):
    """(robot, motors, locked) of one batch of trees."""
    for seed in range(batch, TREES, BATCHES):
        rng = np.random.default_rng([2026, seed])
        robot = random_tree(rng, bodies=int(rng.integers(2, 8)))
        motors = bool(robot.rotors) and rng.uniform() < 0.6
        names = robot.joint_names
        locked = tuple(n for n in names if rng.uniform() < 0.15) if rng.uniform() < 0.4 else ()
        yield rng, robot, motors, locked if len(locked) < len(names) else ()


@pytest.mark.exhaustive(keep=2)
@pytest.mark.parametrize("batch", range(BATCHES))
def test_structure_is_that_of_an_independent_engine(batch):
    for rng, robot, motors, locked in cases(batch):
        idn = identifiability(robot, motors=motors, locked=locked)
        Y = Twin(robot, motors=motors).regression(rng, 3 * idn.size // robot.nv + 30, locked=locked)
        rank, size = scaled_rank(Y)
        assert idn.count == rank
        assert idn.method.startswith("recursive")
        N = idn.null_space
        largest = np.abs(Y).max()
        assert np.abs(Y @ N).max(initial=0.0) <= 1e-9 * largest * max(np.abs(N).max(initial=0.0), 1.0)
        if idn.count:
            assert scaled_rank(Y[:, idn.columns])[0] == idn.count
        theta = rng.normal(size=idn.size) / size
        whole = Y @ theta
        regrouped = Y[:, idn.columns] @ idn.regroup(theta)
        growth = np.abs(idn.basis.regrouping / size[idn.columns, None] * size).max(initial=1.0)  # of rounding, by gears
        growth *= max(1.0, 3e-5 / idn.decisions.kept)  # and by what is hardly there
        assert np.abs(whole - regrouped).max() <= 1e-11 * (10 + growth) * max(np.abs(whole).max(), 1e-300)


@pytest.mark.parametrize("seed", range(12))
def test_regrouping_by_blocks_and_by_the_dense_basis_are_the_same(seed):
    rng = np.random.default_rng([7, seed])
    robot = random_tree(rng, bodies=6)
    idn = identifiability(robot, motors=bool(robot.rotors), friction=("viscous", "offset"), armature=True)
    assert idn.null_space.shape[1] == idn.size - idn.count
    theta = rng.normal(size=(3, 1, idn.size))
    np.testing.assert_allclose(idn.regroup(theta), idn.basis.regroup(theta), rtol=1e-9, atol=1e-9)


def test_without_closing_spans_under_the_joints_the_count_is_wrong(monkeypatch):
    """Known-wrong variant: what is seen across a joint is more than what is seen at its zero position."""
    monkeypatch.setattr(recursion, "closure", lambda Q, generators, decisions: Q)
    wrong = 0
    for rng, robot, _, _ in cases(0):
        count = identifiability(robot).count
        Y = Twin(robot, motors=False).regression(rng, 10 * robot.nb // robot.nv * 3 + 30)
        wrong += count != scaled_rank(Y)[0]
    assert wrong > 10


def test_without_projecting_out_spans_are_too_large(monkeypatch):
    """Known-wrong variant: a basis that keeps dependent directions makes every body see everything."""
    decisions = subspaces.RankDecisions()
    Q = np.eye(6)[:, :2]
    assert subspaces.span_union(Q, Q @ np.ones((2, 3)), decisions).shape == (6, 2)
    assert subspaces.closure(Q, [np.eye(6)], decisions).shape == (6, 2)
