"""Ranges to randomise simulations in: what samples of the posterior do to bodies, friction and drives."""

from collections.abc import Iterable, Iterator, Mapping
from typing import TYPE_CHECKING

import numpy as np

from steelyard.drive_kinds import DRIVE_NUMBERS
from steelyard.fit import Draws, Source
from steelyard.fit.draws import FILE
from steelyard.inertia import to_com_inertia
from steelyard.model import Robot
from steelyard.numbers import SAME, interval, plural
from steelyard.pipeline import Result
from steelyard.report.document import Chapter, ReportPart
from steelyard.report.labels import dof_units
from steelyard.report.record import KEEP
from steelyard.sheets import Cell, Sheet, sheet
from steelyard.terms import TERMS

if TYPE_CHECKING:
    from steelyard.drives.motion_fit import MotionFit
    from steelyard.pipeline.drive_identification import DriveResult

LEVEL = 0.9  # of the ranges: 5 to 95 %
SCALE, CENTER, MOMENT = "mass_scale", "center_offset", "moment_scale"
GROUND, CONTACT = "ground", {"friction": "1", "time_constant": "s"}  # what contacts with it have, with units
FOUND, PRIOR, GIVEN = "identified", "prior", "given"
OPEN = 0.5  # of the prior's variance, from which on motion has not shown a number of a body
MARK = "†"
KEY, TITLE = "randomisation", "Ranges to randomise simulations in"


def ranges_of(robot: Robot, draws: Draws, sources: Mapping[tuple[str, str], str]) -> list[dict]:
    """Records of the ranges of samples, one a number, each with the robot's own in it: masses and moments
    are multiples of its own, centres offsets. sources: by group and name `FOUND` or `PRIOR`; others are given."""
    found = body_ranges(draws, robot.inertias, sources)
    for group, values in draws.values.items():
        for dof in robot.driven_dofs:
            name, prismatic = draws.joints[dof], dof_units(robot)[dof]["q"] == "m"
            unit = TERMS[group].units if group in TERMS else DRIVE_NUMBERS[group].units
            if np.isfinite(values[:, dof]).all():
                own = _own(robot, group, dof)
                found.append(_range(group, name, unit[prismatic], values[:, dof], own, sources))
    if draws.ground is not None:
        own = (None, None) if robot.floor is None else (robot.floor.friction[0], robot.floor.time_constant)
        for k, (group, unit) in enumerate(CONTACT.items()):
            found.append(_range(group, GROUND, unit, draws.ground[:, k], own[k], sources))
    return found


def body_ranges(draws: Draws, inertias, sources: Mapping[tuple[str, str], str]) -> list[dict]:
    """Records of the ranges of bodies alone: mass, centre, moments of inertia about it. inertias: (nb, 10) that are
    randomised; sources: as of `ranges_of`."""
    found = []
    for i, name in enumerate(draws.bodies):
        if not inertias[i, 0] > 0:
            continue
        (own_mass, own_center, own), (mass, center, moments) = map(to_com_inertia, (inertias[i], draws.inertias[:, i]))
        found.append(_range(SCALE, name, "1", mass / own_mass, 1.0, sources))
        for k, axis in enumerate("xyz"):
            found.append(_range(CENTER, f"{name} {axis}", "m", center[:, k] - own_center[k], 0.0, sources))
            if own[k, k] > 0:
                found.append(_range(MOMENT, f"{name} {axis}", "1", moments[:, k, k] / own[k, k], 1.0, sources))
    return found


def _own(robot: Robot, group: str, dof: int) -> float | None:
    """A robot's own number of a joint or its drive; None where it states none."""
    if group in ("damping", "frictionloss", "armature"):
        return float(getattr(robot, group)[dof])
    drive = robot.drives.get(robot.dof_names[dof])
    return None if drive is None else drive.torque_per_unit if group == "gain" else getattr(drive, group, None)


def _range(group: str, name: str, unit: str, values, own: float | None, sources) -> dict:
    lower, upper = np.quantile(values, [(1 - LEVEL) / 2, (1 + LEVEL) / 2])
    if own is not None:
        lower, upper = min(lower, own), max(upper, own)
    source = sources.get((group, name), GIVEN)
    return {"group": group, "name": name, "unit": unit, "lower": lower, "upper": upper, "source": source}


SOURCES = {Source.DATA: FOUND, Source.MODEL: FOUND, Source.PRIOR: PRIOR, Source.NOTHING: PRIOR, Source.GIVEN: GIVEN}


def torque_ranges(result: Result, draws: Draws) -> list[dict]:
    """Ranges of a fit to torques; of links kept as given those of the fit in which all links are free."""
    layout = result.estimate.layout
    label = dict(zip(layout.names, result.uncertainty.parameters.sources, strict=True))
    sources = {}
    for body in layout.body_names:
        sources[SCALE, body] = SOURCES[label[f"{body}.m"]]
        for axis in "xyz":
            both = {SOURCES[label[f"{body}.{name}"]] for name in ("m", f"h{axis}")}
            sources[CENTER, f"{body} {axis}"] = PRIOR if PRIOR in both else FOUND if FOUND in both else GIVEN
            sources[MOMENT, f"{body} {axis}"] = SOURCES[label[f"{body}.I{axis}{axis}"]]
    for term in layout.terms:
        for joint in layout.dof_names:
            sources[TERMS[term].stated or term, joint] = SOURCES[label[f"{joint}.{term}"]]
    return ranges_of(result.robot, draws, sources)


