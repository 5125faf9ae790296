"""Many fits held consistent: core and arrays give the same, for any number of bodies and bounds."""

import numpy as np
import pytest

from steelyard import native
from steelyard.errors import FitError
from steelyard.fit import pullback_form as posterior
from steelyard.fit.prior import TRIANGLES
from steelyard.fit.pullback_form import Posterior, constrained
from twins.central_paths import followed

SHAPES = [(1, 0), (0, 3), (2, 5), (9, 1), (3, 17)]  # bodies, effects: fewer and more than a register holds


def problem(bodies, effects, seed=0):
    """A posterior of a random regression, and optima without constraints, some of them far outside."""
    rng = np.random.default_rng(seed)
    p = 10 * bodies + effects
    data = rng.normal(size=(p, p)) * 10.0 ** rng.uniform(-3, 2, size=(p, 1))
    lower = np.where(rng.random(effects) < 0.7, -0.1 * rng.random(effects), -np.inf)
    model = Posterior(data, rng.normal(size=p), np.full(p, 0.7), np.zeros(p), np.eye(p), lower, bodies)
    return model, model.optimum(2.0 * rng.normal(size=(40, p)), rng.normal(size=(40, p)))


def slacks(model, z):
    """(n, slacks) eigenvalues of bodies and distances to bounds of z (n, p)."""
    y = z @ model.factors[1].T
    cut = 10 * model.bodies
    Y = np.eye(4) + np.tensordot(y[:, :cut].reshape(len(y), model.bodies, 10), TRIANGLES, axes=1)
    bounded = np.isfinite(model.lower)
    return np.hstack([np.linalg.eigvalsh(Y).reshape(len(y), -1), (y[:, cut:] - model.lower)[:, bounded]])


@pytest.mark.exhaustive(keep=3)
@pytest.mark.parametrize("instructions", native.require_core().instruction_sets())
@pytest.mark.parametrize("bodies, effects", SHAPES)
def test_the_core_and_the_arrays_agree(monkeypatch, bodies, effects, instructions):
    model, free = problem(bodies, effects)
    fits = native.require_core().constrained_fits

    class OneSet:
        @staticmethod
        def constrained_fits(*arguments):
            fits(*arguments, instructions=instructions)

    monkeypatch.setattr(native, "require_core", OneSet)
    found = constrained(model, free)
    monkeypatch.setattr(posterior, "_followed", followed)
    np.testing.assert_allclose(found, constrained(model, free), rtol=1e-9, atol=1e-9)
    assert slacks(model, free).min() < 0 < slacks(model, found).min()


@pytest.mark.parametrize("bodies, effects", SHAPES)
def test_no_feasible_direction_leads_down(bodies, effects):
    """First-order conditions: the gradient `z - free` looks along what the constraints push, never inwards."""
    model, free = problem(bodies, effects, seed=1)
    found = constrained(model, free)
    others = constrained(model, problem(bodies, effects, seed=2)[1])  # any feasible points
    way = others[None] - found[:, None]
    slope = np.einsum("np,nmp->nm", found - free, way)
    assert (slope > -0.1 * np.linalg.norm(way, axis=-1)).all()  # a tenth of a standard deviation from the optimum
    assert slacks(model, found).min() > 0


def test_threads_do_not_change_a_bit(monkeypatch):
    model, free = problem(3, 4)
    several = constrained(model, free)
    monkeypatch.setattr(native, "threads", lambda: 1)
    np.testing.assert_array_equal(several, constrained(model, free))


def test_fits_that_do_not_arrive_are_named():
    model, free = problem(2, 3)
    free[3] = np.nan
    with pytest.raises(FitError, match="constrained fits converged"):
        constrained(model, free)
