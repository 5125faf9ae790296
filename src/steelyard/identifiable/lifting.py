"""Full parameters from base parameters: the nearest ones whose bodies can exist.

Parameters with given base parameters are `start + N z`, N the null space. The nearest to a prior, in units of the
mechanism, subject to `J >= LEAST S` of every body (paper B; S its size) are one cone program in z, so base parameters
are met to rounding whatever its tolerance.
"""

import numpy as np

from steelyard.errors import FitError, InertiaError
from steelyard.identifiable.mechanism import NO_COLUMN, Mechanism
from steelyard.inertia import cones, is_consistent, pseudo
from steelyard.inertia.body_set import moments
from steelyard.model.rotor import symmetric_content
from steelyard.numbers import NEGLIGIBLE, SAME
from steelyard.terms import TERMS

LEAST = 1e-5  # smallest eigenvalue of a pseudo-inertia over the body's size, and of a size over the largest one
TOLERANCES = (*cones.FINE, *cones.COARSE[2:])  # the last lies well below LEAST
UNIT = cones.triangle(np.eye(4))
ADVICE = (
    "Base parameters of noisy data seldom belong to bodies exactly: sy.fit.consistent finds the nearest that do. "
    "method='linear' lifts without this condition."
)


def nearest_consistent(mechanism: Mechanism, null_space, start, prior) -> np.ndarray:
    """Parameters (p,) of bodies that can exist, nearest to a prior (p,), with the base parameters of `start` (p,), the
    linear lift. null_space: (p, d). Raises FitError: no bodies that can exist have these base parameters, or none were
    found. Source: paper B, Theorem 3."""
    nodes = [(node.name, node.columns, node.content) for node in mechanism.nodes if len(node.columns)]
    bodies = nodes + [(spin.name, spin.columns, symmetric_content(spin.axis)) for spin in mechanism.spins]
    Q = np.linalg.qr(null_space / mechanism.scale[:, None])[0]
    moves, d = mechanism.scale[:, None] * Q, Q.shape[1]
    rows, slack = _relative(mechanism, bodies, moves, start, prior)
    of_terms = (mechanism.term_columns[term.name] for term in TERMS.values() if term.nonnegative)
    columns = sorted({int(c) for each in of_terms for c in each if c != NO_COLUMN})
    free = [c for c in columns if np.abs(Q[c]).max(initial=0.0) > NEGLIGIBLE]
    kinds = [("psd", 4)] * len(bodies) + [("nonnegative", len(free))] * bool(free)
    b = np.append(slack - LEAST * np.tile(UNIT, len(bodies)), start[free])
    if not bodies or cones.smallest_eigenvalues(b, kinds).min() >= 0:
        return start
    size = max(np.linalg.norm(theta / mechanism.scale) for theta in (start, prior)) or 1.0  # z is about as long
    A = size * np.concatenate([-rows, -moves[free]])
    try:
        if not d:
            raise InertiaError("nothing is free")
        z = cones.minimise(np.eye(d), np.zeros(d), A, b, kinds, tolerances=TOLERANCES)
    except InertiaError as error:  # a solver may stop before it has shown that there are none
        raise FitError(_impossible([name for name, *_ in bodies], rows, slack, error)) from error
    found = start + size * (moves @ z)
    if not all(is_consistent(content @ found[at]) for _, at, content in bodies):
        raise FitError(f"The consistent lift failed its own check. {ADVICE}")
    return found


def _relative(mechanism: Mechanism, bodies, moves, start, prior) -> tuple[np.ndarray, np.ndarray]:
    """Triangles of pseudo-inertias in units of their bodies' sizes: per move (10 b, d), and at the start (10 b,).

    A size is what the prior and the start state together: they can differ by orders of magnitude, and either can be
    the body's.
    """
    T = np.diag([1 / mechanism.length] * 3 + [1.0])
    sizes = sum(_size(T, [content @ theta[at] for _, at, content in bodies]) for theta in (prior, start))
    values, axes = np.linalg.eigh(sizes)
    values = np.maximum(values, LEAST * (values.max(initial=0.0) or 1.0))
    to_unit = np.swapaxes(axes / np.sqrt(values)[:, None], 1, 2) @ T
    units = np.swapaxes(cones.triangle(to_unit[:, None] @ moments() @ np.swapaxes(to_unit, 1, 2)[:, None]), 1, 2)
    parts = [
        (unit @ content @ moves[at], unit @ content @ start[at])
        for unit, (_, at, content) in zip(units, bodies, strict=True)
    ]
    return np.concatenate([each for each, _ in parts]), np.concatenate([each for _, each in parts])


def _size(T, thetas) -> np.ndarray:
    """(b, 4, 4) pseudo-inertias of any numbers (10,), made positive and no thinner than real links."""
    values, axes = np.linalg.eigh(T @ pseudo.to_matrix(np.array(thetas)) @ T)
    values = np.abs(values)
    values = np.maximum(values, 1e-3 * values.max(axis=1, keepdims=True))  # thinner than any real link
    return axes * values[:, None] @ np.swapaxes(axes, 1, 2)


def _impossible(names, rows, slack, error: InertiaError) -> str:
    """What to say where no bodies have the base parameters: how near any come. error: of the search for them."""
    d, kinds = rows.shape[1], [("psd", 4)] * len(names)
    try:
        deepest = cones.minimise(
            np.diag(np.append(np.full(d, 1e-9), 0.0)),
            np.append(np.zeros(d), -1.0),
            np.column_stack([np.append(-rows, np.zeros((1, d)), axis=0), np.append(np.tile(UNIT, len(names)), 1.0)]),
            np.append(slack, 1.0),
            [*kinds, ("nonnegative", 1)],
            tolerances=cones.COARSE,
        )
    except cones.NoDigits:
        return f"No bodies with volume have these base parameters. {ADVICE}"
    depth = cones.smallest_eigenvalues(slack + rows @ deepest[:d], kinds)
    worst = names[int(np.argmin(depth))]
    if depth.min() > LEAST:
        return f"No consistent lift was found: {error}. {ADVICE}"
    if depth.min() > -SAME:
        return f"Only bodies without mass or volume have these base parameters ({worst} for one). {ADVICE}"
    return (
        f"No bodies that can exist have these base parameters: at best the pseudo-inertia of {worst} has an eigenvalue "
        f"of {depth.min():.2g} of its size. {ADVICE}"
    )