def drive_ranges(result: "DriveResult") -> list[dict]:
    """Ranges of a fit to motion."""
    sources = dict(_shown(result.fit, result.robot.body_names))
    for name, drive in result.drives.items():
        for key in ("gain", *DRIVE_NUMBERS):
            number = drive.features.gain if key == "gain" else key
            if number in drive.intervals or number in drive.undetermined:
                sources[key, name] = PRIOR if number in drive.undetermined else FOUND
    return ranges_of(result.robot, result.samples, sources)


def _shown(fit: "MotionFit", names: Iterable[str]) -> Iterator[tuple[tuple[str, str], str]]:
    """What motion shows of bodies: most of the prior's variance is gone, or it is the prior's own."""
    unknowns = fit.refined.unknowns
    own = unknowns.of_bodies
    after, before = fit.covariance[own, own], unknowns.prior(fit.refined.x)[1][own, own]
    for i, name in enumerate(names):
        keys = [(SCALE, name), *((group, f"{name} {axis}") for group in (CENTER, MOMENT) for axis in "xyz")]
        for k, key in zip((0, 1, 2, 3, 4, 6, 9), keys, strict=True):  # of `changed_bodies`
            row = unknowns.bodies[:, i, k]
            left, whole = row @ after @ row, row @ before @ row
            if whole > SAME**2:
                yield key, PRIOR if left > OPEN * whole else FOUND
    if unknowns.ground:
        after, before = (np.diag(each)[-len(CONTACT) :] for each in (fit.covariance, unknowns.prior(fit.refined.x)[1]))
        for group, left, whole in zip(CONTACT, after, before, strict=True):
            yield (group, GROUND), PRIOR if left > OPEN * whole else FOUND


def _numbers(result: Result, _: dict) -> dict:
    return {} if result.samples is None else {KEY: torque_ranges(result, result.samples)}


def range_parts(summary: dict) -> Iterator[ReportPart]:
    """Tables of a summary's ranges, and in words what was not identified."""
    found = summary.get(KEY)
    if found is None:
        yield ReportPart(text="This result has no samples of its posterior, so that it gives no ranges.")
        return
    if summary.get("verdict", {}).get("level") == KEEP:
        yield ReportPart(
            text="The verdict is to keep the nominal model: these ranges are of a fit that is not to be used."
        )
    yield ReportPart(
        text=f"Each range holds {LEVEL:.0%} of the samples of the posterior in {FILE}, 5 to 95 %, and the value of the "
        "model file. Randomise by rows of that file: numbers of one row belong together, and independent ranges allow "
        "robots that the logs rule out. "
        f"Those with {MARK} rest on the prior about the given model, as they were not identified on their own. What is "
        "given is not varied."
    )
    if not summary.get("proven", {}).get("intervals", True):
        from steelyard.pipeline.drive_verdict import UNPROVEN

        yield ReportPart(text=UNPROVEN)
    bodies = list(dict.fromkeys(each["name"] for each in found if each["group"] == SCALE))
    if bodies:
        columns = [("Mass scale", SCALE, "", 1.0)]
        columns += [(f"Offset {axis}", CENTER, f" {axis}", 1e3) for axis in "xyz"]
        columns += [(f"Moment {axis}", MOMENT, f" {axis}", 1.0) for axis in "xyz"]
        caption = (
            "Mass, and moments of inertia about the centre of mass, as multiples of those in the model file; offset of "
            f"the centre of mass from it, mm. In the body's axes. {MARK} not identified: the range rests on the prior."
        )
        yield ReportPart(sheet=_sheet("Ranges of bodies", caption, ("body", "bodies"), found, bodies, columns))
    joints = [each for each in found if each["group"] not in (SCALE, CENTER, MOMENT, *CONTACT)]
    if joints:
        columns = [
            (group.replace("_", " "), group, "", 1.0) for group in dict.fromkeys(each["group"] for each in joints)
        ]
        caption = (
            f"SI units (gain: torque per unit of what the drive takes, kp of position drives). {MARK} not identified: "
            "the range rests on the prior."
        )
        names = dict.fromkeys(each["name"] for each in joints)
        yield ReportPart(sheet=_sheet("Ranges of joints", caption, ("joint",), joints, names, columns))
    if ground := [each for each in found if each["group"] in CONTACT]:
        rows = [(each["group"].replace("_", " "), _cell(each), each["unit"]) for each in ground]
        columns = (("Number", "text"), "Range", ("Unit", "text"))
        yield ReportPart(
            sheet=sheet("Range of the ground", "Of contacts with it (MJCF: friction, solref).", columns, rows)
        )


def _cell(record: dict | None, factor: float = 1.0) -> Cell:
    if record is None:
        return Cell("")
    if record["source"] == GIVEN:
        return Cell("given")
    mark = MARK if record["source"] == PRIOR else ""
    return Cell(interval(factor * record["lower"], factor * record["upper"]), mark=mark)


def _sheet(title: str, caption: str, what: tuple[str, ...], found: list[dict], names: Iterable[str], columns) -> Sheet:
    """Ranges of all names. what: one of them in words, and several; columns: of each its title, group, what follows the
    name there, and a factor."""
    by = {(each["group"], each["name"]): each for each in found}
    rows = [
        (name, *(_cell(by.get((group, name + axis)), factor) for _, group, axis, factor in columns)) for name in names
    ]
    titles = ((what[0].capitalize(), "text"), *(title for title, *_ in columns))
    return sheet(title, caption, titles, rows, folded="" if len(rows) <= 8 else plural(len(rows), *what))


RANGES = Chapter(TITLE, "Ranges", _numbers, range_parts)
