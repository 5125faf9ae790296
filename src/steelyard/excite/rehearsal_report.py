"""What a rehearsal says: verdict, what would be identified and how well, and figures of both."""

from pathlib import Path

import numpy as np

from steelyard.decisions.verdict import GOOD, MOTION, USE, Reason, Verdict
from steelyard.excite.rehearsal import Rehearsal
from steelyard.numbers import number, percent, plural
from steelyard.report.document import ReportPart, Screen, Section, View
from steelyard.report.figure_style import IDENTIFIED, NOMINAL, drawn, log_axis
from steelyard.report.outputs import write_file
from steelyard.report.schema import jsonable
from steelyard.sheets import Sheet, sheet

USABLE, COVERED = 0.5, 0.8  # of the model's error, and of the truths in their intervals: a rehearsal that went well
BEST = "This is the best case, without flexible joints, cables and friction of other forms, which decide real errors."


def rehearsal_view(found: Rehearsal) -> View:
    """The report, with tables and a figure."""
    screen = _screen(found)
    parts = (ReportPart(sheet=_by_part(found)), ReportPart(sheet=_table(found)))
    shorter = Section("How much of the motion is needed", "shorter", (ReportPart(figures=(("shorter", 0),)),))
    return View(
        summary={"kind": "rehearsal", "verdict": screen.as_json(), **as_json(found)},
        title=f"Rehearsal of {found.robot.name}",
        subtitle=f"{number(found.duration)} s, {plural(len(found.trials), 'truth')} in MuJoCo",
        sections=(Section("What would be identified", "identified", parts), shorter),
        figures={("shorter", 0): _shorter(found)},
        files="",
    )


def write_rehearsal_page(found: Rehearsal, path: Path, *, inputs=()) -> Path:
    """The report as a page, whole or not at all. Raises OptionError: it cannot be written, or is one of `inputs`."""
    from steelyard.report.rendering import page

    return write_file(path, page(rehearsal_view(found)).encode(), what="Page", inputs=inputs)


def as_json(found: Rehearsal) -> dict:
    """Plain values; the keys are in docs/files.md."""
    given, left = found.errors
    keys = ("name", "unit", "shown", "promised", "reached", "held")
    rows = zip(found.names, found.units, found.shown, found.promised, found.reached, found.held, strict=True)
    return jsonable(
        {
            "robot": found.robot.name,
            "duration": found.duration,
            "truths": len(found.trials),
            "error_of": "motion" if found.moved else "torque",
            "model_error": given,
            "identified_error": left,
            "shortest": found.shortest,
            "shorter": [
                {"duration": share * found.duration, "identified_error": error} for share, error in found.shorter
            ],
            "parameters": [dict(zip(keys, row, strict=True)) for row in rows],
        }
    )


def _error(found: Rehearsal, value: float) -> str:
    return f"{number(1e3 * value)} mrad (mm)" if found.moved else percent(value)


def _screen(found: Rehearsal) -> Screen:
    given, left = found.errors
    count, covered = int(found.shown.sum()), found.covered
    what = "windows of motion" if found.moved else "torques"
    headline = (
        f"Of {plural(len(found.names), 'parameter')} the data would decide {count}, and {what} of a random motion as "
        f"fast as limits allow would be predicted to {_error(found, left)} "
        f"({'going where commanded' if found.moved else 'the model'}: {_error(found, given)})."
    )
    reasons = []
    if left > USABLE * given:
        words = "Little is gained: move faster or through more of the range (steelyard excite), or longer."
        reasons.append(Reason("little_gained", words, USE if left >= given else GOOD))
    if covered < COVERED:
        words = f"Only {percent(covered)} of the truths lie in their 95 % intervals: these promise too much here."
        reasons.append(Reason("intervals", words))
    if found.shortest is not None:
        words = f"{number(found.shortest)} s of it would do: the rest hardly makes errors smaller."
        reasons.append(Reason("long", words, ""))
    elif found.shorter[-2][1] is None or found.shorter[-2][1] > found.enough:
        reasons.append(Reason("short", "Errors still fall at its end: a longer motion shows more.", ""))
    reasons += [Reason("note", words, "") for words in (*found.trials[0].notes, BEST)]
    return Screen.judged(Verdict(tuple(reasons), MOTION), headline)


def _by_part(found: Rehearsal) -> Sheet:
    rows = []
    own = np.array([name.rpartition(".")[0] for name in found.names])
    for part in dict.fromkeys(own):
        chosen = own == part
        shown = chosen & found.shown
        worst = [percent(x[shown].max()) if shown.any() else "" for x in (found.promised, found.reached)]
        held = f"{found.held[shown].sum()} of {shown.sum() * len(found.trials)}" if shown.any() else ""
        rows.append((part, f"{shown.sum()} of {chosen.sum()}", *worst, held))
    return sheet(
        "Links and joints",
        "Parameters that the data decide. Of these, in shares of each one's natural size: half of the widest 95 % "
        "interval, the largest error that was made (RMS over the truths), and how many truths lay in their intervals.",
        (("Part", "text"), "Decided", "Half interval up to", "Error up to", "In the interval"),
        rows,
    )


def _table(found: Rehearsal) -> Sheet:
    order = np.argsort(np.where(found.shown, found.promised, np.inf), kind="stable")
    rows = [
        (
            found.names[k],
            percent(float(found.promised[k])) if found.shown[k] else "rests on the model",
            percent(float(found.reached[k])),
            f"{found.held[k]} of {len(found.trials)}",
        )
        for k in order
    ]
    return sheet(
        "Parameters",
        "Shares of each one's natural size: half of its 95 % interval, the error that was made (RMS over the truths), "
        "and how many truths lay in their intervals.",
        (("Parameter", "text"), "Half interval", "Error", "In the interval"),
        rows,
        folded="Every parameter",
    )


def _shorter(found: Rehearsal) -> dict:
    told = [(share * found.duration, error) for share, error in found.shorter if error is not None]
    factor, unit = (1e3, "mrad (mm)") if found.moved else (100.0, "%")
    x, y = [each[0] for each in told], [factor * each[1] for each in told]
    look = {"color": IDENTIFIED, "width": 2}
    trace = {"type": "scatter", "x": x, "y": y, "mode": "lines+markers", "name": "identified", "line": look}
    given = factor * found.trials[0].given
    other = {"type": "scatter", "x": [0.0, found.duration], "y": [given, given], "mode": "lines"}
    name = "going where commanded" if found.moved else "model"
    other |= {"name": name, "line": {"color": NOMINAL, "dash": "dot"}}
    title = "Error on unlike motion, by how much of the motion is recorded"
    return drawn([trace, other], title, {"title": "duration [s]"}, log_axis(f"error [{unit}]"))
