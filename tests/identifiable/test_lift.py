"""The lift of base parameters to bodies that can exist, against CVXPY on all parameters with their equalities."""

import cvxpy as cp
import numpy as np
import pytest

import steelyard as sy
from random_bodies import bodies
from random_trees import random_tree
from steelyard.errors import FitError, OptionError
from steelyard.inertia import is_consistent, pseudo
from steelyard.model import library

ROBOTS = {
    "puma560": {"motors": True},
    "palletiser": {"armature": True, "friction": ("viscous",)},
    "cheetah3_leg": {"motors": True},
    "scara": {},
}


@pytest.fixture(scope="module", params=ROBOTS)
def analysed(request):
    robot = getattr(library, request.param)()
    return robot, sy.identifiability(robot, **ROBOTS[request.param])


def misjudged(robot, idn, seed=0):
    """Values of the model with masses off by 30 %."""
    prior = idn.values.copy()
    off = np.exp(0.3 * np.random.default_rng(seed).normal(size=(robot.nb, 1)))
    prior[: 10 * robot.nb] = (off * prior[: 10 * robot.nb].reshape(-1, 10)).ravel()
    return prior


def pseudo_inertias(robot, idn, x):
    """Of links and rotors, of numbers or of CVXPY's variables x (p,)."""
    units = pseudo.to_matrix(np.eye(10))
    parts = [(np.eye(10), x[10 * i : 10 * i + 10]) for i in range(robot.nb)]
    for rotor in robot.rotors if idn.setup.motors else ():
        first = idn.names.index(f"{rotor.name}.m")
        parts.append((rotor.content, x[first : first + rotor.content.shape[1]]))
    return [sum((content[k] @ numbers) * units[k] for k in range(10)) for content, numbers in parts]


def by_cvxpy(robot, idn, base, prior):
    """The nearest semi-definite ones in the units of the analysis, or None."""
    scale, x = idn.mechanism.scale, cp.Variable(idn.size)
    at = idn.columns
    known = [cp.multiply(1 / scale[at], idn.basis.regrouping @ x - base) == 0]
    definite = []
    for J in pseudo_inertias(robot, idn, x):
        T = np.diag([1 / idn.mechanism.length] * 3 + [1.0])
        definite.append(T @ J @ T >> 0)
    free = [c for c, name in enumerate(idn.names) if name.endswith((".armature", ".viscous"))]
    problem = cp.Problem(
        cp.Minimize(cp.sum_squares(cp.multiply(1 / scale, x - prior))),
        [*known, *definite, *([x[free] >= 0] if free else [])],
    )
    problem.solve(solver=cp.CLARABEL)
    return None if problem.status.startswith("infeasible") else problem.value


def test_nearest_consistent_bodies(analysed):
    robot, idn = analysed
    base, prior = idn.regroup(idn.values), misjudged(robot, idn)
    theta, linear = idn.lift(base, prior), idn.lift(base, prior, method="linear")
    scale = idn.mechanism.scale
    np.testing.assert_allclose(idn.regroup(theta), base, atol=1e-12 * np.abs(base).max())
    assert all(np.linalg.eigvalsh(J)[0] > 0 for J in pseudo_inertias(robot, idn, theta))
    distance = np.sum(((theta - prior) / scale) ** 2)
    best = by_cvxpy(robot, idn, base, prior)
    assert best * (1 - 1e-5) - 1e-9 < distance < best * (1 + 3e-3) + 1e-9
    assert np.sum(((linear - prior) / scale) ** 2) < distance  # nearer, and impossible:
    assert not is_consistent(linear[: 10 * robot.nb].reshape(-1, 10)).all()


def test_where_the_linear_lift_is_consistent_it_is_the_lift(analysed):
    robot, idn = analysed
    np.testing.assert_allclose(idn.lift(idn.regroup(idn.values)), idn.values, atol=1e-12)
    hidden = idn.project(idn.values)
    assert not is_consistent(hidden[: 10 * robot.nb].reshape(-1, 10)).all()
    lifted = idn.lift(idn.regroup(idn.values), hidden)
    assert is_consistent(lifted[: 10 * robot.nb].reshape(-1, 10)).all()


def test_base_parameters_of_no_bodies_are_refused():
    """Those of truth with growing errors: CVXPY finds bodies exactly where the lift does."""
    robot = library.puma560()
    idn, outcomes = sy.identifiability(robot), []
    base = idn.regroup(idn.values)
    for seed in range(12):
        rng = np.random.default_rng(seed)
        noisy = base * (1 + 10.0 ** rng.uniform(-2.5, 0) * rng.normal(size=len(base)))
        possible = by_cvxpy(robot, idn, noisy, idn.values) is not None
        outcomes.append(possible)
        if possible:
            assert is_consistent(idn.lift(noisy).reshape(-1, 10)).all()
        else:
            with pytest.raises(FitError, match=r"No bodies that can exist .* link\d .* sy\.fit\.consistent"):
                idn.lift(noisy)
    assert 2 < sum(outcomes) < 10
    with pytest.raises(OptionError, match="'consistent' or 'linear'"):
        idn.lift(base, method="least squares")


def test_massless_bodies_have_no_consistent_lift():
    robot = library.scara()
    empty = robot.with_inertias(0 * robot.inertias)
    idn = sy.identifiability(empty)
    with pytest.raises(FitError, match=r"lift failed its own check|without mass"):
        idn.lift(np.zeros(idn.count))
    np.testing.assert_array_equal(idn.lift(np.zeros(idn.count), method="linear"), 0)


@pytest.mark.exhaustive(keep=4)
@pytest.mark.parametrize("seed", range(12))
def test_random_trees(seed):
    rng = np.random.default_rng([4, seed])
    robot = random_tree(rng, bodies=int(rng.integers(2, 7)), rotors=False)
    robot = robot.with_inertias(bodies(seed, (robot.nb,)))
    idn = sy.identifiability(robot)
    base = idn.regroup(idn.values)
    theta = idn.lift(base, misjudged(robot, idn, seed))
    np.testing.assert_allclose(idn.regroup(theta), base, atol=1e-10 * np.abs(base).max())
    assert is_consistent(theta.reshape(-1, 10)).all()
