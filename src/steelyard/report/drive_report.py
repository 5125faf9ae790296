"""The report of a robot with drives: verdict by motion, drives with their intervals, overlays of held-out motion."""

from collections.abc import Sequence

import numpy as np

from steelyard.drive_kinds import DRIVE_NUMBERS
from steelyard.drives.held_out import JudgedMotion
from steelyard.errors import OptionError, choices
from steelyard.model.robot import ContactParameters
from steelyard.numbers import interval, number, plural
from steelyard.pipeline.drive_identification import FOUND, DriveResult
from steelyard.pipeline.drive_verdict import (
    HEAVY,
    ROUGHLY,
    UNPROVEN,
    drive_verdict,
    length_unit,
    others,
    shown_names,
)
from steelyard.report.document import Figure, Question, ReportPart, Screen, Section, View, drawn_figures
from steelyard.report.figure_style import LINES, curves_of, drawn, text
from steelyard.report.identification_report import of_a_job
from steelyard.report.labels import dof_units, of_joints
from steelyard.report.provenance import repeat_section
from steelyard.report.randomisation import KEY as RANGES
from steelyard.report.randomisation import TITLE as RANGE_TITLE
from steelyard.report.randomisation import drive_ranges, range_parts
from steelyard.report.record import Record
from steelyard.report.signal_curves import Curves, screen_curves
from steelyard.sheets import Cell, Sheet, sheet

KIND = "drives"
NOT_WRITTEN = (
    "The file has no floor that could say so (none, <pair>s of geoms, or one made by a generator): state it where the "
    "robot walks. The verdict is of contacts as the file has them."
)


def drive_summary(result: DriveResult, *, out=None, files: Sequence[str] = (), notes: Sequence[str] = ()) -> dict:
    """Summary of a run from commands, as the schema of kind `drives` says. out, files, notes: as of
    `identification_report.summary`."""
    robot, units = result.prior, [each["q"] for each in dof_units(result.prior)]
    found = {
        "verdict": _screen(result).as_json(),
        "robot": {"name": robot.name, "joints": list(robot.dof_names), "bodies": list(robot.body_names)},
        "drives": {robot.dof_names[j]: _drive(result, robot.dof_names[j], j) for j in robot.driven_dofs},
        "scale": {"lines": list(result.scale), "open": list(result.scaled)},
        "motion": [
            _pooled(each) | {"joints": of_joints(robot.dof_names, units, windows=each.windows, whole=each.whole)}
            for each in result.motion
        ],
        "proven": _proven(result),
        "bodies": [
            {"name": name, "prior": float(result.prior.inertias[i, 0]), "mass": float(result.robot.inertias[i, 0])}
            for i, name in enumerate(robot.body_names)
        ],
        RANGES: drive_ranges(result),
        **({"ground": _ground(result, result.ground)} if result.ground is not None else {}),
        "held_out": {"samples": sum(map(len, result.held_out)), "window": result.window, "step": result.step},
        "findings": [{key: getattr(each, key) for key in ("code", "severity", "message")} for each in result.findings],
        "notes": [*notes, *result.notes],
    }
    return of_a_job(KIND, found, result.job, out, files)


def _drive(result: DriveResult, name: str, dof: int) -> dict:
    own, prismatic = result.drives[name], dof_units(result.prior)[dof]["q"] == "m"
    numbers = {}
    for key, what in DRIVE_NUMBERS.items():
        value, bounds = getattr(own, key), own.intervals.get(key, (None, None))
        if not what.shown or (key == "kp" and key not in own.features.numbers):
            continue
        state = "undetermined" if key in own.undetermined else "found" if bounds[0] is not None else "stated"
        if value is None and state == "stated":
            continue
        numbers[key] = {
            "value": value,
            "lower": bounds[0],
            "upper": bounds[1],
            "unit": what.units[prismatic],
            "state": state,
            "scaled": name in result.scaled and what.scaled,
        }
    return {"kind": own.kind, **numbers}


