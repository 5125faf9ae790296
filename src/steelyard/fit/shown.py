"""A fit inside the geometry of the model, as far as the data agrees that the mass is there.

Model files often show less than what moves: covers, motors and cables are missing, or an inertia was set for another
design. Held inside such a shape, a link explains its torques clearly worse; then the data is believed, not the drawing.
"""

from collections.abc import Mapping
from dataclasses import dataclass, replace

import numpy as np

from steelyard.errors import FitError, choices
from steelyard.fit.consistent import consistent
from steelyard.fit.estimate import Estimate
from steelyard.fit.volumes import CONSISTENT, GEOMETRY, OTHERS, Volumes, volumes
from steelyard.fit.whitening import joint_noise
from steelyard.inertia.realizability import is_realizable
from steelyard.information import Information

WORSE = 1.1  # residual of any joint, over that without the shapes, that noise and unmodelled friction do not explain
EVIDENCE = 9.0  # nats in all: noise alone costs that much in 2e-5 of all tests of one number (chi-square)


def consistent_where_shown(info: Information, *, within: Mapping[str, object], **options) -> Estimate:
    """`consistent`, without the shapes of the model that the data contradicts, which a note names.

    Only shapes that "all": "geometry" asks for are doubted; those of bodies named in `within` are kept. A shape is
    contradicted where holding the mass inside raises the residual of a joint by more than a tenth and the likelihood
    ratio is beyond noise. Arguments and errors as those of `consistent`.
    """
    held = _Fits(info, within, options)
    if within.get(OTHERS) != GEOMETRY:
        return held.without(())
    held_by = volumes(within, info.robot)
    shown = [name for name in info.layout.body_names if name in held_by.geometric and name not in within]
    whole = _tried(held, []) if shown else held.without(())
    if whole is not None and not any(f"{name} is inside its geometry" in whole.binding for name in shown):
        return whole
    free = held.without(shown)
    if whole is not None and not _contradicts(info, whole, free):
        return whole
    freed = _necessary(held, free, [], _outside(free, held_by, shown) or shown)
    found = held.without(freed)
    cost = "no model explains the torques"
    if whole is not None:
        cost = f"the torque residual is up to {_ratios(info, whole, found).max():.3g} times as large"
    note = (
        f"The data contradicts the shape that the model shows of {choices(freed)}: with the mass inside, {cost}. It "
        "may lie anywhere there; the model shows too little, or its shape is of another version."
    )
    return replace(found, notes=(*found.notes, note))


def _outside(free: Estimate, held_by: Volumes, names: list[str]) -> list[str]:
    """Bodies whose mass lies outside their shape in the fit without shapes.

    No other shape costs anything: with these alone freed, that fit is found again.
    """
    theta = dict(zip(free.layout.body_names, free.theta, strict=True))
    return [name for name in names if not is_realizable(theta[name], held_by.sets[name])]


@dataclass(frozen=True, eq=False)
class _Fits:
    info: Information
    within: Mapping[str, object]
    options: dict

    def without(self, names) -> Estimate:
        """The fit without the shapes of some bodies."""
        return consistent(self.info, within={**self.within, **dict.fromkeys(names, CONSISTENT)}, **self.options)


def _necessary(held: _Fits, free: Estimate, kept: list[str], names: list[str]) -> list[str]:
    """Of bodies that may be freed, those that must be when `kept` are freed too; halves are tried first."""
    if not _contradicts(held.info, _tried(held, kept), free):
        return []
    if len(names) == 1:
        return names
    first, second = names[: len(names) // 2], names[len(names) // 2 :]
    needed = _necessary(held, free, [*kept, *second], first)
    return [*needed, *_necessary(held, free, [*kept, *needed], second)]


def _tried(held: _Fits, freed: list[str]) -> Estimate | None:
    try:
        return held.without(freed)
    except FitError:  # no digits: shapes so far from the data that they cannot stay
        return None


def _contradicts(info: Information, bound: Estimate | None, free: Estimate) -> bool:
    """Whether the data is explained clearly worse by `bound` than by `free`."""
    if bound is None:
        return True
    ratios = _ratios(info, bound, free)
    nats = info.counts * info.independence * np.log(ratios)
    worst = ratios > WORSE
    return bool(nats[worst].sum() > EVIDENCE)


def _ratios(info: Information, bound: Estimate, free: Estimate) -> np.ndarray:
    """(g,) residual of each row group in one fit over that in the other."""
    before, after = (joint_noise(info.base, each.base) for each in (bound, free))
    return before / after
