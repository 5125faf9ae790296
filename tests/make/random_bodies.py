"""Random bodies built from point masses, so that nothing under test takes part, and small comparison tools."""

import numpy as np

SHAPES = ((), (1,), (3, 1, 2))


def clouds(seed, shape=(), *, points=12):
    """Point masses (..., n) in kg and places (..., n, 3) in m."""
    rng = np.random.default_rng(seed)
    places = 0.3 * rng.normal(size=(*shape, points, 3)) + 0.5 * rng.normal(size=(*shape, 1, 3))
    return rng.uniform(0.1, 2.0, size=(*shape, points)), places


def parameters(masses, places):
    """theta (..., 10) of point masses, term by term: `I = sum m (|x|^2 1 - x x^T)`."""
    x, y, z = np.moveaxis(places, -1, 0)
    terms = (np.ones_like(x), x, y, z, y * y + z * z, -x * y, x * x + z * z, -x * z, -y * z, x * x + y * y)
    return np.stack([(masses * term).sum(axis=-1) for term in terms], axis=-1)


def bodies(seed, shape=()):
    """Consistent theta (..., 10), well inside the consistent set."""
    return parameters(*clouds(seed, shape))


def rotations(seed, shape=()):
    """Proper rotation matrices (..., 3, 3) by QR."""
    q, r = np.linalg.qr(np.random.default_rng(seed).normal(size=(*shape, 3, 3)))
    q = q * np.sign(np.diagonal(r, axis1=-2, axis2=-1))[..., None, :]
    return q * np.sign(np.linalg.det(q))[..., None, None]


def assert_close(found, expected, tolerance):
    """Largest error relative to the largest entry of `expected` (at least 1)."""
    found, expected = np.asarray(found), np.asarray(expected)
    assert found.shape == expected.shape
    assert np.max(np.abs(found - expected), initial=0.0) <= tolerance * max(1.0, np.max(np.abs(expected), initial=0.0))


def central_difference(function, x, step=1e-6):
    """Derivative of `function` along every entry of the last axis of x, appended as a last axis."""
    steps = step * np.eye(x.shape[-1])
    return np.stack([(function(x + e) - function(x - e)) / (2 * step) for e in steps], axis=-1)
