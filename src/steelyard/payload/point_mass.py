"""Point-mass discretisation (paper E, Problem 1): masses `m_i >= 0` at points inside the shape.

    min_m  ||(1 - w) (A~ P m - b)|| + ||w (A P m - b)|| + lambda ||m||,   w = tanh(3 nu / c1)

with the gravity-only model A~ where the motion is slow and the full model A where it is fast. The data enters through
two triangular factors, whatever the number of samples, and the points through `P` (10, n): a dual problem in eleven
unknowns, whatever the number of points. For given norms the objective is a sum of squares whose optimum is
`m = max(0, P^T F^T z) / a3` with z the residual, found by Newton steps on a concave dual; the norms follow by
iteration. A duality gap certifies the result; where it is not small, the cone solver takes over.
"""

from dataclasses import dataclass

import numpy as np

from steelyard.errors import OptionError
from steelyard.inertia import transform_matrix
from steelyard.numbers import ROUNDING, SAME, STEPS
from steelyard.payload.solid_shape import unit_masses
from steelyard.payload.wrench_log import WrenchLog
from steelyard.payload.wrench_problem import WrenchProblem
from steelyard.payload.wrench_sums import accumulate, eliminated, triangle

LAMBDA, C1 = 0.1, 300.0  # regularisation and dynamism of full trust, as published
DYNAMISM = (1.0, 1.0, 0.5)  # n1, n2, n3 of (4): m/s^2, rad/s^2, rad/s, as published
CONVERGED = 1e-7  # relative duality gap that ends the iteration of the norms
NORM_STEPS = 300


def dynamism(log: WrenchLog, scale=DYNAMISM) -> np.ndarray:
    """(n,) how fast each sample moves (E, 4). scale: n1, n2, n3, positive; inf leaves a term out."""
    scale = np.asarray(scale, dtype=float)
    if scale.shape != (3,) or not (scale > 0).all():
        raise OptionError(f"dynamism is n1 [m/s^2], n2 [rad/s^2] and n3 [rad/s], three positive numbers; got {scale}")
    twist, acceleration = log.motion
    parts = (log.origin_acceleration, acceleration[:, 3:], twist[:, 3:])
    return sum(np.sum(x * x, axis=1) / n**2 for x, n in zip(parts, scale, strict=True))  # type: ignore[return-value]


@dataclass(frozen=True, eq=False)
class Discretisation:
    """Problem 1 in ten numbers: `||reduced theta - reduced_b|| + ||full theta - full_b|| + weight ||m||`, `theta` from
    masses m at points (n, 3)."""

    reduced: np.ndarray
    reduced_b: np.ndarray
    full: np.ndarray
    full_b: np.ndarray
    points: np.ndarray
    weight: float


@dataclass(frozen=True, eq=False)
class PointMassFit:
    """Masses (n,) at points (n, 3), their parameters theta (10,), and the relative duality gap of the solution."""

    theta: np.ndarray
    masses: np.ndarray
    points: np.ndarray
    gap: float


def discretise(
    problem: WrenchProblem, points, *, c1: float = C1, scale=DYNAMISM, weight: float = LAMBDA
) -> Discretisation:
    """Accumulate a log for Problem 1. points: (n, 3) in m; c1: dynamism at which the full model takes 99.5 %; scale:
    constants of the dynamism."""
    if not (np.isfinite(c1) and c1 > 0 and np.isfinite(weight) and weight > 0):
        raise OptionError(f"c1 and weight are positive numbers; got {c1!r} and {weight!r}")
    w = np.tanh(3 * dynamism(problem.log, scale) / c1)
    reduced = _sums(problem, 1 - w, reduced=True)
    full = _sums(problem, w)
    return Discretisation(
        reduced[:, :10], reduced[:, 10], full[:, :10], full[:, 10], np.asarray(points, dtype=float), weight
    )


def _sums(problem: WrenchProblem, weights, *, reduced: bool = False) -> np.ndarray:
    """(11, 11) factor of weighted samples in SI units."""
    info = accumulate(problem.log, bias=problem.bias, weights=weights, reduced=reduced)
    return eliminated(info, (1.0, 1.0))


