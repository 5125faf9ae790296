"""The nearest body of a convex set, by Newton's method along the central path.

Minimises `tau f(theta) + barrier` for growing `tau`, with `f` the squared distance or the entropic divergence and the logarithmic barrier of the
cones. Both are self-concordant, so damped Newton steps stay inside and converge, and at the end `f` is within `(barrier degree) / tau` of
the minimum.
"""

import numpy as np

from steelyard.errors import InertiaError, choices
from steelyard.inertia import barrier, divergence, interior, pseudo

GROWTH = 10.0  # of tau between centrings
GAP = 1e-13  # of f at the end; f is of order one
NEWTON_STEPS = 60  # in one centring; five to ten are typical
CENTERED = 1e-9  # Newton decrement squared that ends a centring
LEAST_CLIP = 1e-12  # of the eigenvalues of an inconsistent reference, should the set have eps = 0
SHALLOW = 1e-10  # depth of the deepest point below which a set counts as empty inside


def project_onto(rows, frame, theta, metric, eps):
    """The body nearest to theta (10,) in the set `rows`; see `BodySet.project`. frame: (4, 4), metric: name, eps: unitless."""
    scale, length = _scales(frame, theta)
    units = scale * np.array([1.0] + [length] * 3 + [length**2] * 6)
    objective = _objective(metric, theta, frame, eps, units)
    A, b = np.column_stack([rows.A_theta * units, rows.A_aux * scale]), rows.b
    start, N = _affine_hull(A, b, rows)
    A, b, kinds = _inequalities(A @ N, b - A @ start, rows)
    y, depth = interior.deepest_point(A, b, kinds)
    if depth <= SHALLOW:
        raise InertiaError(
            f"the set has no interior to project into (its deepest point is at {depth:.2g}): its constraints contradict each other or leave "
            "no body with volume; loosen bounds, or give more points or larger ellipsoids"
        )
    groups = barrier.groups(A, kinds)

    top = N[:10]

    def derivatives(y, tau):
        """Gradient and Hessian of `tau f + barrier` in y."""
        gradient, hessian = objective(start[:10] + top @ y)
        wall_gradient, wall_hessian = barrier.derivatives(groups, A, b - A @ y)
        return tau * top.T @ gradient + wall_gradient, tau * top.T @ hessian @ top + wall_hessian

    tau = _first_weight(derivatives, y)
    degree = barrier.degree(kinds)
    while degree > GAP * tau:
        y = _center(derivatives, y, tau)
        tau *= GROWTH
    return units * (start[:10] + top @ y)


def _scales(frame, theta):
    """Mass in kg and length in m by which the variables are scaled."""
    size = np.abs(frame @ pseudo.to_matrix(theta) @ frame.T).max()
    return (size if size > 0 else 1.0), np.abs(np.linalg.det(frame[:3, :3])) ** (-1 / 3)


def _objective(metric, theta, frame, eps, units):
    """Function z -> gradient (10,), Hessian (10, 10) of the distance of `units z` to theta."""
    if metric == "euclidean":
        weight = (units / units.max()) ** 2
        target = theta / units

        def squares(z):
            return weight * (z - target), np.diag(weight)

        return squares
    if metric != "entropic":
        raise InertiaError(f"unknown metric {metric!r} for a projection; expected one of {choices(['entropic', 'euclidean'])}")
    reference = raise_eigenvalues(theta, frame, max(eps, LEAST_CLIP))

    def entropic(z):
        body = units * z
        hessian = divergence.pullback_metric(body) * np.outer(units, units)
        return units * divergence.entropic_gradient(body, reference), hessian

    return entropic


def raise_eigenvalues(theta, frame, floor):
    """The nearest body whose pseudo-inertia in `frame` has eigenvalues of at least `floor` times its largest entry. theta: (10,)."""
    J = frame @ pseudo.to_matrix(theta) @ frame.T
    values, vectors = np.linalg.eigh(J)
    size = np.abs(J).max()
    least = floor * (size if size > 0 else 1.0)
    if values[0] >= least:
        return theta
    back = np.linalg.inv(frame)
    return pseudo.to_parameters(back @ (vectors * np.maximum(values, least)) @ vectors.T @ back.T)


def _affine_hull(A, b, rows):
    """A point of the equalities and an orthonormal basis of their directions."""
    equal = np.concatenate([np.full(block.stop - block.start, kind == "zero") for kind, _, block in rows.blocks()])
    if not equal.any():
        return np.zeros(A.shape[1]), np.eye(A.shape[1])
    U, s, Vt = np.linalg.svd(A[equal])
    rank = int((s > 1e-12 * s[0]).sum())
    point = Vt[:rank].T @ ((U.T @ b[equal])[:rank] / s[:rank])
    if np.abs(A[equal] @ point - b[equal]).max() > 1e-9 * max(1.0, np.abs(b).max()):
        raise InertiaError("the equalities of the set contradict each other; check fixed parameters and the points that carry mass")
    return point, Vt[rank:].T


def _inequalities(A, b, rows):
    """The rows and cones that are not equalities."""
    kept = [(kind, n, block) for kind, n, block in rows.blocks() if kind != "zero"]
    index = np.concatenate([np.arange(block.start, block.stop) for _, _, block in kept])
    return A[index], b[index], [(kind, n) for kind, n, _ in kept]


def _first_weight(derivatives, y):
    """The tau at which objective and barrier pull equally hard at y: the path starts where the objective is no surprise."""
    wall, curvature = derivatives(y, 0.0)
    pull = derivatives(y, 1.0)[0] - wall
    return 1 / (1 + np.sqrt(pull @ _solve(curvature, pull)))


def _solve(hessian, gradient):
    """Newton system, scaled to a unit diagonal."""
    scale = 1 / np.sqrt(np.diag(hessian))
    return scale * np.linalg.solve(hessian * np.outer(scale, scale), scale * gradient)


def _center(derivatives, y, tau):
    """Damped Newton's method to the point of the central path at tau, from a strictly feasible y."""
    for _ in range(NEWTON_STEPS):
        gradient, hessian = derivatives(y, tau)
        step = -_solve(hessian, gradient)
        decrement = np.sqrt(max(-gradient @ step, 0.0))
        y = y + step / (1.0 if decrement < 0.25 else 1.0 + decrement)
        if decrement**2 <= CENTERED:
            break
    return y
