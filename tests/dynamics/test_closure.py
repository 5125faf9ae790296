"""Constraint equations of every kind of closure, closing loops, branches of assembly, and what is refused."""

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.optimize import brentq

import steelyard as sy
from properties import tried
from random_loops import FREE_MOTIONS, robot_closed_at
from steelyard.dynamics.closed_loop.assembly import assembled, choose_independent, close, moved
from steelyard.dynamics.closed_loop.constraint import gaps, jacobian, jacobian_rate, placed
from steelyard.errors import LoopError, ModelError, OptionError, SingularConfigurationError
from steelyard.model import library
from steelyard.model.loops import LOOP_KINDS

pytestmark = pytest.mark.claim("loops.dynamics")

STEP = 1e-6


@tried(30)
@given(st.integers(0, 10**6), st.sampled_from(sorted(LOOP_KINDS)))
def test_jacobian_is_the_rate_of_the_gaps(seed, kind):
    robot, q = robot_closed_at(seed, kind)
    at = placed(robot, q)
    assert np.abs(gaps(robot, at)).max() < 1e-12
    v = np.random.default_rng(seed).normal(size=(1, robot.nv))
    ahead, behind = (gaps(robot, placed(robot, moved(robot, q, s * STEP * v))) for s in (1, -1))
    rate = (ahead - behind) / (2 * STEP)
    for side in (0, 1):
        if side == 1 or not FREE_MOTIONS[kind]:
            np.testing.assert_allclose((jacobian(robot, at, side=side) @ v[..., None])[..., 0], rate, atol=1e-7)


@tried(30)
@given(st.integers(0, 10**6), st.sampled_from(sorted(LOOP_KINDS)))
def test_gradient_is_exact_where_loops_are_open(seed, kind):
    robot, q = robot_closed_at(seed, kind)
    rng = np.random.default_rng(seed + 1)
    q = moved(robot, q, rng.normal(scale=0.7, size=(1, robot.nv)))
    at = placed(robot, q)
    gradient = np.einsum("nmv,nm->nv", jacobian(robot, at, side=1), gaps(robot, at))[0]
    v = rng.normal(size=(1, robot.nv))
    ahead, behind = (np.sum(gaps(robot, placed(robot, moved(robot, q, s * STEP * v))) ** 2) / 2 for s in (1, -1))
    numeric = (ahead - behind) / (2 * STEP)
    np.testing.assert_allclose(gradient @ v[0], numeric, rtol=1e-5, atol=1e-6 * (1 + np.abs(gradient).max()))


@tried(30)
@given(st.integers(0, 10**6), st.sampled_from(sorted(LOOP_KINDS)))
def test_rate_of_the_jacobian(seed, kind):
    """Along motions that keep the loop closed, by differences of re-closed configurations."""
    robot, q = robot_closed_at(seed, kind)
    every = np.arange(robot.nv)
    K = jacobian(robot, placed(robot, q))[0]
    null = np.linalg.svd(K)[2][np.linalg.matrix_rank(K, tol=1e-8) :]
    rng = np.random.default_rng(seed)
    u, v = (null.T @ rng.normal(size=len(null)) for _ in range(2))
    ahead, behind = (close(robot, moved(robot, q, s * 1e-5 * u[None]), every)[0] for s in (1, -1))
    numeric = (jacobian(robot, placed(robot, ahead)) - jacobian(robot, placed(robot, behind)))[0] @ v / 2e-5
    analytic = jacobian_rate(robot, placed(robot, q), u[None, :, None], v[None, :, None])[0, :, 0]
    np.testing.assert_allclose(analytic, numeric, atol=1e-4 * (1 + np.abs(numeric).max()))