def solve_point_masses(d: Discretisation) -> PointMassFit:
    """Solve Problem 1 as published."""
    P, F1, F2, unit = _scaled(d)
    stack, right = np.concatenate([F1, F2]), np.concatenate([d.reduced_b, d.full_b])
    split, both = len(F1), np.column_stack([stack, right])
    mass = abs(d.reduced_b[0]) / max(abs(d.reduced[0, 0]), ROUNDING)  # roughly, and residuals without constraints
    norms = np.array([abs(d.reduced_b[-1]), abs(d.full_b[-1]), mass / np.sqrt(len(d.points))])
    z = np.zeros(min(11, len(right)))
    norms, m, gap = np.maximum(norms, ROUNDING * np.linalg.norm(right)), np.zeros(P.shape[1]), np.inf
    for _ in range(NORM_STEPS):
        a1, a2, a3 = 1 / norms[0], 1 / norms[1], d.weight / norms[2]
        root = np.sqrt(np.concatenate([np.full(split, a1), np.full(len(right) - split, a2)]))
        joined = triangle(root[:, None] * both)
        z, p = _squares(joined[:, :10], joined[:, 10], P, a3, z)
        m = p / a3
        r = stack @ (P @ m) - right
        new = np.array([np.linalg.norm(r[:split]), np.linalg.norm(r[split:]), np.linalg.norm(m)])
        new = np.maximum(new, ROUNDING * np.linalg.norm(right))
        gap = _norm_gap(stack, right, split, P, m, d.weight)
        if gap <= CONVERGED or np.abs(new - norms).max() <= ROUNDING * norms.max():
            break
        norms = new
    if gap > SAME:
        m, gap = _cone(stack, right, split, P, d.weight), 0.0
    return PointMassFit(unit @ (P @ m), m, d.points, gap)


def _scaled(d):
    """P and the factors in coordinates in which the cloud of points has centre zero and size one, and the way back."""
    center = d.points.mean(axis=0)
    size = float(np.sqrt(np.mean(np.sum((d.points - center) ** 2, axis=1)))) or 1.0
    P = unit_masses((d.points - center) / size)
    unit = transform_matrix(np.eye(3), center) @ np.diag([1.0] + [size] * 3 + [size**2] * 6)
    return P, d.reduced @ unit, d.full @ unit, unit


def _squares(F, right, P, a3, z):
    """`min 1/2 ||F P m - right||^2 + a3/2 ||m||^2, m >= 0` by its dual, `max right.z - 1/2 ||z||^2 - ||p||^2 / (2 a3)`
    with `p = max(0, P^T F^T z) = a3 m` and z the residual: smooth, concave, piecewise quadratic. Returns z and p.

    F: (k, 10) with k at most 11, so a Newton step is a small positive definite system whatever the number of points.
    """
    G, one = F @ P, np.eye(len(right))
    p = np.maximum(0.0, z @ G)
    value = right @ z - 0.5 * z @ z - 0.5 * (p @ p) / a3
    size = np.linalg.norm(right) or 1.0
    for _ in range(STEPS):
        gradient = right - z - G @ p / a3
        if np.linalg.norm(gradient) <= 1e-13 * size:
            break
        active = G * (p > 0) if p.any() else G
        step = np.linalg.solve(one + active @ active.T / a3, gradient)
        length, slope = 1.0, gradient @ step
        while length > 1e-9:
            trial = z + length * step
            q = np.maximum(0.0, trial @ G)
            best = right @ trial - 0.5 * trial @ trial - 0.5 * (q @ q) / a3
            if best >= value + 1e-4 * length * slope or slope < 1e-15 * abs(value):
                break
            length *= 0.5
        else:
            break
        z, p, value = trial, q, best
    return z, p


def _norm_gap(F, right, split, P, m, weight):
    """Relative duality gap of the sum of norms: `max b.u` over unit balls with `||max(0, P^T F^T u)|| <= weight`."""
    r = right - F @ (P @ m)
    parts = (slice(0, split), slice(split, None))
    value = sum(float(np.linalg.norm(r[part])) for part in parts) + weight * float(np.linalg.norm(m))
    u = np.concatenate([r[part] / (np.linalg.norm(r[part]) or 1.0) for part in parts])
    pull = float(np.linalg.norm(np.maximum(0.0, (F.T @ u) @ P)))
    return (value - float(right @ u) * min(1.0, weight / max(pull, 1e-300))) / max(value, 1e-300)


def _cone(F, right, split, P, weight):
    """Problem 1 by the cone solver: slower, and sure."""
    from steelyard.inertia.cones import minimise

    n, k = P.shape[1], len(right)
    A = np.zeros((k + n + 3 + n, n + 3))
    b = np.zeros(len(A))
    G = F @ P
    rows = [(G[:split], right[:split], 0), (G[split:], right[split:], 1), (np.eye(n), np.zeros(n), 2)]
    kinds, at = [], 0
    for block, offset, which in rows:
        A[at, n + which] = -1.0
        A[at + 1 : at + 1 + len(block), :n], b[at + 1 : at + 1 + len(block)] = -block, -offset
        kinds.append(("soc", len(block) + 1))
        at += len(block) + 1
    A[at:, :n] = -np.eye(n)
    kinds.append(("nonnegative", n))
    cost = np.concatenate([np.zeros(n), [1.0, 1.0, weight]])
    x = minimise(np.zeros((n + 3, n + 3)), cost, A, b, kinds)
    return np.maximum(x[:n], 0.0)
