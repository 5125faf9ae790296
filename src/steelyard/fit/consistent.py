"""Physically consistent least squares, to global optimality (paper B, (25); Lee, Wensing and Park 2020 for the metric).

What is known about bodies and friction becomes constraints (`asked.py`), the whole an assembled `Program`, which
`solve.py` minimises. Everything the result claims is checked on the result (`certified.py`).
"""

from collections.abc import Iterable, Mapping
from contextlib import contextmanager
from dataclasses import dataclass

import numpy as np

from steelyard.errors import FitError
from steelyard.fit.asked import Asked, asked
from steelyard.fit.assembled import assembled
from steelyard.fit.certified import certificate_of, depths_of, onto_bounds
from steelyard.fit.conflicts import conflicting
from steelyard.fit.constraints import Tied, effect_bounds
from steelyard.fit.estimate import Estimate, Status, identified_robot
from steelyard.fit.homogeneous import Ratios, ratios
from steelyard.fit.program import Infeasible, Program
from steelyard.fit.scale import scale_is_lost
from steelyard.fit.solve import PROVEN, Solution, solve
from steelyard.fit.weakness import weak_directions
from steelyard.fit.weighed import Weighed, first_noise, prior_parameters, weighed
from steelyard.fit.whitening import degrees_taken, joint_noise
from steelyard.information import Information

ACCURATE = 1e-6  # relative duality gap: parameters are then right to far below their standard deviations
ON_BOUND = 1e-6  # depth, in units of each constraint, that counts as on the bound
# Residuals that differ from the assumed noise by this factor: least squares had fitted what the constraints do not.
OVERFITTED = 1.3
# Where a prior is a thousand times too heavy and data exact, unknowns counted from the prior have no digits left. They
# are then counted from what was found.
RECENTRINGS = 3
REWEIGHINGS = 10
NOTHING_FOUND = (
    "The solver found no parameters that satisfy all constraints, and no conflict among them either. That is a fault "
    "of Steelyard, not of your log: please report it; until then leave out bounds one by one, or raise the weight."
)


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
    noise=None,
) -> Estimate:
    """The parameters nearest to data and prior among all that satisfy everything known about the bodies.

    prior: a Robot or (nb, 10) array, the model's own values by default; repaired where it is not consistent, and
    noted. Minimises `sum_j ||residual_j / noise_j||^2 + weight * distance(theta, prior)`: with weight 1 the prior
    counts like one standard deviation for a relative change of one in every second moment. The noise of each joint is
    what unconstrained least squares leaves, or what the constrained fit leaves where that is clearly more; noise: (g,)
    standard deviations of the row groups where they are known (N m or N), used as they are. Rows that measure no torque
    tell ratios of parameters only; those that no ratio meets are left out, and noted (`fit.homogeneous`).

    within: sets that hold a body's mass, by name: an `Ellipsoid`, a list of ellipsoids (their union), or any set of
    `sy.inertia`; others are physically consistent (`J >= eps J0`). "geometry" stands for
    an ellipsoid around what the model file shows of a body (`model.geometry`): within="geometry" for all bodies, or
    {"all": "geometry", "link3": ellipsoid, "link4": "consistent"}; bodies of which nothing is shown are noted.
    masses: known masses, {"link1": 2.5, ("link2", "link3"): 7.0, "all": 18.0} kg. fixed: what keeps the prior's
    values, {"link1": "mass", "link2": ("com", "inertia"), "link3": "all"}. tied: bodies that are equal or mirrored,
    see `Tied`. bounds: {"joint1.viscous": (0, 5), "offset": (-1, 1)}; viscous and Coulomb friction and armature are
    not negative unless bounds say so. regularizer: "pullback" (quadratic, coordinate invariant), "entropic" (its
    barrier: never on the boundary) or "euclidean" (on theta in SI units, beside a pullback prior of weight 1e-8: to
    SI units a body of a gram weighs nothing). Raises OptionError for knowledge about things that are not there,
    FitError when pieces of it contradict each other (they are named) or no verified solution is found.
    """
    wanted = asked(
        info,
        prior=prior,
        within=within,
        masses=masses,
        fixed=fixed,
        tied=tied,
        bounds=bounds,
        regularizer=regularizer,
        weight=weight,
        noise=noise,
    )
    theta0, known = wanted.theta0, wanted.known
    noise, fitted, found = _reweighed(info, wanted)
    fitted = _recentred(found.of(info), noise, wanted, fitted)
    program, solution = fitted.program, fitted.solution
    parameters = onto_bounds(known, program.parameters(solution.w))
    depths = depths_of(known, parameters, solution)
    certificate = certificate_of(info.layout, theta0, known, parameters, depths, solution.gap)
    weakest = weak_directions(fitted.data.problem, info.layout, info.basis)
    lost = scale_is_lost(fitted.data.problem, info, found, parameters, program.directions)
    status = Status.LOST_SCALE if lost else Status.WEAK_EXCITATION if weakest else Status.OK
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
        notes=(*wanted.notes, *found.notes(info.group_names)),
    )


