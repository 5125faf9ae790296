"""Readings with a figure that the links of the given model say: factors of torques, zeros of encoders."""

from collections.abc import Iterator, Sequence

import numpy as np

from steelyard.diagnose.case import Case
from steelyard.diagnose.given_links import LEAST, GivenLinks
from steelyard.diagnose.reading import Reading
from steelyard.diagnose.readings import reordered, scaled
from steelyard.diagnose.regression import LONGEST, STEP
from steelyard.diagnose.thresholds import EVIDENCE, RANK
from steelyard.errors import FitError
from steelyard.fit.drive_calibration import gains_by_model
from steelyard.fit.qr import span

KNOWN = 0.1  # relative standard deviation of a factor between a joint's torque and gravity of the given links
PLAUSIBLE = 2.0  # factor by which masses of a given model may be off
UNLIKE = 1.3  # factor between gains of drives that one unit of all does not have
UNITS = {"mNm": 1e3, "kNm": 1e-3}  # units of torque, in units a N m
ROUNDS = 3  # of Gauss-Newton
GROSS = 0.05  # rad or m, from which on the links of the given model may tell an offset alone
TURNS = (0.0, np.pi / 2, -np.pi / 2, np.pi)  # zeros that makers of models and of robots choose differently


def factors(case: Case) -> Iterator[Reading]:
    """Factors between the log's torques and those of the given links: one of all joints, of single ones, or of each."""
    names, given = case.robot.dof_names, GivenLinks(case)
    factor, deviation = given.factors()
    known = np.flatnonzero((deviation < KNOWN * np.abs(factor)) & (factor > 0))
    known = known[:0] if case.robot.floating else known  # in flight gravity and acceleration of the base cancel
    felt = np.linalg.norm(given.gravity[known], axis=1) * factor[known]
    common = _median(factor[known], felt) if len(known) else _common(given)
    power = 10.0 ** np.round(np.log10(common)) if common > 0 else 1.0  # links may be wrong beside it
    units = dict.fromkeys(UNITS.get(_unit(each), each) for each in (common, power) if each > 0)
    for each in [each for each in units if _ratio(each, 1.0) > PLAUSIBLE]:
        said = f"Torques are {each:.4g} times those that the links of the given model need, in every joint"
        remedy, options = unit_remedy(each)
        fitting, figures = scaled(case, case.dofs, 1 / each), {"factor": each}
        yield Reading("torque_unit", said, options, remedy=remedy, torque=fitting, figures=figures)
    for dof in known.tolist():
        if _ratio(factor[dof], 1.0) > PLAUSIBLE:
            said = f"The torque of {names[dof]} is {factor[dof]:.3g} times that of gravity on the given links"
            option, own = ("--scale", f"tau:{names[dof]}={1 / factor[dof]:.5g}"), scaled(case, dof, 1 / factor[dof])
            yield Reading("torque_scale", said, option, names[dof], torque=own, figures={"factor": factor[dof]})
    if len(known) > 1 and _of_drives(factor[known]):
        own = np.full(case.robot.nv, common)
        own[known] = factor[known]
        yield _currents(names, 1 / own)
    try:
        gains = gains_by_model(case.information).gains
    except FitError:
        return
    if (gains > 0).all() and _of_drives(gains):
        yield _currents(names, gains)


def _of_drives(gains: np.ndarray) -> bool:
    """Whether gains differ, and by more than what links do."""
    unlike = _ratio(gains.max(), gains.min()) > UNLIKE
    return unlike and max(_ratio(gain, 1.0) for gain in (gains.min(), gains.max())) > PLAUSIBLE


def _common(given: GivenLinks) -> float:
    """Factor of all torques together, beside free friction, by the noise of each degree."""
    case, sums, axes = given.case, np.zeros(2), _axes(given)
    for dof in case.dofs:
        torque, target = _beside(axes[dof], np.stack([given.torque[dof], case.target[dof]])) / case.free[1][dof]
        sums += torque @ target, torque @ torque
    return sums[0] / max(sums[1], np.finfo(float).tiny)


def _axes(given: GivenLinks) -> list[np.ndarray]:
    """Of each degree (n, m) orthonormal torques that its drive explains."""
    return [np.linalg.qr(own[:, np.linalg.norm(own, axis=0) > 0])[0] for own in given.drives]


def _beside(axes: np.ndarray, rows: np.ndarray) -> np.ndarray:
    """(k, n) what orthonormal axes (n, m) do not explain of rows (k, n)."""
    return rows - (rows @ axes) @ axes.T


