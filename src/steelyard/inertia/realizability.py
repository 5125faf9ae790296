"""Can ten numbers belong to a body, and to one inside an ellipsoid (paper B)? With a certificate.

The certificate is four point masses inside the ellipsoid, the constructive half of Theorem 4. In the coordinates of
the unit ball, `J = X X^T` for many `X`; a column `[w y; w]` of X is a mass `w^2` at y. With `Q = diag(-1, -1, -1, 1)`
it lies inside when `x^T Q x = w^2 (1 - |y|^2) >= 0`, and these four numbers sum to `tr(J Q) >= 0`. Rotating two columns
into each other changes neither `J` nor the sum, and can make the smaller of the two equal to the mean; three such
rotations make all four equal, hence none negative.
"""

import numpy as np

from steelyard.errors import InertiaError
from steelyard.inertia import batches, pseudo
from steelyard.inertia.ellipsoid import Ellipsoid
from steelyard.inertia.sets import Consistent, EllipsoidRealizable, UnionRealizable

BALL = np.array([-1.0, -1.0, -1.0, 1.0])  # diagonal of Q for the unit ball


def is_consistent(theta):
    """Whether some positive mass distribution with volume has these parameters: `J > 0` (B, Theorem 3).

    Args:
        theta: (..., 10) inertial parameters, kg, kg m, kg m^2.

    Returns:
        (...) bool.

    Raises:
        InertiaError: theta has another shape or numbers that are not finite.

    Example:
        >>> import numpy as np
        >>> import steelyard as sy
        >>> theta = sy.inertia.from_com_inertia(2.0, np.zeros(3), np.diag([0.01, 0.02, 0.04]))
        >>> sy.inertia.is_consistent(theta)  # no body has a moment above the sum of the other two
        np.False_
    """
    return Consistent().contains(theta)


def is_realizable(theta, ellipsoid):
    """Whether a mass distribution inside an ellipsoid has these parameters (B, Theorem 4).

    Args:
        theta: (..., 10) inertial parameters, kg, kg m, kg m^2.
        ellipsoid: an `Ellipsoid`, or a sequence of them whose union is meant (B, Corollary 2).

    Returns:
        (...) bool.

    Raises:
        InertiaError: theta has another shape or numbers that are not finite, or the sequence is empty.

    Example:
        >>> import numpy as np
        >>> import steelyard as sy
        >>> ball = sy.inertia.Ellipsoid.from_semi_axes([0.1, 0.1, 0.1])
        >>> near, far = ([c, 0.0, 0.0] for c in (0.02, 0.2))
        >>> theta = sy.inertia.from_com_inertia(np.ones(2), np.array([near, far]), 0.001 * np.eye(3))
        >>> sy.inertia.is_realizable(theta, ball)
        array([ True, False])
    """
    if isinstance(ellipsoid, Ellipsoid):
        return EllipsoidRealizable(ellipsoid).contains(theta)
    return UnionRealizable(tuple(ellipsoid)).contains(theta)


def four_point_masses(theta, ellipsoid):
    """A certificate that theta is realizable on the ellipsoid: four masses inside it with exactly these parameters.

    Args:
        theta: (..., 10), realizable on `ellipsoid` (flat and point bodies included).
        ellipsoid: the `Ellipsoid`.

    Returns:
        Masses (..., 4) in kg, not negative, and points (..., 4, 3) in m; `theta = sum_k masses_k [1, p_k, ...]` to
        about 1e-14 of the body's size. A mass may be zero; its point is the centre.

    Raises:
        InertiaError: not realizable, with the size of the violation.
    """
    theta = np.asarray(batches.as_vector(theta, "theta"), dtype=float)
    volume = EllipsoidRealizable(ellipsoid)
    violation = volume.violation(theta)
    index = batches.first_false((violation <= 1e-10) & (theta[..., 0] > 0))
    if index is not None:
        raise InertiaError(
            f"theta of {batches.place(index, theta.shape[:-1])} is not realizable on the ellipsoid (violation "
            f"{violation[index]:.3g} of its size, mass {theta[index][0]:.6g} kg), so no masses inside it have these "
            "parameters. Enlarge the ellipsoid, or project theta onto EllipsoidRealizable(ellipsoid)"
        )
    T = ellipsoid.to_ball
    values, vectors = np.linalg.eigh(T @ pseudo.to_matrix(theta) @ T.T)
    X = vectors * np.sqrt(np.maximum(values, 0.0))[..., None, :]  # J = X X^T, for J semidefinite up to rounding
    target = ((X * X).sum(axis=-1) @ BALL)[..., None] / 4
    for _ in range(3):
        X = _equalise(X, target)
    return _masses(X, ellipsoid)


def _equalise(X, target):
    """Rotate the columns with the smallest and largest `x^T Q x` so that the first one's equals `target` (..., 1)."""
    level = ((X * X) * BALL[:, None]).sum(axis=-2)
    low, high = level.argmin(axis=-1)[..., None], level.argmax(axis=-1)[..., None]
    x, y = (np.take_along_axis(X, k[..., None, :], axis=-1)[..., 0] for k in (low, high))
    missing, spare = target - np.take_along_axis(level, low, -1), np.take_along_axis(level, high, -1) - target
    missing, spare = np.maximum(missing, 0.0), np.maximum(spare, 0.0)
    product = (x * y) @ BALL
    product = product[..., None]
    # tangent t of the rotation solves spare t^2 + 2 product t - missing = 0; the smaller root, without cancellation
    denominator = product + np.copysign(np.sqrt(product**2 + spare * missing), product)
    t = np.divide(missing, denominator, out=np.zeros_like(missing), where=denominator != 0)
    c = 1 / np.sqrt(1 + t * t)
    rotated = X.copy()
    np.put_along_axis(rotated, low[..., None, :], (c * (x + t * y))[..., None], axis=-1)
    np.put_along_axis(rotated, high[..., None, :], (c * (y - t * x))[..., None], axis=-1)
    # equal columns mean nothing to rotate, and low == high would write one of them twice
    return np.where((low == high)[..., None], X, rotated)


def _masses(X, ellipsoid):
    """Masses and points of the columns `[w y; w]`; rounding is not allowed to push a point out of the ball."""
    w = X[..., 3, :]
    empty = np.abs(w) <= np.finfo(float).eps * np.abs(X).max(axis=(-1, -2))[..., None]
    y = np.where(empty[..., None, :], 0.0, X[..., :3, :] / np.where(empty, 1.0, w)[..., None, :])
    y = y / np.maximum(1.0, np.linalg.norm(y, axis=-2, keepdims=True))
    back = np.linalg.inv(ellipsoid.to_ball)
    points = np.swapaxes(back[:3, :3] @ y, -1, -2) + back[:3, 3]
    return np.where(empty, 0.0, w**2), points
