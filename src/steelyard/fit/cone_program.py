"""Physically consistent least squares, to global optimality (paper B, (25); Lee, Wensing and Park 2020 for the metric).

`fit.build` makes a Program of data, prior and what is known; here it is solved, and built again at the noise that its
solution leaves. Everything the result claims is checked on the result.
"""

import numpy as np

from steelyard.arguments import require_type, with_options
from steelyard.errors import FitError
from steelyard.fit.cone_solver import PROVEN, Solution, minimum
from steelyard.fit.constraints import ConstraintRows
from steelyard.fit.estimate import Certificate, Estimate, Status, estimate_of
from steelyard.fit.homogeneous import scale_is_lost
from steelyard.fit.interior import EPSILON
from steelyard.fit.joint_normal import JointNormal
from steelyard.fit.knowledge import TOLD_NOTHING, Known
from steelyard.fit.newton import followed
from steelyard.fit.program import Infeasible, Program, assembled, build, contradiction
from steelyard.fit.thresholds import THRESHOLDS
from steelyard.fit.whitening import degrees_taken, first_noise, joint_noise, weak_directions
from steelyard.inertia import pseudo
from steelyard.information import Information
from steelyard.numbers import NEGLIGIBLE, ROUNDS


def consistent(info: Information, known: Known = TOLD_NOTHING, **more) -> Estimate:
    """The parameters nearest to data and prior among all that satisfy everything known about the bodies.

    Minimises `sum_j ||residual_j / noise_j||^2 + weight * distance(theta, prior)`. `build` and `solve` are its halves:
    the program is built, solved, and built again at the noise that the constrained fit leaves where that is clearly
    more than what unconstrained least squares leaves.

    It takes what it is told and nothing else (paper B, (25)); of an Information of `sy.accumulate` the columns that
    only evidence can weigh are left out.

    Args:
        info: Information of a robot or of a raw regression. Rows that measure no torque tell ratios of parameters only;
            those that no ratio meets are left out, and noted.
        known: prior and knowledge besides the data.
        more: fields of Known by name, in the place of those of `known`, such as `masses={"all": 18.0}`.

    Returns:
        An Estimate with its certificate.

    Raises:
        OptionError: knowledge about things that are not there.
        FitError: pieces of knowledge contradict each other (they are named), or no verified solution is found.

    Example:
        >>> import numpy as np, steelyard as sy
        >>> rng, theta = np.random.default_rng(0), np.array([2.0, 0.1, 0, 0, 0.3, 0, 0.3, 0, 0, 0.3])
        >>> Y = rng.normal(size=(100, 1, 10))
        >>> info = sy.Information.from_arrays(Y, Y @ theta, layout=sy.terms.ParameterLayout(("gripper",)))
        >>> estimate = sy.fit.consistent(info, prior=0.5 * theta[None], weight=1e-4)
        >>> bool(np.allclose(estimate.theta[0], theta, atol=1e-3)), estimate.physical
        (True, True)
        >>> estimate.certificate.duality_gap < 1e-6
        True
    """
    require_type(Information, info=info)
    program = build(info, with_options(known, "consistent", more))
    return _estimate(*reweighed(program))


def solve(program: Program, *, near=None) -> Estimate:
    """The global minimum of a program, at its own noise, with every claim checked on the result.

    Args:
        program: of `fit.build`.
        near: (p,) parameters of a similar program's minimum, from which one with an entropic prior is found faster.

    Returns:
        An Estimate; its certificate says how far it may be from the best.

    Raises:
        FitError: what is known contradicts itself (the pieces are named), or no verified solution is found.

    Example:
        >>> import numpy as np, steelyard as sy
        >>> rng, beta = np.random.default_rng(0), np.array([2.0, 0.1, 0, 0, 0.3, 0, 0.3, 0, 0, 0.3])
        >>> Y = rng.normal(size=(100, 1, 10))
        >>> info = sy.Information.from_arrays(Y, Y @ beta, layout=sy.terms.ParameterLayout(("body",)))
        >>> estimate = sy.fit.solve(sy.fit.build(info, prior=beta[None]))
        >>> bool(np.allclose(estimate.parameters, beta))
        True
    """
    solution = None if near is None else followed(program, near)
    return _estimate(program, solution or _minimum(program))


def consistent_parameters(info: Information) -> np.ndarray:
    """(p,) parameters of `consistent` with all its defaults, without proofs: enough to compare what fits cost."""
    program, solution = reweighed(build(info), rough=True)
    return program.parameters(solution.w)


def reweighed(program: Program, *, rough: bool = False) -> tuple[Program, Solution]:
    """The program at the noise that its own solution leaves, and its solution. rough: see `minimum`.

    Each fit tells the next its noise and the reference of homogeneous rows. To settle the noise at one reference before
    the next would take twice the fits, and where motion is noisy it goes round in circles.
    """
    info, known = program.info.base, program.knowledge.noise
    solution = _minimum(program, rough)
    for _ in range(ROUNDS):
        found, noise = program.ratios, program.noise
        base = info.basis.regroup(program.parameters(solution.w))
        following = found.after(info, base) if found.groups.any() else None
        unmet = found.groups & (not found.reference.any())  # rows that the fit was made without
        found = found if following is None else following
        left = noise if known is not None else _noise_left(program, solution, found.of(info), unmet)
        same = bool((np.abs(np.log(left / noise)) < np.log(THRESHOLDS.overfitted)).all())
        if same and following is None:
            break
        program = program.at(noise if same else left, found)
        solution = _minimum(program, rough, solution)
    return program, solution