def order_of_torques(case: Case) -> Iterator[Reading]:
    """Assignment of torque channels to joints by what each joint's own rows leave of each channel."""
    from scipy.sparse import csr_array
    from scipy.sparse.csgraph import min_weight_full_bipartite_matching

    energy, nv = case.energy, case.robot.nv
    if len(case.dofs) < nv or not energy.all():
        return
    left = np.empty((nv, nv))
    for dof, (_, rows) in enumerate(case.regression.own):
        inside = span(rows, RANK).T @ case.target.T
        left[dof] = np.log(np.maximum(1 - np.sum(inside**2, axis=0) / energy, LEAST))
    weights = left - left.min() + 1.0  # no zeros, which a sparse matrix takes for no match at all
    yield from reordered(case, min_weight_full_bipartite_matching(csr_array(weights))[1], ("tau:",))


def _currents(names: Sequence[str], gains: np.ndarray) -> Reading:
    listed = ", ".join(f"{name} {x:.3g}" for name, x in zip(names, gains, strict=True))
    said = "Each joint's torque is in a unit of its own, as motor currents or motor-side torques are: N m per unit are "
    said += f"about {listed}"
    figures = {f"gain_{name}": x for name, x in zip(names, gains, strict=True)}
    drives = ("--drive-gains",)
    return Reading("motor_current", said, drives, torque=np.diag(gains), price=EVIDENCE, figures=figures)


def unit_remedy(factor: float) -> tuple[str, tuple[str, ...]]:
    """Remedy and option for torques so many times too large: the unit that it is about. No other factor is that of all
    joints for sure (drives of an arm differ by tens of per cent), and links would take what is left of each."""
    if unit := _unit(factor):
        return "", ("--unit", f"tau={unit}")
    return (
        "No unit of torque has this factor. Are they motor currents, per cent of rated torque, or of the motor's side? "
        f"Have a gain found for each joint; or, where one factor is known for all, give it (--scale tau:all=FACTOR, "
        f"about {1 / factor:.3g}).",
        ("--drive-gains",),
    )


def _unit(factor: float) -> str:
    """The unit of torque that has about this factor, none for others."""
    return next((name for name, size in UNITS.items() if _ratio(factor, size) < PLAUSIBLE), "")


def _median(values, weights) -> float:
    """Weighted median."""
    order = np.argsort(values)
    below = np.cumsum(weights[order])
    return float(values[order][np.searchsorted(below, below[-1] / 2)])


def _ratio(one: float, other: float) -> float:
    """Factor between two positive numbers, above 1."""
    return max(one / other, other / one)


def zeros(case: Case, dofs: Sequence[int]) -> Iterator[Reading]:
    """The zero of one joint elsewhere, as the links of the given model have it."""
    turning, axes = {joint.name for joint in case.robot.free_joints if joint.turns}, _axes(GivenLinks(case))
    for dof in dofs:
        if dof not in case.robot.scalar_positions:
            continue
        name = case.robot.dof_names[dof]
        for start in TURNS if name in turning else TURNS[:1]:
            offset = start
            for _ in range(ROUNDS):
                offset += float(np.clip(_towards_given_links(case, dof, offset, axes), -LONGEST, LONGEST))
            if abs(offset) > GROSS:
                said = f"The zero of {name} is {offset:+.4f} rad (or m) elsewhere than in the model"
                places = offset * (np.arange(case.robot.nv) == dof)
                yield Reading("position_offset", said, ("--offset", f"{name}={offset:.5f}"), name, offset=places)


def _towards_given_links(case: Case, dof: int, offset: float, axes: Sequence[np.ndarray]) -> float:
    """Change of one position from an offset, rad or m, that the torques of the given links ask for. axes: of drives."""
    one = np.arange(case.robot.nv) == dof
    here, there = (
        case.regression.moved(place * one).torque(case.robot).T * case.regression.believed
        for place in (offset, offset + STEP)
    )
    size, sums = np.sqrt(np.maximum(case.energy, np.finfo(float).tiny)), np.zeros(2)
    for own in case.dofs:
        rows = np.stack([(there - here)[own] / STEP, (case.target - here)[own]])
        slope, room = _beside(axes[own], rows) / size[own]
        sums += slope @ room, slope @ slope
    return float(sums[0] / sums[1]) if sums[1] > 0 else 0.0
