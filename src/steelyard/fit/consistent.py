"""Physically consistent least squares, to global optimality (paper B, (25); Lee, Wensing and Park 2020 for the metric).

Each body is written around its prior pseudo-inertia, `J = L (1 + Y) L^T` with `J0 = L L^T`. In the ten numbers `y =
svec(Y)` the constant pullback distance is `1/2 ||y||^2`, physical consistency is `1 + Y >= eps`, and both are free of
units: the cone program stays well scaled for a gripper finger and for a torso. Only the triangular factor of the data
enters, so its size does not depend on the log.
"""

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from steelyard.errors import FitError, OptionError, choices
from steelyard.fit.estimate import Certificate, Estimate, Status, identified_robot
from steelyard.fit.least_squares import model_parameters
from steelyard.fit.prior import consistent_prior
from steelyard.fit.weakness import weak_directions
from steelyard.fit.whitening import require_enough_samples, weigh_by_noise, whiten
from steelyard.inertia import pseudo
from steelyard.information import Information

EPS = 1e-5  # smallest allowed eigenvalue of a pseudo-inertia, relative to the prior's
SAFETY = 1e-3  # share of EPS kept clear of the bound, so that solver tolerance cannot cross it
ACCURATE = 1e-6  # relative duality gap: parameters are then right to far below their standard deviations
ROUNDING = 1e-9  # N m s/rad, N m or kg m^2: what a signed value may miss its bound by
CHEAP = 0.05  # cost, relative to a feasible point's, below which the problem is scaled anew
RESCALINGS = 3
REGULARIZERS = ("pullback", "euclidean")
SIGNED = ("viscous", "coulomb", "armature")  # terms that cannot be negative
# Prior standard deviation of friction and armature, in RMS torques of the joint at unit speed or acceleration: wide
# enough to leave alone what the data shows, finite so that a joint that never moved keeps the model's values.
EFFECT_SPREAD = 10.0
ACCURATE = 1e-6  # relative duality gap: parameters are then right to far below their standard deviations


def consistent(info: Information, *, prior=None, regularizer: str = "pullback", weight: float = 1.0) -> Estimate:
    """All links physically consistent (`J >= eps J0`), friction and armature non-negative, nearest to the data.

    prior: a Robot or (nb, 10) array, the model's own values by default; repaired where it is not consistent, and
    noted. Minimises `sum_j ||residual_j / noise_j||^2 + weight * distance(theta, prior)`: with weight 1 the prior
    counts like one standard deviation for a relative change of one in every second moment. regularizer: "pullback"
    (coordinate invariant) or "euclidean" (on theta in SI units). Raises FitError when the problem is ill-posed or no
    verified solution is found.
    """
    if regularizer not in REGULARIZERS:
        raise OptionError(f"Unknown regularizer {regularizer!r}. Choose from {choices(REGULARIZERS)}.")
    if not (np.isfinite(weight) and weight > 0):
        raise OptionError(f"weight is a positive number (it decides what the data leaves open); got {weight!r}.")
    require_enough_samples(info)
    body_count = len(info.layout.body_names)
    theta0, notes = consistent_prior(prior, info.robot, body_count)
    weighted, noise = weigh_by_noise(info)
    problem = whiten(weighted)
    program = _program(problem, info, theta0, regularizer, weight)
    y, gap, accurate = _solve(program)
    parameters = program.start + program.directions @ y
    signed = info.layout.signed(SIGNED)
    values = parameters[signed]
    parameters[signed] = np.where((values < 0) & (values > -ROUNDING), 0.0, values)  # the solver's rounding
    certificate = _certificate(info, theta0, parameters, gap)
    weakest = weak_directions(problem, info.layout, info.basis)
    status = Status.WEAK_EXCITATION if weakest else Status.OK
    return Estimate(
        method=f"physically consistent least squares ({regularizer} prior, weight {weight:g})",
        layout=info.layout,
        basis=info.basis,
        parameters=parameters,
        covariance=program.base_covariance(info.basis),
        noise=noise,
        group_names=info.group_names,
        samples=info.n,
        status=status if accurate else Status.INACCURATE,
        coulomb_width=info.coulomb_width,
        prior=info.robot,
        robot=identified_robot(info.robot, info.layout, parameters),
        physical=True,
        certificate=certificate,
        weakest=weakest,
        notes=notes,
    )


