"""The nearest body of a convex set, by Newton's method along the central path.

Minimises `tau f + barrier` for growing `tau`, with `f` the squared distance or the entropic divergence and the logarithmic barrier of the
cones. Both are self-concordant, so damped Newton steps stay inside and converge, and at the end `f` is within `(barrier degree) / tau` of
the minimum. The entropic divergence is computed in coordinates that make the reference body the identity, `tr W - log det W`, which
keeps thin bodies (pseudo-inertias of condition 1e8 and more) well scaled.
"""

import numpy as np

from steelyard.errors import InertiaError, choices
from steelyard.inertia import barrier, cones, interior, pseudo

GROWTH = 10.0  # of tau between centrings
GAP = 1e-13  # of f at the end; f is of order one
NEWTON_STEPS = 100  # in one centring; five to ten are typical
CENTERED = 1e-9  # Newton decrement squared that ends a centring
LEAST_CLIP = 1e-12  # of the eigenvalues of an inconsistent reference, should the set have eps = 0
SHALLOW = 1e-10  # depth of the deepest point below which a set counts as empty inside


def project_onto(rows, frame, theta, metric, eps):
    """The body nearest to theta (10,) in the set `rows`; see `BodySet.project`. frame: (4, 4), metric: name, eps: unitless."""
    if metric == "euclidean":
        basis, objective = _squares(theta, frame)
    elif metric == "entropic":
        basis, objective = _divergence(theta, frame, max(eps, LEAST_CLIP))
    else:
        raise InertiaError(f"unknown metric {metric!r} for a projection; expected one of {choices(['entropic', 'euclidean'])}")
    x = _deepest(rows, frame, theta)
    aux_scale = _units(frame, theta)[0] / np.maximum(np.linalg.norm(rows.A_aux, axis=0), 1e-300)
    A = np.column_stack([rows.A_theta @ basis, rows.A_aux * aux_scale])
    x = np.concatenate([np.linalg.solve(basis, x[:10]), x[10:] / aux_scale])
    x, free = _equality_directions(A, rows, x)
    kept, kinds = _inequalities(rows)
    A, b = A[kept], rows.b[kept]
    groups = barrier.groups(A @ free, kinds)

    def derivatives(x, tau):
        """Gradient and Hessian of `tau f + barrier` along the free directions."""
        gradient, hessian = objective(x[:10])
        wall_gradient, wall_hessian = barrier.derivatives(groups, b - A @ x)
        return tau * free[:10].T @ gradient + wall_gradient, tau * free[:10].T @ hessian @ free[:10] + wall_hessian

    tau, degree = 1.0, barrier.degree(kinds)
    while degree > GAP * tau:
        x = _center(derivatives, x, free, tau)
        tau *= GROWTH
    return basis @ x[:10]


def _units(frame, theta):
    """Scale of each parameter (10,): the body's size in kg and powers of the frame's length in m."""
    size = np.abs(frame @ pseudo.to_matrix(theta) @ frame.T).max()
    length = np.abs(np.linalg.det(frame[:3, :3])) ** (-1 / 3)
    return (size if size > 0 else 1.0) * np.array([1.0] + [length] * 3 + [length**2] * 6)


def _squares(theta, frame):
    """Basis (10, 10) and the derivatives of `1/2 ||basis z - theta||^2`, scaled to order one."""
    units = _units(frame, theta)
    weight, target = (units / units.max()) ** 2, theta / units
    return np.diag(units), lambda z: (weight * (z - target), np.diag(weight))


def _divergence(theta, frame, floor):
    """Basis (10, 10) in which z is the triangle of `W = J0^{-1/2} J J0^{-1/2}`, and the derivatives of `tr W - log det W`.

    J0 is the pseudo-inertia of theta with eigenvalues, in the frame, of at least `floor` times its largest entry there.
    """
    J = frame @ pseudo.to_matrix(theta) @ frame.T
    values, vectors = np.linalg.eigh(J)
    values = np.maximum(values, floor * (np.abs(J).max() or 1.0))
    root = np.linalg.inv(frame) @ (vectors * np.sqrt(values))
    basis = pseudo.to_parameters(root @ cones.from_triangle(np.eye(10), 4) @ root.T).T

    def derivatives(z):
        gradient, hessian = barrier.definite(z[None], 4)
        return cones.triangle(np.eye(4)) + gradient[0], hessian[0]

    return basis, derivatives


def _deepest(rows, frame, theta):
    """The deepest point (10 + aux,) of the set, scaled to the size of theta."""
    units = _units(frame, theta)
    aux_scale = np.full(rows.aux, units[0])
    x, depth = interior.deepest_point(np.column_stack([rows.A_theta * units, rows.A_aux * aux_scale]) / units[0], rows.b / units[0], rows.cones)
    if depth <= SHALLOW:
        raise InertiaError(
            f"the set has no interior to project into (its deepest point is at {depth:.2g}): its constraints contradict each other or leave "
            "no body with volume; loosen bounds, or give more points or larger ellipsoids"
        )
    return x * np.concatenate([units, aux_scale])


def _equality_directions(A, rows, x):
    """x moved onto the equalities exactly, and an orthonormal basis of the directions they leave free."""
    equal = np.concatenate([np.full(block.stop - block.start, kind == "zero") for kind, _, block in rows.blocks()])
    if not equal.any():
        return x, np.eye(A.shape[1])
    U, s, Vt = np.linalg.svd(A[equal])
    rank = int((s > 1e-12 * s[0]).sum())
    residual = U[:, :rank].T @ (rows.b[equal] - A[equal] @ x)
    return x + Vt[:rank].T @ (residual / s[:rank]), Vt[rank:].T


def _inequalities(rows):
    """Row indices and cones that are not equalities."""
    kept = [(kind, n, block) for kind, n, block in rows.blocks() if kind != "zero"]
    return np.concatenate([np.arange(block.start, block.stop) for _, _, block in kept]), [(kind, n) for kind, n, _ in kept]


def _solve(hessian, gradient):
    """Newton system, scaled to a unit diagonal."""
    scale = 1 / np.sqrt(np.diag(hessian))
    return scale * np.linalg.solve(hessian * np.outer(scale, scale), scale * gradient)


def _center(derivatives, x, free, tau):
    """Damped Newton's method to the point of the central path at tau, from a strictly feasible x."""
    previous = np.inf
    for _ in range(NEWTON_STEPS):
        gradient, hessian = derivatives(x, tau)
        step = -_solve(hessian, gradient)
        decrement = np.sqrt(max(-gradient @ step, 0.0))
        close = decrement < 0.25  # from here on each step squares the decrement, until rounding says otherwise
        if close and decrement > 0.5 * previous:
            break
        x = x + free @ step / (1.0 if close else 1.0 + decrement)
        if decrement**2 <= CENTERED:
            break
        previous = decrement
    return x
