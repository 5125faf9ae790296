"""Properties of drawn robots, logs, meshes and constraint sets."""

import numpy as np
import pytest
from hypothesis import Phase, given, settings
from hypothesis import strategies as st

import steelyard as sy
from random_bodies import assert_close, rotations
from steelyard.inertia import mesh, parameters
from steelyard.information import accumulate
from strategies import constraints, logs, meshes, robots

pytestmark = pytest.mark.claim("trust.relations")

TREES = ("revolute", "continuous", "prismatic", "fixed")
brief = settings(deadline=None, max_examples=15, derandomize=True)


@brief
@given(st.data())
def test_information_of_parts_is_that_of_the_whole(data):
    robot = data.draw(robots())
    log = data.draw(logs(robot))
    cut = data.draw(st.integers(1, len(log) - 1))
    whole = accumulate(robot, log, friction=("viscous",))
    parts = [accumulate(robot, part, friction=("viscous",)) for part in (log[:cut], log[cut:])]
    assert_close((parts[1] + parts[0]).gram, whole.gram, 1e-9)
    assert parts[0].n + parts[1].n == whole.n


@brief
@given(meshes(), st.integers(0, 1000))
def test_a_mesh_that_is_moved_takes_its_inertia_along(solid, seed):
    vertices, faces = solid
    R, p = rotations(seed), np.random.default_rng(seed).normal(size=3)
    moved = mesh.parameters(vertices @ R.T + p, faces, density=800.0)
    taken = parameters.transform(mesh.parameters(vertices, faces, density=800.0), R, p)
    assert_close(moved, taken, 1e-9)
    assert moved[0] > 0  # outward faces


@settings(brief, max_examples=8, phases=[Phase.generate])
@given(st.data())
def test_a_fit_obeys_what_is_known_and_the_truth_is_allowed(data):
    robot = data.draw(robots(most=4, types=TREES, mimic=False))
    log = data.draw(logs(robot, least=40, most=80, noise=0.02))
    known = data.draw(constraints(robot))
    fit = sy.fit.consistent(accumulate(robot, log, friction=("viscous",)), prior=robot, **known)
    assert fit.status.usable
    for name, mass in known["masses"].items():
        assert fit.theta[robot.body_names.index(name), 0] == pytest.approx(mass, rel=1e-6)
