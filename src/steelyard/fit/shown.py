"""A fit inside the geometry of the model, as far as the data agrees that the mass is there.

Model files often show less than what moves: covers, motors and cables are missing, or an inertia was set for another
design. Held inside such a shape, a link explains its torques clearly worse; then the data is believed, not the drawing.
"""

from collections.abc import Mapping
from dataclasses import dataclass, replace

import numpy as np

from steelyard.errors import FitError, choices
from steelyard.fit.consistent import consistent, nearest
from steelyard.fit.estimate import Estimate
from steelyard.fit.volumes import CONSISTENT, GEOMETRY, OTHERS, Volumes, volumes
from steelyard.fit.whitening import joint_noise
from steelyard.inertia.realizability import is_realizable
from steelyard.information import Information

WORSE = 1.1  # residual of any joint, over that without the shapes, that noise and unmodelled friction do not explain
GROUPS = 8  # of doubted bodies, neighbours in the tree: more than so many are freed several at a time
EVIDENCE = 9.0  # nats in all: noise alone costs that much in 2e-5 of all tests of one number (chi-square)


def consistent_where_shown(info: Information, *, within: Mapping[str, object], **options) -> Estimate:
    """`consistent`, without the shapes of the model that the data contradicts, which a note names.

    Only shapes that "all": "geometry" asks for are doubted; those of bodies named in `within` are kept. A shape is
    contradicted where holding the mass inside raises the residual of a joint by more than a tenth and the likelihood
    ratio is beyond noise. Arguments and errors as those of `consistent`.
    """
    held_by = volumes(within, info.robot)
    shown = [name for name in info.layout.body_names if name in held_by.geometric and name not in within]
    if within.get(OTHERS) != GEOMETRY or not shown:
        return consistent(info, within=within, **options)
    tried = _Tried(info, within, options)
    free = tried.without(shown)
    outside = [] if free is None else _outside(info, free, held_by, shown)
    freed = _necessary(tried, free, [], outside, size=-(-len(outside) // GROUPS))
    try:
        found = consistent(info, within=tried.within(freed), **options)
    except FitError:
        if freed == shown:
            raise
        freed = shown  # shapes so far from the data that nothing is found
        found = consistent(info, within=tried.within(freed), **options)
    if not freed:
        return found
    bound = tried.without([])
    cost = "no model explains the torques"
    if bound is not None and free is not None:
        cost = f"the torque residual is up to {_ratios(info, bound, free).max():.3g} times as large"
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
class _Tried:
    """Fits at one noise and without a proof, (p,) parameters: enough to see what a shape costs."""

    info: Information
    bounds: Mapping[str, object]
    options: dict

    def within(self, names) -> dict[str, object]:
        """Where mass may be, without the shapes of some bodies."""
        return {**self.bounds, **dict.fromkeys(names, CONSISTENT)}

    def without(self, names) -> np.ndarray | None:
        """The fit without these shapes; None where there is none: shapes so far from the data that they cannot stay."""
        try:
            return nearest(self.info, within=self.within(names), **self.options)
        except FitError:
            return None


def _necessary(tried: _Tried, free, kept: list[str], names: list[str], *, size: int) -> list[str]:
    """Of bodies that may be freed, those that must be when `kept` are freed too, by halves down to a size."""
    if not names or not _contradicts(tried.info, tried.without(kept), free):
        return []
    if len(names) <= size:
        return names
    first, second = names[: len(names) // 2], names[len(names) // 2 :]
    needed = _necessary(tried, free, [*kept, *second], first, size=size)
    return [*needed, *_necessary(tried, free, [*kept, *needed], second, size=size)]


def _contradicts(info: Information, bound, free) -> bool:
    """Whether the data is explained clearly worse by the parameters `bound` (p,) than by `free`."""
    if bound is None:
        return True
    ratios = _ratios(info, bound, free)
    nats = info.counts * info.independence * np.log(ratios)
    worst = ratios > WORSE
    return bool(nats[worst].sum() > EVIDENCE)


def _ratios(info: Information, bound, free) -> np.ndarray:
    """(g,) residual of each row group with some parameters (p,) over that with others."""
    before, after = (joint_noise(info.base, info.basis.regroup(each)) for each in (bound, free))
    return before / after
