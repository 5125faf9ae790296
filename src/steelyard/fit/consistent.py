"""Physically consistent least squares, to global optimality (paper B, (25); Lee, Wensing and Park 2020 for the metric).

What is known about bodies and friction becomes constraints (`constraints.py`), the whole an assembled `Program`, which
`solve.py` minimises. Everything the result claims is checked on the result.
"""

from collections.abc import Iterable, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, replace

import numpy as np

from steelyard.errors import FitError, OptionError, choices
from steelyard.fit.conflicts import conflicting
from steelyard.fit.constraints import (
    Constraint,
    Tied,
    body_constraints,
    bound_constraints,
    effect_bounds,
    fixed_constraints,
    mass_constraints,
    tied_constraints,
)
from steelyard.fit.estimate import Certificate, Estimate, Status, identified_robot
from steelyard.fit.least_squares import model_parameters
from steelyard.fit.prior import consistent_prior
from steelyard.fit.program import Infeasible, Program, congruence, met
from steelyard.fit.rows import Rows
from steelyard.fit.solve import NO_DIGITS, Solution, proven, solve
from steelyard.fit.volumes import Volumes, around_prior, volumes
from steelyard.fit.weakness import weak_directions
from steelyard.fit.whitening import Whitened, joint_noise, require_enough_samples, weigh_by_noise, whiten
from steelyard.inertia import pseudo
from steelyard.information import Information

ACCURATE = 1e-6  # relative duality gap: parameters are then right to far below their standard deviations
ON_BOUND = 1e-6  # depth, in units of each constraint, that counts as on the bound
ROUNDING = 1e-9  # by how much of its size a bounded value may miss its bound before it is put there
REGULARIZERS = ("pullback", "entropic", "euclidean")
# Prior standard deviation of friction and armature, in RMS torques of the joint at unit speed or acceleration: wide
# enough to leave alone what the data shows, finite so that a joint that never moved keeps the model's values.
EFFECT_SPREAD = 10.0
# Residuals that exceed the assumed noise by this factor: least squares had fitted noise that the constraints do not.
OVERFITTED = 1.3
REWEIGHINGS = 6
FEW = 2.0  # equations an identifiable combination, below which residuals of least squares say little about noise
UNTOLD = 0.01  # noise that is then assumed first, relative to RMS torque


def consistent(
    info: Information,
    *,
    prior=None,
    within: str | Mapping[str, object] | None = None,
    masses: Mapping | None = None,
    fixed: Mapping[str, str | Iterable[str]] | None = None,
    tied: Iterable[Tied] = (),
    bounds: Mapping[str, tuple[float, float]] | None = None,
    regularizer: str = "pullback",
    weight: float = 1.0,
) -> Estimate:
    """The parameters nearest to data and prior among all that satisfy everything known about the bodies.

    prior: a Robot or (nb, 10) array, the model's own values by default; repaired where it is not consistent, and
    noted. Minimises `sum_j ||residual_j / noise_j||^2 + weight * distance(theta, prior)`: with weight 1 the prior
    counts like one standard deviation for a relative change of one in every second moment. The noise of each joint is
    what unconstrained least squares leaves, or what the constrained fit leaves where that is clearly more.

    within: sets that hold a body's mass, by name: an `Ellipsoid`, a list of ellipsoids (their union), or any set of
    `sy.inertia.sets` and `sy.inertia.hull`; others are physically consistent (`J >= eps J0`). "geometry" stands for
    an ellipsoid around what the model file shows of a body (`model.geometry`): within="geometry" for all bodies, or
    {"all": "geometry", "link3": ellipsoid, "link4": "consistent"}; bodies of which nothing is shown are noted.
    masses: known masses, {"link1": 2.5, ("link2", "link3"): 7.0, "all": 18.0} kg. fixed: what keeps the prior's
    values, {"link1": "mass", "link2": ("com", "inertia"), "link3": "all"}. tied: bodies that are equal or mirrored,
    see `Tied`. bounds: {"joint1.viscous": (0, 5), "offset": (-1, 1)}; viscous and Coulomb friction and armature are
    not negative unless bounds say so. regularizer: "pullback" (quadratic, coordinate invariant), "entropic" (its
    barrier: never on the boundary) or "euclidean" (on theta in SI units). Raises OptionError for knowledge about
    things that are not there, FitError when pieces of it contradict each other (they are named) or no verified
    solution is found.
    """
    asked = _asked(
        info,
        prior=prior,
        within=within,
        masses=masses,
        fixed=fixed,
        tied=tied,
        bounds=bounds,
        regularizer=regularizer,
        weight=weight,
    )
    theta0, known = asked.theta0, asked.known
    noise, fitted = _reweighed(info, asked)
    problem, program, solution = fitted.problem, fitted.program, fitted.solution
    parameters = _onto_bounds(known, program.parameters(solution.w))
    depths = _depths(known, parameters, solution)
    certificate = _certificate(info.layout, theta0, known, parameters, depths, solution.gap)
    weakest = weak_directions(problem, info.layout, info.basis)
    status = Status.WEAK_EXCITATION if weakest else Status.OK
    return Estimate(
        method=f"physically consistent least squares ({regularizer} prior, weight {weight:g})",
        layout=info.layout,
        basis=info.basis,
        parameters=parameters,
        covariance=_covariance(program, solution, info.basis),
        noise=noise,
        group_names=info.group_names,
        samples=info.n,
        status=status if certificate.duality_gap < ACCURATE else Status.INACCURATE,
        coulomb_width=info.coulomb_width,
        prior=info.robot,
        robot=identified_robot(info.robot, info.layout, parameters),
        physical=certificate.smallest_eigenvalue > 0,
        certificate=certificate,
        weakest=weakest,
        given=program.given,
        least=effect_bounds(info.layout, bounds or {})[0],
        binding=tuple(
            each.label for each, depth in zip(known, depths, strict=True) if not each.equality and depth < ON_BOUND
        ),
        notes=asked.notes,
    )


