"""A fit inside the geometry of the model, as far as the data agrees that the mass is there.

Model files often show less than what moves: covers, motors and cables are missing, or an inertia was set for another
design. Held inside such a shape, a link explains its torques clearly worse; then the data is believed, not the drawing.
"""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from types import MappingProxyType

import numpy as np

from steelyard.arguments import require_type
from steelyard.errors import FitError, choices
from steelyard.fit.cone_program import as_told
from steelyard.fit.cone_solver import minimum
from steelyard.fit.estimate import Estimate
from steelyard.fit.homogeneous import ratios, ratios_about
from steelyard.fit.knowledge import Tied, knowledge_of, with_model_facts
from steelyard.fit.program import Program, assembled
from steelyard.fit.thresholds import THRESHOLDS
from steelyard.fit.volumes import CONSISTENT, GEOMETRY, OTHERS, Volumes, volumes
from steelyard.fit.whitening import joint_noise
from steelyard.inertia import is_realizable
from steelyard.information import Information

ALL_SHOWN = MappingProxyType({OTHERS: GEOMETRY})
GROUPS = 8  # of doubted bodies, neighbours in the tree: more than so many are freed several at a time
CLEAR = (
    4.0  # times the evidence, and the excess, of a residual within some of the constraints that makes others needless
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

    Minimises `sum_j ||residual_j / noise_j||^2 + weight * distance(theta, prior)`. `build` and `solve` are its halves:
    the program is built, solved, and built again at the noise that the constrained fit leaves where that is clearly
    more than what unconstrained least squares leaves.

    An Information of `sy.accumulate` brings what the model's files know: its geometry, whose shapes are left out where
    the data contradicts them (`consistent_within_geometry`), and the facts of its side file. `within="consistent"`
    leaves the geometry out.

    Args:
        info: Information of a robot or of a raw regression. Rows that measure no torque tell ratios of parameters only;
            those that no ratio meets are left out, and noted.
        prior: a Robot or (nb, 10) array, the model's own values by default; repaired where it is not consistent, and
            noted.
        within: sets that hold a body's mass, by name: an `Ellipsoid`, a list of ellipsoids (their union), or any set of
            `sy.inertia`; others are physically consistent (`J >= eps J0`). "geometry" stands
            for an ellipsoid around what the model file shows of a body: within="geometry" for all bodies, or
            {"all": "geometry", "link3": ellipsoid, "link4": "consistent"}; bodies of which nothing is shown are noted.
        masses: known masses [kg], {"link1": 2.5, ("link2", "link3"): 7.0, "all": 18.0}.
        fixed: what keeps the prior's values, {"link1": "mass", "link2": ("com", "inertia"), "link3": "all"}.
        tied: bodies that are equal or mirrored, see `Tied`.
        bounds: {"joint1.viscous": (0, 5), "offset": (-1, 1)}; viscous and Coulomb friction and armature are not
            negative unless bounds say so.
        regularizer: "pullback" (quadratic, coordinate invariant), "entropic" (its barrier: never on the boundary) or
            "euclidean" (on theta in SI units, beside a pullback prior of weight 1e-8: to SI units a body of a gram
            weighs nothing).
        weight: how much the prior counts; with 1 like one standard deviation for a relative change of one in every
            second moment.
        noise: (g,) standard deviations of the row groups where they are known [N m or N], used as they are.

    Returns:
        An Estimate with its certificate.

    Raises:
        OptionError: knowledge about things that are not there.
        FitError: pieces of knowledge contradict each other (they are named), or no verified solution is found.

    Example:
        >>> import numpy as np, steelyard as sy
        >>> robot, rng = sy.library.scara(), np.random.default_rng(0)
        >>> q, v, a = rng.normal(size=(3, 200, robot.nv))
        >>> tau = sy.inverse_dynamics(robot, q, v, a)
        >>> log = sy.Log(t=np.arange(200) * 0.01, q=q, v=v, a=a, tau=tau, joint_names=robot.joint_names)
        >>> estimate = sy.fit.consistent(sy.accumulate(robot, log))
        >>> estimate.physical, estimate.certificate.duality_gap < 1e-6
        (True, True)
    """
    require_type(Information, info=info)
    options = {"prior": prior, "masses": masses, "fixed": fixed, "tied": tied, "bounds": bounds}
    options |= {"regularizer": regularizer, "weight": weight, "noise": noise}
    if info.model_facts:
        return consistent_within_geometry(info, **with_model_facts(info, options | {"within": within}))
    return as_told(info, within=within, **options)


def consistent_within_geometry(info: Information, *, within: Mapping[str, object] = ALL_SHOWN, **options) -> Estimate:
    """`consistent`, without the shapes of the model that the data contradicts; the fit of `identify`.

    A shape is contradicted where holding the mass inside raises the residual of a joint by more than a tenth and the
    likelihood ratio is beyond noise. A note names it.

    Args:
        info: as of `consistent`.
        within: as of `consistent`. Only shapes that "all": "geometry" asks for may be left out; those of bodies named
            in it stay.
        options: further options of `consistent`.

    Returns:
        The Estimate.

    Raises:
        FitError: as `consistent`.
    """
    held_by = volumes(within, info.robot)
    shown = [name for name in info.layout.body_names if name in held_by.geometric and name not in within]
    if within.get(OTHERS) != GEOMETRY or not shown:
        return as_told(info, within=within, **options)
    tried = _Tried(Trials(info, options), within, shown)
    outside = [] if tried.free is None else _outside(info, tried.free, held_by, shown)
    freed = _necessary(tried, [], outside, size=-(-len(outside) // GROUPS))
    try:
        found = as_told(info, within=tried.within(freed), **options)
    except FitError:
        if freed == shown:
            raise
        freed = shown  # shapes so far from the data that nothing is found
        found = as_told(info, within=tried.within(freed), **options)
    if not freed:
        return found
    cost = "no model explains the torques"
    if tried.bound is not None and tried.free is not None:
        largest = _ratios(tried.trials.seen, tried.bound, tried.free).max()
        cost = f"the torque residual is up to {largest:.3g} times as large"
    note = (
        f"The data contradicts the shape that the model shows of {choices(freed)}: with the mass inside, {cost}. It "
        "may lie anywhere there; the model shows too little, or its shape is of another version."
    )
    return replace(found, notes=(*found.notes, note))


def _outside(info: Information, free, held_by: Volumes, names: list[str]) -> list[str]:
    """Bodies whose mass lies outside their shape in the fit without shapes, free (p,).

    No other shape costs anything: with these alone freed, that fit is found again.
    """
    theta = dict(zip(info.layout.body_names, free[info.layout.links].reshape(-1, 10), strict=True))
    return [name for name in names if not is_realizable(theta[name], held_by.sets[name])]


@dataclass(frozen=True, eq=False)
class Trials:
    """Fits of an Information inside other volumes, at one noise and without proofs: enough to see what a shape costs.

    options: of `consistent`, but for `within`.
    """

    info: Information
    options: Mapping

    def nearest(self, within, *, enough: Callable[[np.ndarray], bool] | None = None) -> np.ndarray:
        """(p,) parameters of `consistent` inside these volumes; with `enough`, see `minimum`. Raises FitError."""
        program = replace(self._program, knowledge=knowledge_of(self.info, within=within, **self.options))
        return program.parameters(minimum(program, enough=enough, rough=True).w)

    @cached_property
    def seen(self) -> Information:
        """The Information as a fit sees it, rows without torque as the ratios that they tell without volumes."""
        return self._program.ratios.of(self.info)

    @cached_property
    def _program(self) -> Program:
        """The program without volumes: these change neither its cost nor its equalities."""
        found = ratios(self.info)
        if found.groups.any():
            found = ratios_about(self.info, as_told(self.info, **self.options).base)
        return assembled(self.info, knowledge_of(self.info, **self.options), ratios=found)


@dataclass(frozen=True, eq=False)
class _Tried:
    """Fits with more and less of the shapes. bounds: where mass may be with all; shown: names of their bodies."""

    trials: Trials
    bounds: Mapping[str, object]
    shown: list[str]

    def within(self, names) -> dict[str, object]:
        """Where mass may be, without the shapes of some bodies."""
        return {**self.bounds, **dict.fromkeys(names, CONSISTENT)}

    @cached_property
    def free(self) -> np.ndarray | None:
        """(p,) the fit without any shape."""
        return self._without(self.shown)

    @cached_property
    def bound(self) -> np.ndarray | None:
        """(p,) the fit with all of them."""
        return self._without([])

    def contradicted(self, kept: list[str]) -> bool:
        """Whether the data is explained clearly worse where only the shapes of some bodies are left aside.

        Further constraints only add to what a fit within a few of them costs: one that is clearly worse is enough.
        """
        if not kept:
            return self._contradicts(self.bound)
        return self._contradicts(self._without(kept, enough=lambda parameters: self._contradicts(parameters, CLEAR)))

    def _without(self, names, **options) -> np.ndarray | None:
        """The fit without these shapes; None where there is none: shapes so far from the data that they cannot stay."""
        try:
            return self.trials.nearest(self.within(names), **options)
        except FitError:
            return None

    def _contradicts(self, parameters, margin: float = 1.0) -> bool:
        """Whether the data is explained clearly worse by parameters (p,) than without shapes."""
        if parameters is None or self.free is None:
            return True
        info = self.trials.seen
        ratios = _ratios(info, parameters, self.free)
        nats = info.counts * info.independence * np.log(ratios)
        return bool(nats[ratios > THRESHOLDS.shape_residual**margin].sum() > margin * THRESHOLDS.shape_evidence)


def _necessary(tried: _Tried, kept: list[str], names: list[str], *, size: int) -> list[str]:
    """Of bodies that may be freed, those that must be when `kept` are freed too, by halves down to a size."""
    if not names or not tried.contradicted(kept):
        return []
    if len(names) <= size:
        return names
    first, second = names[: len(names) // 2], names[len(names) // 2 :]
    needed = _necessary(tried, [*kept, *second], first, size=size)
    return [*needed, *_necessary(tried, [*kept, *needed], second, size=size)]


def _ratios(info: Information, bound, free) -> np.ndarray:
    """(g,) residual of each row group with some parameters (p,) over that with others."""
    before, after = (joint_noise(info.base, info.basis.regroup(each)) for each in (bound, free))
    return before / after