def consistent_parameters(info: Information) -> np.ndarray:
    """(p,) parameters of `consistent` with all its defaults, without proofs: enough to compare what fits cost. Errors
    as there."""
    return _reweighed(info, asked(info), rough=True)[1].parameters


def _reweighed(info: Information, wanted: Asked, *, rough: bool = False) -> tuple[np.ndarray, "_Fitted", Ratios]:
    """Noise (g,), the fit, and what homogeneous rows were in it. rough: see `solve`.

    Each fit tells the next its noise and the reference of homogeneous rows. To settle the noise at one reference before
    the next would take twice the fits, and where motion is noisy it goes round in circles.
    """
    info = info.base
    found = ratios(info, prior_parameters(info, wanted.theta0))
    seen = found.of(info)
    noise = first_noise(seen) if wanted.noise is None else wanted.noise
    fitted = _solved(seen, noise, wanted, rough)
    for _ in range(REWEIGHINGS):
        following = found.after(info, info.basis.regroup(fitted.parameters)) if found.groups.any() else None
        unmet = found.groups & (not found.reference.any())  # rows that the fit was made without
        if following is not None:
            found, seen = following, following.of(info)
        left = noise if wanted.noise is not None else _left(seen, fitted, unmet)
        same = bool((np.abs(np.log(left / noise)) < np.log(OVERFITTED)).all())
        if same and following is None:
            break
        noise = noise if same else left
        fitted = _solved(seen, noise, wanted, rough, fitted)
    return noise, fitted, found


def _recentred(info: Information, noise, wanted: Asked, fitted: "_Fitted") -> "_Fitted":
    """The same fit with its gap closed where that takes unknowns counted from what was found."""
    for _ in range(RECENTRINGS):
        if fitted.solution.gap < PROVEN:
            break
        try:
            again = _solved(info, noise, wanted, like=fitted, around=fitted.parameters)
        except FitError:  # parameters on a border are no middle
            break
        if again.solution.gap >= fitted.solution.gap:
            break
        fitted = again
    return fitted


def _left(info: Information, fitted: "_Fitted", unmet) -> np.ndarray:
    """(g,) noise that least squares leaves, or a fit where that is more. unmet: (g,) rows that the fit did not have."""
    least = first_noise(info)
    taken = degrees_taken(fitted.data.info, _covariance(fitted.program, fitted.solution, info.basis))
    left = joint_noise(info, info.basis.regroup(fitted.parameters), taken)
    return np.where(unmet, least, np.maximum(least, left))


@dataclass(frozen=True, eq=False)
class _Fitted:
    """Weighed data, the program in its coordinates, and the solution."""

    data: Weighed
    program: Program
    solution: Solution

    @property
    def parameters(self) -> np.ndarray:
        return self.program.parameters(self.solution.w)


def _solved(
    info: Information, noise, wanted: Asked, rough: bool = False, like: _Fitted | None = None, around=None
) -> _Fitted:
    """The fit at a noise (g,). like: one at a similar noise; around: (p,), see `weighed`. Raises FitError that names
    what contradicts what."""
    data = weighed(info, noise, wanted.theta0, wanted.weight, around)
    with _conflicts_named(data, wanted):
        program = assembled(data, wanted.known, wanted.regularizer, wanted.weight)
        return _Fitted(data, program, solve(program, like=like and like.solution, rough=rough))


@contextmanager
def _conflicts_named(data: Weighed, wanted: Asked):
    """Raise FitError that names what contradicts what instead of Infeasible."""
    try:
        yield
    except Infeasible as error:
        labels = conflicting(data.start, data.directions, wanted.known)
        if not labels:
            raise FitError(NOTHING_FOUND) from error
        raise FitError(
            f"No parameters satisfy everything that is said to be known. In conflict: {'; '.join(labels)}. Correct or "
            "leave out one of them."
        ) from error


def _covariance(program: Program, solution: Solution, basis) -> np.ndarray:
    """(r, r) covariance of the base parameters from data and prior, inequalities left aside."""
    from scipy.linalg import solve_triangular

    base = basis.regrouping @ program.directions
    spread = solve_triangular(solution.F, base.T, trans=1, check_finite=False)
    return 2 * spread.T @ spread