@dataclass(frozen=True, eq=False)
class _Program:
    """`min ||A y - b||` over `y`, whose first ten numbers a body are svec(Y), then effects in units of their column.

    Parameters are `start + directions @ y`; lower: (m,) bounds of the effects in the same units, -inf where free.
    """

    A: np.ndarray
    b: np.ndarray
    start: np.ndarray
    directions: np.ndarray
    lower: np.ndarray
    body_count: int
    penalty: np.ndarray

    @cached_property
    def factor(self) -> np.ndarray:
        """Triangular factor of `[A b]` with as many rows as unknowns: all that the minimisation needs, nothing lost."""
        return np.linalg.qr(np.column_stack([self.A, self.b]))[1][: len(self.start)]

    def base_covariance(self, basis) -> np.ndarray:
        """(r, r) covariance of the base parameters from data and prior, constraints left aside."""
        spread = basis.regrouping @ self.directions @ np.linalg.inv(self.factor[:, :-1])
        return spread @ spread.T


def _program(problem, info, theta0, regularizer, weight) -> _Program:
    layout, regrouping = info.layout, info.basis.regrouping
    start = np.zeros(layout.size) if info.robot is None else model_parameters(info.robot, layout)
    start[layout.inertial] = theta0.ravel()
    directions = np.zeros((layout.size, layout.size))
    for i, theta in enumerate(theta0):
        block = layout.body(i)
        directions[block, block] = _congruence(theta)
    columns = problem.R @ regrouping
    effects = np.arange(layout.inertial.stop, layout.size)
    pull = np.sqrt(weight) / (EFFECT_SPREAD * _torque_scale(info))
    size = np.hypot(np.linalg.norm(columns[:, effects], axis=0), pull)
    directions[effects, effects] = 1.0 / size
    penalty = np.eye(layout.size)
    if regularizer == "euclidean":
        penalty[layout.inertial, layout.inertial] = directions[layout.inertial, layout.inertial]
    penalty[layout.inertial] *= np.sqrt(weight / 2)
    penalty[effects, effects] = pull / size
    lower = np.full(len(effects), -np.inf)
    signed = np.array(layout.signed(SIGNED), dtype=int)
    lower[signed - layout.inertial.stop] = -start[signed] / np.diag(directions)[signed]
    return _Program(
        A=np.concatenate([columns @ directions, penalty]),
        b=np.concatenate([problem.r - columns @ start, np.zeros(layout.size)]),
        start=start,
        directions=directions,
        lower=lower,
        body_count=len(theta0),
        penalty=penalty,
    )


def _torque_scale(info) -> np.ndarray:
    """RMS torque of the joint that each effect column acts on, (number of effects,)."""
    rms = np.sqrt(info.energy / np.maximum(info.counts, 1))
    rms = np.maximum(rms, max(rms.max(initial=0.0) * 1e-3, np.finfo(float).tiny))
    layout = info.layout
    per_dof = rms[list(layout.dofs)] if info.robot is not None else np.full(len(layout.dofs), rms.max(initial=1.0))
    extras = [rms[list(extra.dofs)].max() for extra in layout.extras]
    return np.concatenate([np.tile(per_dof, len(layout.terms)), extras])


def _scaled_triangle() -> np.ndarray:
    """(10, 4, 4) orthonormal symmetric matrices, in the order of the cone solver: upper triangle, column by column."""
    basis = np.zeros((10, 4, 4))
    pairs = [(row, column) for column in range(4) for row in range(column + 1)]
    for k, (row, column) in enumerate(pairs):
        basis[k, row, column] = basis[k, column, row] = 1.0 if row == column else np.sqrt(0.5)
    return basis


TRIANGLE = _scaled_triangle()
IDENTITY = np.trace(TRIANGLE, axis1=1, axis2=2)  # coordinates of the 4x4 identity


def _congruence(theta0) -> np.ndarray:
    """(10, 10): theta of `L Y L^T` for the coordinates y of Y in `TRIANGLE`, with `J0 = L L^T`."""
    L = np.linalg.cholesky(pseudo.to_matrix(theta0))
    return pseudo.to_parameters(L @ TRIANGLE @ L.T).T