def _noise_left(program: Program, solution: Solution, seen: Information, unmet) -> np.ndarray:
    """(g,) noise that least squares leaves, or a fit where that is more. unmet: (g,) rows that the fit did not have."""
    covariance, base = _covariance(program, solution), seen.basis.regroup(program.parameters(solution.w))
    least, taken = first_noise(seen), degrees_taken(program.weighted, covariance)
    return np.where(unmet, least, np.maximum(least, joint_noise(seen, base, taken)))


def _minimum(program: Program, rough: bool = False, like: Solution | None = None) -> Solution:
    """`minimum`, with FitError that names what contradicts what instead of Infeasible."""
    try:
        return minimum(program, like=like, rough=rough)
    except Infeasible as error:
        raise contradiction(program.coordinates, program.constraints) from error


def _recentred(program: Program, solution: Solution) -> tuple[Program, Solution]:
    """The same fit with its gap closed where that takes unknowns counted from what was found: where a prior is a
    thousand times too heavy and data exact, unknowns counted from the prior have no digits left."""
    for _ in range(ROUNDS):
        if solution.gap < PROVEN:
            break
        around = program.parameters(solution.w)
        try:
            again = assembled(
                program.info, program.knowledge, ratios=program.ratios, noise=program.noise, around=around
            )
            better = _minimum(again, like=solution)
        except FitError:  # parameters on a border are no middle
            break
        if better.gap >= solution.gap:
            break
        program, solution = again, better
    return program, solution


def _estimate(program: Program, solution: Solution) -> Estimate:
    program, solution = _recentred(program, solution)
    info, knowledge, known = program.info, program.knowledge, program.constraints
    parameters = _onto_bounds(known, program.parameters(solution.w))
    rows = ConstraintRows(known)
    slack = rows.slack(parameters, solution.aux)
    depths = rows.depths(slack)
    covariance, joint = _covariance(program, solution), _joint(program, solution)
    certificate = _certificate(program, parameters, depths, solution.gap)
    weakest = weak_directions(program.problem, info.layout, info.basis)
    lost = scale_is_lost(program.problem.R, info, program.ratios, parameters, program.directions)
    status = Status.LOST_SCALE if lost else Status.WEAK_EXCITATION if weakest else Status.OK
    return estimate_of(
        info,
        f"physically consistent least squares ({knowledge.regularizer.name} prior, weight {knowledge.weight:g})",
        parameters,
        covariance,
        noise=program.noise,
        status=status if certificate.duality_gap < THRESHOLDS.accurate else Status.INACCURATE,
        physical=certificate.smallest_eigenvalue > 0,
        certificate=certificate,
        weakest=weakest,
        fixed=program.fixed,
        lower_bounds=knowledge.lower_bounds,
        binding=tuple(
            each.label
            for each, depth in zip(known, depths, strict=True)
            if not each.equality and depth < THRESHOLDS.active
        ),
        notes=(*knowledge.notes, *program.ratios.notes(info.group_names)),
        joint=joint,
        within=known,
    )


def _joint(program: Program, solution: Solution) -> JointNormal:
    """What data and prior say together, inequalities left aside; about the optimum where the prior is a barrier."""
    F, t = program.quadratic
    w = solution.w if program.entropic_weight else np.linalg.solve(F, t)
    root = np.sqrt(2) * program.directions @ np.linalg.inv(solution.F)
    return JointNormal(program.parameters(w), root, program.knowledge.prior, program.constraints)


def _covariance(program: Program, solution: Solution) -> np.ndarray:
    """(r, r) covariance of the base parameters from data and prior, inequalities left aside."""
    from scipy.linalg import solve_triangular

    base = program.info.basis.regrouping @ program.directions
    spread = solve_triangular(solution.F, base.T, trans=1, check_finite=False)
    return 2 * spread.T @ spread


def _onto_bounds(known, parameters) -> np.ndarray:
    """Bounded friction within rounding of its bound is put there."""
    parameters = parameters.copy()
    for each in known:
        if each.cones == (("nonnegative", 1),) and np.count_nonzero(each.A) == 1:
            column = int(np.flatnonzero(each.A[0])[0])
            slack = float(each.b[0] - each.A[0] @ parameters)
            if -NEGLIGIBLE < slack < 0:
                parameters[column] = each.b[0] / each.A[0, column]
    return parameters


def _certificate(program: Program, parameters, depths, gap: float) -> Certificate:
    """Check the constraints on the parameters themselves. Raises FitError when one is violated."""
    known = program.constraints
    inverse = np.linalg.inv(np.linalg.cholesky(pseudo.to_matrix(program.knowledge.prior)))
    J = pseudo.to_matrix(parameters[program.info.layout.inertial].reshape(-1, 10))
    smallest = float(np.linalg.eigvalsh(inverse @ J @ np.swapaxes(inverse, -1, -2)).min(initial=np.inf))
    equality = np.array([each.equality for each in known], dtype=bool)
    broken = [
        f"{each.label} ({depth:.1e})"
        for each, depth in zip(known, depths, strict=True)
        if depth < -NEGLIGIBLE - EPSILON * float((np.abs(each.A) @ np.abs(parameters)).max(initial=0.0))
    ]
    if broken:
        raise FitError(f"The solution failed its own check: {'; '.join(broken)}.")
    return Certificate(gap, smallest, float(depths[~equality].min(initial=np.inf)))
