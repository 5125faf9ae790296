"""A published regressor problem without a robot: arrays and names alone, all kinds of knowledge."""

import numpy as np
import pytest

from problems import random_log, scattered, with_friction
from steelyard import fit
from steelyard.dynamics import inverse_dynamics, regressor
from steelyard.errors import FitError
from steelyard.inertia import Ellipsoid, covariance_ellipsoid
from steelyard.information import Information, accumulate
from steelyard.job import FRICTION
from steelyard.model import library
from steelyard.terms import COULOMB_WIDTH, ParameterLayout


@pytest.fixture(scope="module")
def problem():
    """Arrays Y, tau with their layout, model, truth, and the same data as an Information with a robot.

    The model states no friction: neither do bare arrays.
    """
    rng = np.random.default_rng(0)
    model = library.cheetah3_leg().with_joint_properties(damping=np.zeros(3), frictionloss=np.zeros(3))
    truth = with_friction(model.with_inertias(scattered(model.inertias, rng)), rng)
    bare = truth.with_joint_properties(**{k: np.zeros(truth.nv) for k in ("armature", "damping", "frictionloss")})
    log = random_log(truth, rng, samples=60, noise=0.4, torque=lambda q, v, a: inverse_dynamics(bare, q, v, a))
    each = np.eye(3)
    friction = [column[:, :, None] * each for column in (log.v, np.tanh(log.v / COULOMB_WIDTH), np.ones_like(log.v))]
    Y = np.concatenate([regressor(model, log.q, log.v, log.a), *friction], axis=2)
    layout = ParameterLayout(("a", "b", "c"), ("j1", "j2", "j3"), (0, 1, 2), FRICTION)
    return Y, log.tau, layout, model, truth, accumulate(model, log, engine="numpy")


@pytest.mark.parametrize("sums", ["gram", "qr"])
def test_equals_the_fit_with_a_robot(problem, sums):
    """Two paths to the base parameters, structural and from the numbers; one optimum."""
    Y, tau, layout, model, truth, info = problem
    ellipsoids = [Ellipsoid(e.center, 4.0 * e.Q) for e in map(covariance_ellipsoid, truth.inertias)]
    mass = float(truth.inertias[1, 0])
    found = fit.consistent(
        Information.from_arrays(Y, tau, layout=layout, sums=sums),
        prior=model.inertias,
        within=dict(zip(layout.body_names, ellipsoids, strict=True)),
        masses={"b": mass},
        bounds={"viscous": (0.2, 0.5), "j1.offset": (0, 0)},
    )
    expected = fit.consistent(
        info,
        within=dict(zip(model.body_names, ellipsoids, strict=True)),
        masses={model.body_names[1]: mass},
        bounds={"viscous": (0.2, 0.5), f"{model.dof_names[0]}.offset": (0, 0)},
    )
    assert found.certificate.duality_gap < 1e-8
    assert found.binding
    assert found.robot is None
    assert found.theta[1, 0] == pytest.approx(mass, rel=1e-9)
    assert found.parameters[layout.names.index("j1.offset")] == pytest.approx(0, abs=1e-9)
    np.testing.assert_allclose(found.noise, expected.noise, rtol=1e-6)
    assert np.abs(found.parameters - expected.parameters).max() < 1e-6 * np.abs(expected.parameters).max()


def test_it_needs_a_prior(problem):
    Y, tau, layout, *_ = problem
    with pytest.raises(FitError, match="needs a prior"):
        fit.consistent(Information.from_arrays(Y, tau, layout=layout))
    with pytest.raises(FitError, match=r"shape \(3, 10\)"):
        fit.consistent(Information.from_arrays(Y, tau, layout=layout), prior=np.ones((2, 10)))


def test_one_row_and_no_friction(problem):
    """Bodies alone, rows of a single kind: the smallest raw problem."""
    Y, tau, _, model, *_ = problem
    layout = ParameterLayout(("a", "b", "c"))
    info = Information.from_arrays(Y[:, 1, :30], tau[:, 1], layout=layout)
    found = fit.consistent(info, prior=model.inertias)
    assert found.physical
    assert found.certificate.duality_gap < 1e-8
    assert found.group_names == ("row0",)
