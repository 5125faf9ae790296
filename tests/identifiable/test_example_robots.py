"""Every URDF of example-robot-data, fixed and floating: the count is the numeric rank of Pinocchio's regressor."""

import numpy as np
import pytest

import pinocchio_adapter as adapter
import random_bodies
from pinocchio_trees import scaled_rank
from robots import EXAMPLE_ROBOTS, URDFS, random_state
from steelyard.dynamics import regressor
from steelyard.errors import ModelError
from steelyard.identifiable import identifiability, regression_basis
from steelyard.model import load
from steelyard.terms import layout_of

pytestmark = pytest.mark.claim(
    "identifiability.count",
    "count, null space and regrouping on every example robot and 300 random trees",
    pages=("docs/evidence/conformance.md",),
    limits="to the letter of the file (tolerance=0); by default four files with bent axes count less, and say so",
)

NAMES = [str(path.relative_to(EXAMPLE_ROBOTS)) for path in URDFS]
BENT = {"so100", "so101", "xarm7", "hextilt_flying_arm_5"}  # write pi as 3.1416 or so: axes lean by 1e-5 rad


def stacked(path, robot, floating):
    """Pinocchio's regression at random states (n, 10 nb)."""
    model = adapter.load(path, floating)
    data = model.createData()
    q, v, a = random_state(robot, np.random.default_rng(1), (16 * robot.nb // robot.nv + 20,))
    return np.concatenate([adapter.regressor(model, data, robot, *state) for state in zip(q, v, a, strict=True)])


@pytest.mark.exhaustive(keep=6)
@pytest.mark.parametrize("floating", [False, True], ids=["fixed", "floating"])
@pytest.mark.parametrize("name", NAMES)
def test_count_null_space_and_regrouping(name, floating):
    path = EXAMPLE_ROBOTS / name
    try:
        robot = load(path, floating=True if floating else None)
        Y = stacked(path, robot, floating)
    except (ModelError, ValueError):
        pytest.skip("unreadable, or nothing moves")
    idn = identifiability(robot, tolerance=0.0)  # of the file's geometry to the letter
    rank, _ = scaled_rank(Y)
    assert idn.count == rank
    assert np.abs(Y @ idn.null_space).max(initial=0.0) <= 1e-9 * np.abs(Y).max()
    assert scaled_rank(Y[:, idn.columns])[0] == rank
    theta = random_bodies.bodies(2, (robot.nb,)).ravel()
    whole = Y @ theta
    assert np.abs(whole - Y[:, idn.columns] @ idn.regroup(theta)).max() <= 1e-10 * np.abs(whole).max()

    practical = identifiability(robot)
    snapped = practical.mechanism.rounded
    assert (snapped > 0) <= (path.stem in BENT)
    if snapped == 0.0:
        assert practical.count == rank and np.array_equal(practical.columns, idn.columns)
        assert practical.decisions.dropped < 1e-9 and practical.decisions.kept > 4e-4  # no rank decision was close
    else:
        assert practical.count <= rank
        assert np.abs(Y @ practical.null_space).max() <= 2 * snapped * np.abs(Y).max()


@pytest.mark.parametrize("stem, count", [("so100", 36), ("so101", 36)])
def test_bent_axes_count_as_parallel(stem, count):
    """The first axis is 1e-5 rad off the vertical in the file: 38 combinations to the letter, 36 in any experiment."""
    path = next(p for p in URDFS if p.stem == stem)
    robot = load(path)
    idn = identifiability(robot)
    assert idn.count == count
    assert identifiability(robot, tolerance=0.0).count == count + 2
    assert 1e-7 < idn.mechanism.rounded < 1e-4 and "taken as zero" in idn.table()


@pytest.mark.exhaustive(keep=4)
@pytest.mark.parametrize("name", NAMES)
def test_basis_of_the_whole_regression(name):
    """Friction, offsets and armature add one combination each, apart from what mimic joints tie together."""
    path = EXAMPLE_ROBOTS / name
    try:
        robot = load(path)
    except ModelError:
        pytest.skip("unreadable")
    if robot.nv == 0:
        pytest.skip("nothing moves")
    layout = layout_of(robot, friction=("viscous", "coulomb", "offset"), armature=True)
    basis = regression_basis(robot, layout)
    q, v, a = random_state(robot, np.random.default_rng(3), (16 * robot.nb // robot.nv + 40,))
    Y = np.zeros((len(q), robot.nv, layout.size))
    Y[..., layout.inertial] = regressor(robot, q, v, a)
    for dof in layout.dofs:
        terms = {"viscous": v[:, dof], "coulomb": np.sign(v[:, dof]), "offset": 1.0, "armature": a[:, dof]}
        for term, column in zip(layout.terms, layout.effects_of(dof), strict=True):
            Y[:, dof, column] = terms[term]
    Y = Y.reshape(-1, layout.size)
    assert basis.count == scaled_rank(Y[:, basis.columns])[0]
    bent = path.stem in {*BENT, "tiago_pro"}
    assert basis.count < scaled_rank(Y)[0] if bent else basis.count == scaled_rank(Y)[0]
    assert np.abs(Y @ basis.null_space).max() <= (2e-5 if bent else 1e-9) * np.abs(Y).max()
    identity = basis.regroup(np.eye(layout.size)[basis.columns])
    np.testing.assert_array_equal(identity, np.eye(basis.count))