def _reweighed(info: Information, asked: "_Asked") -> tuple[np.ndarray, "_Fitted"]:
    """Noise (g,), and the fit with its proof, once the noise is no less than what the fit leaves."""
    noise = _first_noise(info)
    fitted = _solved(info, noise, asked)
    for _ in range(REWEIGHINGS):
        residual = joint_noise(info.base, info.basis.regroup(fitted.parameters))
        if (residual < OVERFITTED * noise).all():
            break
        noise = np.maximum(noise, residual)
        fitted = _solved(info, noise, asked)
    with _conflicts_named(fitted.start, fitted.directions, asked.known):
        return noise, replace(fitted, solution=proven(fitted.program, fitted.solution))


def nearest(info: Information, *, within, **options) -> np.ndarray:
    """(p,) parameters of `consistent` at the noise that least squares leaves, without proof: enough to see how well
    knowledge and data agree, at a fraction of the cost. Arguments and errors as there.
    """
    return _solved(info, _first_noise(info), _asked(info, within=within, **options)).parameters


@dataclass(frozen=True, eq=False)
class _Asked:
    """What a fit is asked for: prior theta0 (nb, 10), what is known, what was assumed, and how the prior counts."""

    theta0: np.ndarray
    known: tuple[Constraint, ...]
    notes: tuple[str, ...]
    regularizer: str
    weight: float


def _asked(
    info: Information,
    *,
    prior=None,
    within=None,
    masses=None,
    fixed=None,
    tied=(),
    bounds=None,
    regularizer: str = "pullback",
    weight: float = 1.0,
) -> _Asked:
    """Options of `consistent` checked and read."""
    if regularizer not in REGULARIZERS:
        raise OptionError(f"Unknown regularizer {regularizer!r}. Choose from {choices(REGULARIZERS)}.")
    if not (np.isfinite(weight) and weight > 0):
        raise OptionError(f"weight is a positive number (it decides what the data leaves open); got {weight!r}.")
    require_enough_samples(info)
    theta0, notes = consistent_prior(prior, info.robot, len(info.layout.bodies))
    held = around_prior(volumes(within, info.robot), theta0, info.layout.bodies, fixed or {})
    known = _known(info, theta0, held, masses or {}, fixed or {}, tied, bounds or {})
    return _Asked(theta0, known, (*notes, *held.notes), regularizer, weight)


def _first_noise(info: Information) -> np.ndarray:
    """(g,) noise that unconstrained least squares leaves; at least UNTOLD of the torque where it fits too few data."""
    noise = weigh_by_noise(info)[1]
    if info.counts.sum() * info.independence > FEW * info.basis.count:
        return noise
    return np.maximum(noise, UNTOLD * np.sqrt(info.energy / np.maximum(info.counts, 1)))