def _ground(result: DriveResult, contact: ContactParameters) -> dict:
    numbers = zip((contact.friction[0], contact.time_constant), result.fit.ground_half_width, strict=True)
    told = [{"value": x, "lower": x * np.exp(-half), "upper": x * np.exp(half)} for x, half in numbers]
    return {"friction": told[0], "time_constant": told[1], "written": result.robot.floor == contact}


def _proven(result: DriveResult) -> dict:
    """Speeds and accelerations that predictions were tried up to, and the errors of faster motion."""
    proven, units = result.proven, [each["q"] for each in dof_units(result.prior)]
    columns = {"speed": proven.range[0], "acceleration": proven.range[1], "fitted_speed": proven.slower[0]}
    joints = of_joints(result.prior.dof_names, units, **columns)
    motion = [_pooled(each) for each in proven.motion]
    return {"beyond": proven.beyond, "joints": joints, "motion": motion, "intervals": not result.prior.floating}


def _pooled(motion: JudgedMotion) -> dict:
    return dict(zip(("name", "windows", "whole"), (motion.name, *motion.pooled), strict=True))


def _screen(result: DriveResult) -> Screen:
    own, verdict = next(each for each in result.motion if each.name == FOUND), drive_verdict(result)
    beaten, clearly = not verdict.forbidding - {HEAVY}, ROUGHLY.isdisjoint(each.code for each in verdict.reasons)
    unit = f"m{length_unit(result.prior)}"
    rivals = {name: each.pooled[0] for name, each in others(result).items() if np.isfinite(each.pooled[0])}
    best = min(rivals, key=lambda name: rivals[name])
    like = "Does not move like" if not beaten else "Moves like" if clearly else "Moves roughly like"
    like = like if HEAVY not in verdict.forbidding else f"Has another mass than its model, and {like.lower()}"
    limits, faster = _limits(result), result.proven.error
    headline = (
        f"{like} the robot: held-out motion errs by {number(1e3 * own.pooled[0])} {unit} in windows of "
        f"{result.window:g} s ({best}: {number(1e3 * rivals[best])})."
    )
    questions = (
        Question(
            "Up to which speed?",
            limits,
            f"Fitted to the slower part of the logs, the model errs by {number(1e3 * faster)} {unit} on their faster "
            "part. Beyond these speeds and accelerations nothing is proven.",
        ),
        Question("What says the scale?", "The given model" if result.scaled else "What was stated", result.scale[0]),
    )
    return Screen.judged(verdict, headline, questions)


def _limits(result: DriveResult) -> str:
    """Speed and acceleration of the fastest joint, and speeds of a free base, up to which predictions hold."""
    unit = length_unit(result.prior)
    base = result.prior.nv - len(result.prior.driven_dofs)
    speed, acceleration = result.proven.range[:, base:].max(axis=1)
    said = f"{number(speed)} {unit}/s and {number(acceleration)} {unit}/s²"
    if not base:
        return said
    ahead, turning = (np.linalg.norm(result.proven.range[0, part]) for part in (slice(0, 3), slice(3, 6)))
    return f"{said} at joints, {number(ahead)} m/s and {number(turning)} rad/s of the base"


def drive_view(record: Record, *, robot: str = "") -> View:
    """View of the record of a run from commands. robot: HTML of its 3D view."""
    found = record.summary
    joints = found["robot"]["joints"]
    sections = [
        Section(
            "How it moves",
            "Motion",
            (
                ReportPart(sheet=motion_sheet(found)),
                ReportPart(robot="The robot as measured and, beside it, as simulated, held out: press Play."),
                ReportPart(sheet=_joint_sheet(found)),
                ReportPart(sheet=proven_sheet(found)),
                ReportPart(figures=tuple(("motion", i) for i in range(len(joints)))),
            ),
        ),
        Section(
            "Drives", "Drives", (ReportPart(items=tuple(found["scale"]["lines"])), ReportPart(sheet=drive_sheet(found)))
        ),
        Section("Bodies", "Bodies", (ReportPart(sheet=_body_sheet(found)),)),
        *([Section("Ground", "Ground", (ReportPart(sheet=ground_sheet(found)),))] if "ground" in found else []),
        *([Section(RANGE_TITLE, "Ranges", tuple(range_parts(found)))] if RANGES in found else []),
    ]
    if found["notes"]:
        sections.append(Section("What was assumed and done", "Notes", (ReportPart(items=tuple(found["notes"])),)))
    sections.append(repeat_section(found))
    figures = {"motion": Figure(motion, curve="motion")}
    return View(
        summary=found,
        title=f"{found['robot']['name']}: identified drives",
        subtitle=f"{found['provenance']['created']} · {found['job']['model']} · "
        f"{plural(len(found['job']['logs']), 'log')} · {found['held_out']['samples']} samples held out",
        sections=sections,
        figures=drawn_figures(record, sections, figures),
        robot=robot,
        printed=(motion_sheet(found), drive_sheet(found)),
    )


