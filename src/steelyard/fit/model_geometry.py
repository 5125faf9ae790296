"""A fit inside the geometry of the model, as far as the data agrees that the mass is there.

Model files often show less than what moves: covers, motors and cables are missing, or an inertia was set for another
design. Held inside such a shape, a link explains its torques clearly worse; then the data is believed, not the drawing.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from types import MappingProxyType

import numpy as np

from steelyard.arguments import require_type, with_options
from steelyard.errors import FitError, choices
from steelyard.fit.cone_program import as_told
from steelyard.fit.cone_solver import minimum
from steelyard.fit.estimate import Estimate
from steelyard.fit.homogeneous import ratios, ratios_about
from steelyard.fit.knowledge import TOLD_NOTHING, Known, knowledge_of
from steelyard.fit.program import Program, assembled
from steelyard.fit.thresholds import THRESHOLDS
from steelyard.fit.volumes import CONSISTENT, GEOMETRY, OTHERS, Volumes, volumes
from steelyard.fit.whitening import joint_noise
from steelyard.inertia import is_realizable
from steelyard.information import Information

WITHIN_GEOMETRY = Known(within=MappingProxyType({OTHERS: GEOMETRY}))
GROUPS = 8  # of doubted bodies, neighbours in the tree: more than so many are freed several at a time
CLEAR = (
    4.0  # times the evidence, and the excess, of a residual within some of the constraints that makes others needless
)


def consistent(info: Information, known: Known = TOLD_NOTHING, **more) -> Estimate:
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
    known = with_options(known, "consistent", more)
    if info.model_facts:
        return consistent_within_geometry(info, known.of_model(info))
    return as_told(info, known)


def consistent_within_geometry(info: Information, known: Known = WITHIN_GEOMETRY, **more) -> Estimate:
    """`consistent`, without the shapes of the model that the data contradicts; the fit of `identify`.

    A shape is contradicted where holding the mass inside raises the residual of a joint by more than a tenth and the
    likelihood ratio is beyond noise. A note names it.

    Args:
        info: as of `consistent`.
        known: as of `consistent`. Of `within`, only shapes that "all": "geometry" asks for may be left out; those of
            bodies named in it stay.
        more: fields of Known by name, in the place of those of `known`.

    Returns:
        The Estimate.

    Raises:
        FitError: as `consistent`.
    """
    known = with_options(known, "consistent", more)
    within = {OTHERS: known.within} if isinstance(known.within, str) else (known.within or {})
    held_by = volumes(within, info.robot)
    shown = [name for name in info.layout.body_names if name in held_by.geometric and name not in within]
    if within.get(OTHERS) != GEOMETRY or not shown:
        return as_told(info, known)
    tried = _Tried(Trials(info, known), within, shown)
    outside = [] if tried.free is None else _outside(info, tried.free, held_by, shown)
    freed = _necessary(tried, [], outside, size=-(-len(outside) // GROUPS))
    try:
        found = as_told(info, replace(known, within=tried.within(freed)))
    except FitError:
        if freed == shown:
            raise
        freed = shown  # shapes so far from the data that nothing is found
        found = as_told(info, replace(known, within=tried.within(freed)))
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

    known: what the fits are told, but for `within`.
    """

    info: Information
    known: Known

    def nearest(self, within, *, enough: Callable[[np.ndarray], bool] | None = None) -> np.ndarray:
        """(p,) parameters of `consistent` inside these volumes; with `enough`, see `minimum`. Raises FitError."""
        program = replace(self._program, knowledge=knowledge_of(self.info, replace(self.known, within=within)))
        return program.parameters(minimum(program, enough=enough, rough=True).w)

    @cached_property
    def seen(self) -> Information:
        """The Information as a fit sees it, rows without torque as the ratios that they tell without volumes."""
        return self._program.ratios.of(self.info)

    @cached_property
    def _program(self) -> Program:
        """The program without volumes: these change neither its cost nor its equalities."""
        found, free = ratios(self.info), replace(self.known, within=None)
        if found.groups.any():
            found = ratios_about(self.info, as_told(self.info, free).base)
        return assembled(self.info, knowledge_of(self.info, free), ratios=found)


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