@dataclass(frozen=True, eq=False)
class _Fitted:
    """Whitened data, start and directions of the unknowns, the program in them, and its solution."""

    problem: Whitened
    start: np.ndarray
    directions: np.ndarray
    program: Program
    solution: Solution

    @property
    def parameters(self) -> np.ndarray:
        return self.program.parameters(self.solution.w)


def _solved(info: Information, noise, asked: _Asked) -> _Fitted:
    """The fit at a noise (g,), without a proof. Raises FitError that names what contradicts what."""
    problem, weighted, start, directions = _at_noise(info, noise, asked.theta0, asked.weight)
    with _conflicts_named(start, directions, asked.known):
        program = _assembled(problem, weighted, start, directions, asked.known, asked.regularizer, asked.weight)
        return _Fitted(problem, start, directions, program, solve(program, proof=False))


@contextmanager
def _conflicts_named(start, directions, known):
    """Raise FitError that names what contradicts what instead of Infeasible."""
    try:
        yield
    except Infeasible as error:
        labels = conflicting(start, directions, known)
        if not labels:
            raise FitError(NO_DIGITS) from error
        raise FitError(
            f"No parameters satisfy everything that is said to be known. In conflict: {'; '.join(labels)}. Correct or "
            "leave out one of them."
        ) from error


def unconstrained_program(info: Information, theta0, weight: float, noise=None) -> tuple[Program, np.ndarray]:
    """The program of `consistent` with its pullback prior theta0 (nb, 10) and no constraints, and the noise (g,) used.

    noise: what unconstrained least squares leaves, by default.
    """
    noise = _first_noise(info) if noise is None else np.asarray(noise, dtype=float)
    return _assembled(*_at_noise(info, noise, theta0, weight), (), "pullback", weight), noise


def _at_noise(info: Information, noise, theta0, weight: float) -> tuple[Whitened, Information, np.ndarray, np.ndarray]:
    """Whitened data, weighted Information, start and directions at a noise (g,) of the row groups."""
    weighted = info.base.weighted(info.independence / noise**2)
    problem = whiten(weighted)
    return problem, weighted, *_coordinates(weighted, problem, theta0, weight)


def _coordinates(info: Information, problem: Whitened, theta0, weight: float) -> tuple[np.ndarray, np.ndarray]:
    """Parameters (p,) of the prior, and (p, p) directions in which all unknowns are free of units and of order one."""
    layout = info.layout
    start = np.zeros(layout.size) if info.robot is None else model_parameters(info.robot, layout)
    start[layout.inertial] = theta0.ravel()
    effects = np.arange(layout.inertial.stop, layout.size)
    columns = problem.R @ info.basis.regrouping[:, effects]
    directions = np.zeros((layout.size, layout.size))
    for i, block in enumerate(congruence(theta0)):
        directions[layout.body(i), layout.body(i)] = block
    pull = np.sqrt(weight) / (EFFECT_SPREAD * _torque_scale(info))
    directions[effects, effects] = 1.0 / np.hypot(np.linalg.norm(columns, axis=0), pull)
    return start, directions


def prior_precision(info: Information, *, prior=None, weight: float = 1.0) -> np.ndarray:
    """(p, p) quadratic form, about its prior, of what `consistent` with the pullback regularizer adds to the residual.

    Arguments as there. Raises FitError without a usable prior.
    """
    layout = info.layout
    theta0, _ = consistent_prior(prior, info.robot, len(layout.bodies))
    precision = np.zeros((layout.size, layout.size))
    for i, theta in enumerate(theta0):
        inverse = np.linalg.inv(congruence(theta))
        precision[layout.body(i), layout.body(i)] = weight / 2 * inverse.T @ inverse
    effects = np.arange(layout.inertial.stop, layout.size)
    precision[effects, effects] = weight / (EFFECT_SPREAD * _torque_scale(info)) ** 2
    return precision