def motion_sheet(summary: dict) -> Sheet:
    """Errors of motion of all models and of robots that do next to nothing."""
    rows = [(each["name"], _thousandths(each["windows"]), _thousandths(each["whole"])) for each in summary["motion"]]
    window = summary["held_out"]["window"]
    return sheet(
        "Error of motion",
        f"On held-out samples, over all joints, mrad (mm): in windows that start anew every {window:g} s from the "
        "measured state, and in one piece (of a walk, of 1 s).",
        (("Model", "text"), "Windows", "Whole"),
        rows,
    )


def _names(summary: dict) -> list[str]:
    return shown_names(summary["robot"]["joints"], summary["drives"])


def _joint_sheet(summary: dict) -> Sheet:
    names = [each["name"] for each in summary["motion"]]
    rows = [
        (joint, *(_thousandths(each["joints"][j]["windows"]) for each in summary["motion"]))
        for j, joint in enumerate(_names(summary))
    ]
    return sheet(
        "Error of each joint", "In windows, mrad (mm).", (("Joint", "text"), *names), rows, folded="Each joint"
    )


def proven_sheet(summary: dict) -> Sheet:
    """Speeds and accelerations of every joint up to which predictions hold."""
    found = summary["proven"]
    faster = ", ".join(f"{_thousandths(each['windows'])} {each['name']}" for each in found["motion"])
    rows = [
        (name, number(each["fitted_speed"]), number(each["speed"]), number(each["acceleration"]), each["unit"])
        for name, each in zip(_names(summary), found["joints"], strict=True)
    ]
    return sheet(
        "Proven range",
        f"A fit to the slower part of the logs errs on their faster part, in windows, mrad (mm): {faster}. Beyond "
        "these speeds (per s) and accelerations (per s²) nothing is proven.",
        (("Joint", "text"), "Fitted speed", "Proven speed", "Proven acceleration", ("Unit", "text")),
        rows,
    )


def drive_sheet(summary: dict, *, intervals: bool = True) -> Sheet:
    """Every number of the drives, with its interval if wanted."""
    keys = [key for key in DRIVE_NUMBERS if any(key in each for each in summary["drives"].values())]
    rows = []
    for joint, own in summary["drives"].items():
        rows.append((joint, own["kind"], *(_cell(own.get(key), intervals=intervals) for key in keys)))
    told = "In brackets 95 % intervals of what was found; the rest was stated."
    told = told if intervals else "95 % intervals are in the report; - is undetermined."
    told += "" if summary["proven"].get("intervals", True) else f" {UNPROVEN}"
    scaled = " * counts in masses of the given model." if summary["scale"]["open"] else ""
    return sheet(
        "Drives",
        f"{told} kd shares its column with damping.{scaled}",
        (("Joint", "text"), ("Kind", "text"), *(key.replace("_", " ") for key in keys)),
        rows,
    )


def _cell(told: dict | None, *, intervals: bool) -> Cell:
    if told is None:
        return Cell("")
    if told["state"] == "undetermined":
        return Cell("undetermined" if intervals else "-")
    found = told["state"] == "found"
    note = interval(told["lower"], told["upper"]) if found else "stated"
    note = note if intervals else ""
    return Cell(number(told["value"]), note=note, mark="*" if told["scaled"] and found else "")