def _solve(program: _Program):
    """Minimise `||A y - b||` over the cones. Returns y, relative duality gap, whether the solver reached full accuracy.

    Works on the step from the unconstrained optimum, in `z = R step / scale`: the cost is the plain norm of z, and
    directions that the data fixes to many digits become tiny columns of the constraints instead of huge rows of the
    cost. The scale is the cost of a feasible point; when the optimum turns out far cheaper, it is solved once more at
    its own scale.
    """
    R = program.factor[:, :-1]
    free = np.linalg.solve(R, program.factor[:, -1])
    feasible = _clipped(program, free)
    if np.array_equal(feasible, free):
        return free, 0.0, True  # the unconstrained optimum is inside: it is the constrained one too
    scale, inverse = np.linalg.norm(R @ (feasible - free)), np.linalg.inv(R)
    solution = _cone_solution(program, scale * inverse, free)
    for _ in range(RESCALINGS):
        if solution.cost > CHEAP or not solution.solved:
            break
        scale *= max(2 * solution.cost, np.finfo(float).eps)
        again = _cone_solution(program, scale * inverse, free)
        if not again.solved:
            break
        solution = again
    if not solution.solved:
        raise FitError(
            f"The cone solver ended with '{solution.status}'. Check the units of the log and the masses of the prior."
        )
    return free + solution.step, solution.gap, solution.gap < ACCURATE


def _clipped(program: _Program, y) -> np.ndarray:
    """The feasible point that moves eigenvalues and effects of y onto their bounds; y itself when it is feasible."""
    y = y.copy()
    for i in range(program.body_count):
        block = slice(10 * i, 10 * i + 10)
        eigenvalues, axes = np.linalg.eigh(np.eye(4) + np.tensordot(y[block], TRIANGLE, axes=1))
        if eigenvalues[0] < EPS:
            clipped = axes @ np.diag(np.maximum(eigenvalues, EPS)) @ axes.T - np.eye(4)
            y[block] = np.tensordot(TRIANGLE, clipped, axes=2)
    effects = slice(10 * program.body_count, None)
    y[effects] = np.maximum(y[effects], program.lower)
    return y


@dataclass(frozen=True, eq=False)
class _ConeSolution:
    step: np.ndarray
    cost: float
    gap: float
    status: str

    @property
    def solved(self) -> bool:
        return self.status in ("Solved", "AlmostSolved")


def _cone_solution(program: _Program, steps, free) -> _ConeSolution:
    """Minimise `||z||` subject to the cones at `free + steps @ z`, with Clarabel."""
    import clarabel
    from scipy import sparse

    size, bodies = len(free), 10 * program.body_count
    bounded = bodies + np.flatnonzero(np.isfinite(program.lower))
    # variables [z, t]; h - M x in the cones: (t, z), 1 + Y - eps, effects above their bounds
    limited = np.concatenate([steps[:bodies], steps[bounded]])
    M = sparse.vstack(
        [
            sparse.csc_matrix(([-1.0], ([0], [size])), shape=(1, size + 1)),
            sparse.eye(size, size + 1) * -1.0,
            sparse.hstack([sparse.csc_matrix(-limited), sparse.csc_matrix((len(limited), 1))]),
        ],
        format="csc",
    )
    h = np.concatenate(
        [
            np.zeros(size + 1),
            free[:bodies] + np.tile((1 - EPS * (1 + SAFETY)) * IDENTITY, program.body_count),
            free[bounded] - program.lower[bounded - bodies],
        ]
    )
    cones = [clarabel.SecondOrderConeT(size + 1), *[clarabel.PSDTriangleConeT(4)] * program.body_count]
    if len(bounded):
        cones.append(clarabel.NonnegativeConeT(len(bounded)))
    settings = clarabel.DefaultSettings()
    settings.verbose = False
    settings.tol_gap_abs = settings.tol_gap_rel = settings.tol_feas = 1e-10
    settings.max_threads = 1
    cost = np.zeros(size + 1)
    cost[-1] = 1.0
    none = sparse.csc_matrix((size + 1, size + 1))
    solution = clarabel.DefaultSolver(none, cost, M, h, cones, settings).solve()
    return _ConeSolution(
        step=steps @ np.array(solution.x[:-1]),
        cost=abs(solution.obj_val),
        gap=abs(solution.obj_val - solution.obj_val_dual) / max(1.0, abs(solution.obj_val)),
        status=str(solution.status),
    )


def _certificate(info, theta0, parameters, gap) -> Certificate:
    """Check the constraints on the parameters themselves. Raises FitError when one is violated."""
    layout = info.layout
    L = np.linalg.cholesky(pseudo.to_matrix(theta0))
    J = pseudo.to_matrix(parameters[layout.inertial].reshape(-1, 10))
    inverse = np.linalg.inv(L)
    smallest = float(np.linalg.eigvalsh(inverse @ J @ np.swapaxes(inverse, -1, -2)).min(initial=np.inf))
    slack = float(parameters[layout.signed(SIGNED)].min(initial=np.inf))
    if smallest <= 0 or slack < 0:
        raise FitError(f"The solution failed its own check (relative eigenvalue {smallest:.1e}, slack {slack:.1e}).")
    return Certificate(gap, smallest, slack)