@tried(30)
@given(st.integers(0, 10**6), st.sampled_from(sorted(LOOP_KINDS)))
def test_closing_from_a_distance(seed, kind):
    """Gaps never grow, and close from nearby; joints that may not move stay where they are."""
    robot, q = robot_closed_at(seed, kind)
    rng = np.random.default_rng(seed + 2)
    start = moved(robot, q, rng.normal(scale=0.05, size=(1, robot.nv)))
    before = np.linalg.norm(gaps(robot, placed(robot, start)))
    closed, size = close(robot, start, np.arange(robot.nv))
    assert size[0] < 1e-9
    np.testing.assert_allclose(np.linalg.norm(gaps(robot, placed(robot, closed))), size[0], atol=1e-12)
    held, left = close(robot, start, np.arange(1, robot.nv))
    assert left[0] <= before
    if robot.joints[0].nq == 1:
        assert held[0, 0] == start[0, 0]


def test_a_motion_stays_on_its_branch():
    """The leg's knee bends two ways for one crank angle; each motion keeps to the way it starts with."""
    robot = library.four_bar_leg()
    choice = choose_independent(robot)
    q = np.stack([np.linspace(0, 0.5, 60), np.linspace(0, -0.4, 60)], axis=1)
    still = np.zeros(2)
    one = sy.closed_loop.tree_state(robot, q, still, still)[0]
    flipped, left = close(robot, (choice.start + np.array([0.0, -2.5, 0.0, -1.2]))[None], choice.dependent)
    assert left[0] < 1e-9 and np.abs(flipped[0] - choice.start).max() > 0.5
    two = sy.closed_loop.tree_state(robot, q, still, still, start=flipped[0])[0]
    for path in (one, two):
        assert np.abs(np.diff(path, axis=0)).max() < 0.1, "no jumps"
    assert np.abs(one - two).max(axis=1).min() > 0.1, "two branches"
    shuffled = np.random.default_rng(0).permutation(60)
    np.testing.assert_allclose(sy.closed_loop.tree_state(robot, q[shuffled], still, still)[0], one[shuffled], atol=1e-9)


def test_mobility_and_redundant_equations():
    for make, mobility, redundant in (
        (library.five_bar, 2, 3),
        (library.four_bar_leg, 2, 3),
        (library.palletiser, 3, 9),
    ):
        found = assembled(make())
        assert (found.mobility, found.redundant) == (mobility, redundant)


def test_planar_loop_as_a_weld_is_reported():
    """A pinned joint modelled as a weld leaves the leg one freedom less, and says so."""
    robot = library.four_bar_leg()
    welded = replace(robot, loops=(replace(robot.loops[0], kind="weld"),))
    assert assembled(welded).mobility == 1
    with pytest.raises(LoopError, match=r"2 coordinates \('hip', 'crank'\) .*loops leave 1 free.*valid choice: hip"):
        sy.closed_loop.inverse_dynamics(welded, np.zeros(2), np.zeros(2), np.zeros(2))


def test_loops_that_leave_no_motion_are_refused(tmp_path):
    path = tmp_path / "held.xml"
    link = '<inertial pos="0 0 0.1" mass="1" diaginertia="0.1 0.1 0.2"/>'
    path.write_text(
        f'<mujoco><worldbody><body name="arm">{link}<joint axis="0 1 0"/></body></worldbody>'
        '<equality><weld body1="arm"/></equality></mujoco>'
    )
    with pytest.raises(LoopError, match=r"equality 0.* leave no joint free to move"):
        sy.identifiability(sy.load(path))


def test_loops_that_cannot_close_are_named_with_their_gap():
    robot = library.four_bar_leg()
    loop = robot.loops[0]
    far = replace(loop, positions=loop.positions + np.array([[0, 0, -0.6], [0, 0, 0]]))
    with pytest.raises(LoopError, match=r"Loop 'shank_pin' .*'coupler' and 'shank' a gap of 0\.\d+ m"):
        sy.closed_loop.independent(replace(robot, loops=(far,)))
    aside = replace(loop, positions=loop.positions + np.array([[0, 0.01, 0], [0, 0, 0]]))
    with pytest.raises(LoopError, match=r"a gap of 0\.01 m"):
        sy.closed_loop.independent(replace(robot, loops=(aside,)))