def _assembled(problem: Whitened, info: Information, start, directions, known, regularizer, weight) -> Program:
    """The program of whitened data. Raises Infeasible where equalities contradict each other."""
    bodies = np.arange(info.layout.inertial.stop)
    effects = np.arange(info.layout.inertial.stop, info.layout.size)
    penalty = np.eye(len(start))
    if regularizer == "euclidean":
        penalty[np.ix_(bodies, bodies)] = directions[np.ix_(bodies, bodies)]
    penalty[bodies] *= np.sqrt(weight / 2)
    penalty[effects, effects] = np.sqrt(weight) / (EFFECT_SPREAD * _torque_scale(info)) * directions[effects, effects]
    if regularizer == "entropic":
        penalty = penalty[effects]
    columns = problem.R @ info.basis.regrouping
    A = np.concatenate([columns @ directions, penalty])
    b = np.concatenate([problem.r - columns @ start, np.zeros(len(penalty))])
    y, N = met(known, start, directions)
    left, reach = directions @ N, np.linalg.norm(directions, axis=1)
    return Program(
        A=A @ N,
        b=b - A @ y,
        start=start + directions @ y,
        directions=left,
        offset=y[bodies],
        spread=N[bodies],
        entropic_weight=weight if regularizer == "entropic" else 0.0,
        constant=max(info.c - float(problem.r @ problem.r), 0.0),
        constraints=known,
        given=tuple(np.flatnonzero(np.linalg.norm(left, axis=1) <= ROUNDING * reach).tolist()),
    )


def _known(info, theta0, held: Volumes, masses, fixed, tied, bounds) -> tuple[Constraint, ...]:
    """All constraints, equalities first."""
    layout = info.layout
    lower, upper = effect_bounds(layout, bounds)
    size = np.ones(layout.size)
    size[layout.inertial.stop :] = _torque_scale(info)
    return (
        *mass_constraints(layout, masses),
        *fixed_constraints(layout, theta0, fixed),
        *tied_constraints(layout, theta0, tied),
        *body_constraints(layout, theta0, held.sets, held.geometric),
        *bound_constraints(layout, lower, upper, size),
    )


def _torque_scale(info) -> np.ndarray:
    """RMS torque of the joint that each effect column acts on, (number of effects,)."""
    layout = info.layout
    if info.robot is None:
        rms = np.sqrt(info.energy / np.maximum(info.counts, 1))
        count = max([*layout.dofs, -1]) + 1
        per_dof = rms if len(rms) == count else np.full(count, rms.max(initial=0.0))  # a row group a degree, or unknown
    else:
        per_dof = info.degree_rms
    per_dof = np.maximum(per_dof, max(per_dof.max(initial=0.0) * 1e-3, np.finfo(float).tiny))
    extras = [per_dof[list(extra.dofs)].max() for extra in layout.extras]
    return np.concatenate([np.tile(per_dof[list(layout.dofs)], len(layout.terms)), extras])


def _onto_bounds(known, parameters) -> np.ndarray:
    """Bounded friction within rounding of its bound is put there."""
    parameters = parameters.copy()
    for each in known:
        if each.cones == (("nonnegative", 1),) and np.count_nonzero(each.A) == 1:
            column = int(np.flatnonzero(each.A[0])[0])
            slack = float(each.b[0] - each.A[0] @ parameters)
            if -ROUNDING < slack < 0:
                parameters[column] = each.b[0] / each.A[0, column]
    return parameters


def _depths(known, parameters, solution: Solution) -> np.ndarray:
    """(number of constraints,) how far inside each constraint the parameters lie."""
    rows = Rows(known)
    return rows.depths(rows.slack(parameters, solution.aux))


def _certificate(layout, theta0, known, parameters, depths, gap: float) -> Certificate:
    """Check the constraints on the parameters themselves. Raises FitError when one is violated."""
    inverse = np.linalg.inv(np.linalg.cholesky(pseudo.to_matrix(theta0)))
    J = pseudo.to_matrix(parameters[layout.inertial].reshape(-1, 10))
    smallest = float(np.linalg.eigvalsh(inverse @ J @ np.swapaxes(inverse, -1, -2)).min(initial=np.inf))
    equality = np.array([each.equality for each in known], dtype=bool)
    broken = [
        f"{each.label} ({depth:.1e})"
        for each, depth, allowed in zip(known, depths, np.where(equality, -ROUNDING, 0.0), strict=True)
        if depth < allowed
    ]
    if broken:
        raise FitError(f"The solution failed its own check: {'; '.join(broken)}.")
    return Certificate(gap, smallest, float(depths[~equality].min(initial=np.inf)))


def _covariance(program: Program, solution: Solution, basis) -> np.ndarray:
    """(r, r) covariance of the base parameters from data and prior, inequalities left aside."""
    from scipy.linalg import solve_triangular

    base = basis.regrouping @ program.directions
    spread = solve_triangular(solution.F, base.T, trans=1, check_finite=False)
    return 2 * spread.T @ spread