def _body_sheet(summary: dict) -> Sheet:
    rows = [(each["name"], Cell(number(each["mass"]), was=number(each["prior"])), "kg") for each in summary["bodies"]]
    caption = "As far as joints feel them; all others stay as they were given."
    caption += "" if summary["proven"].get("intervals", True) else " Mass may have moved between trunk and limbs."
    return sheet("Masses", caption, (("Body", "text"), "Mass", ("Unit", "text")), rows)


def ground_sheet(summary: dict) -> Sheet:
    """What contacts of feet with the ground have."""
    found = summary["ground"]
    rows = [
        (name, Cell(number(found[key]["value"]), note=interval(found[key]["lower"], found[key]["upper"])), unit)
        for name, key, unit in (("friction", "friction", "1"), ("time constant (solref)", "time_constant", "s"))
    ]
    told = "The floor of the written model says so." if found["written"] else NOT_WRITTEN
    return sheet(
        "Contacts of feet", f"In brackets 95 % intervals. {told}", (("Number", "text"), "Found", ("Unit", "text")), rows
    )


def _thousandths(value) -> str:
    return "unstable" if value is None or value > 1e3 else number(1e3 * value)


FILM, FILMED, FRAMES, GAP = "film", 10.0, 200, 0.5  # s, samples, s between which the robot was somewhere else


def drive_curves(result: DriveResult) -> Curves:
    """Held-out positions: measured, commanded where that is a position, and simulated in one piece from its start.
    Pieces follow each other, whatever lay between them."""
    t, measured, simulated, commanded = result.overlay
    series = {"measured": measured, "identified": simulated}
    base = 0
    if commanded is not None:
        series["commanded"] = commanded
        base = result.prior.nv - len(result.prior.driven_dofs)  # nothing commands it
    steps = np.diff(t)
    consecutive = np.cumsum([0.0, *np.where((steps > 0) & (steps <= GAP), steps, GAP)])
    every = screen_curves("motion", consecutive, series)
    found = {key: y for key, y in every if key[1] >= base or key[2] != "commanded"}
    return found | dict(screen_curves(FILM, *_film(t, measured, simulated)))


def _film(t, measured, simulated) -> tuple[np.ndarray, dict[str, np.ndarray]]:
    last = np.flatnonzero((np.diff(t) <= 0) | (np.diff(t) > GAP))
    n = min(int(last[0]) + 1 if len(last) else len(t), int(np.searchsorted(t - t[0], FILMED)))
    some = np.linspace(0, n - 1, min(n, FRAMES)).astype(int)
    return t[some], {"measured": measured[some], "identified": simulated[some]}


def filmed(curves: Curves, joints: int) -> dict[str, tuple[np.ndarray, np.ndarray]]:
    """Times (k,) and positions (k, nv) of the film of a report of so many joints, by name; empty where it has none."""
    found = {}
    for name in ("measured", "identified"):
        own = [curves[FILM, i, name] for i in range(joints) if (FILM, i, name) in curves]
        if len(own) == joints:
            found[name] = (own[0][0], np.stack([y for _, y in own], axis=1))
    return found


def motion(record: Record, joint: str | int):
    """Held-out motion of a joint, by name or index: measured, commanded, and simulated in one piece. Raises OptionError
    for an unknown joint."""
    names = record.summary["robot"]["joints"]
    if joint not in names and joint not in range(len(names)):
        raise OptionError(f"There is no joint {joint!r}; choose from {choices(names)}.")
    i = joint if isinstance(joint, int) else names.index(joint)
    unit = record.summary["motion"][0]["joints"][i]["unit"]
    looks = {"measured": LINES["measured"], "commanded": LINES["given"], "identified": LINES["identified"]}
    traces = curves_of(record.curves, "motion", i, looks)
    title = f"{text(_names(record.summary)[i])}: position, held out, simulated from the start of each piece"
    return drawn(traces, title, {"title": "time in held-out samples [s]"}, {"title": f"position [{unit}]"})