@pytest.mark.claim("loops.refusals", "loops that cannot close and wrong choices are explained")
def test_out_of_reach_and_wrong_choices():
    robot = library.four_bar_leg()
    zero = np.zeros(2)
    driven = {"actuated": ["hip", "knee"]}
    with pytest.raises(LoopError, match=r"cannot reach sample 1: .*hip, knee = \[0.0, -1.5\]"):
        sy.closed_loop.inverse_dynamics(robot, [[0, 0], [0, -1.5]], zero, zero, **driven)
    with pytest.raises(LoopError, match=r"\(shank_pin\) cannot be closed at sample 0: with hip, knee = \[.*\] a gap"):
        sy.closed_loop.inverse_dynamics(robot, [0, -1.5, 0.2, 0.1], zero, zero, **driven)
    with pytest.raises(LoopError, match=r"1 coordinates \('hip'\) are given .*2 free. A valid choice: hip, crank\."):
        sy.closed_loop.independent(robot, actuated=["hip"])
    with pytest.raises(OptionError, match=r"no joint 'ankle'. Its joints: hip, knee, crank, rod"):
        sy.closed_loop.independent(robot, actuated=["hip", "ankle"])
    arm = library.palletiser()
    with pytest.raises(LoopError, match=r"do not determine the motion of its .*valid choice: yaw, shoulder, crank"):
        sy.closed_loop.independent(arm, actuated=["yaw", "shoulder", "triangle"])
    with pytest.raises(OptionError, match=r"q has shape \(3,\).*\(..., 4\), all joints, or \(..., 2\).*hip, crank"):
        sy.closed_loop.inverse_dynamics(robot, np.zeros(3), zero, zero)
    with pytest.raises(ModelError, match="has no closed loops"):
        sy.closed_loop.independent(library.puma560())


def _stretched_leg(robot):
    """The knee angle at which crank and coupler are in line, hip at zero, and all joints there."""
    pin_on_shank, coupler, crank = (-0.1, -0.01), (-0.02, -0.31), (-0.08, 0.0)

    def turned(angle, x, z):
        return np.array([np.cos(angle) * x + np.sin(angle) * z, np.cos(angle) * z - np.sin(angle) * x])

    def pin(knee):
        return np.array([0.0, -0.3]) + turned(knee, *pin_on_shank)

    def heading(vector):
        return -np.arctan2(vector[1], vector[0])  # rotations about y turn z to x

    reach = np.linalg.norm(coupler) + np.linalg.norm(crank)
    knee = brentq(lambda angle: np.linalg.norm(pin(angle)) - reach, -1.5, 0.0, xtol=1e-15)
    direction = heading(pin(knee))
    crank_angle = direction - heading(crank)
    rod = direction - heading(coupler) - crank_angle
    return np.array([0.0, knee, crank_angle, rod])


def test_singular_configurations_name_the_loose_joint_and_how_close():
    """Driven at hip and knee instead, the leg's crank is loose where it is in line with the coupler."""
    robot = library.four_bar_leg()
    driven = ["hip", "knee"]
    q = _stretched_leg(robot)
    assert np.abs(gaps(robot, placed(robot, q[None]))).max() < 1e-9, "closed"
    with pytest.raises(SingularConfigurationError, match=r"hip, knee held, passive joint '(crank|rod)' can still"):
        sy.closed_loop.gamma(robot, q, actuated=driven)
    with pytest.raises(SingularConfigurationError, match=r"value \d\.\de-\d+ of the largest; \d\.\de-\d+ where"):
        sy.closed_loop.gamma(robot, q, actuated=driven)
    assert np.isfinite(sy.closed_loop.gamma(robot, q)).all(), "with its own motors it is not singular"
    near = sy.closed_loop.gamma(robot, q[:2] + np.array([0, 1e-4]), actuated=driven)
    assert np.abs(near).max() > 10
    beyond = q[:2] - np.array([0, 0.05])
    with pytest.raises(LoopError, match=r"cannot reach sample 0: .*hip, knee = .*its loops close only up to 9\d"):
        sy.closed_loop.gamma(robot, beyond, actuated=driven)
