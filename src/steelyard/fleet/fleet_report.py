"""What is shown of a fleet: its files, together or not at all; its tables on the terminal and on a page of its own.

The page needs no network; every number on it is of the summary, and figures stand beside theirs.
"""

import json
import re
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

from rich.console import Group

from steelyard.fleet.fleet_models import Fits
from steelyard.fleet.fleet_study import Study
from steelyard.fleet.fleet_summary import summary
from steelyard.information import save_information
from steelyard.model import save
from steelyard.numbers import number, percent, share, size
from steelyard.report.console import shown
from steelyard.report.document import ReportPart, Screen, Section, View
from steelyard.report.figure_style import POINTS, drawn, points, text
from steelyard.report.outputs import staged
from steelyard.report.rendering import page
from steelyard.sheets import ROWS, Sheet, sheet

MODELS = "models"
SUMMARY, REPORT, SUMS = "fleet.json", "fleet.html", "information.npz"
TEXT, WRAP = "text", "wrap"  # kinds of columns


def write(study: Study, fits: Fits, out) -> dict:
    """Write everything to the folder `out`. Returns the summary.

    `NAME_fleet` is the model of what the robots have in common, `models/ROBOT` those of each; a single robot has
    `NAME_identified`. Raises OptionError where the folder cannot be written.
    """
    sums = study.accumulation
    model = Path(sums.job.model)
    single = len(study.members) == 1
    with staged(out, inputs=[model]) as stage:
        files = []
        common = stage / f"{model.stem}_{'identified' if single else 'fleet'}{model.suffix}"
        for robot, path in [(fits.common.require_robot(), common), *([] if single else _members(fits, stage, model))]:
            files += [file.relative_to(stage).as_posix() for file in save(robot, path).files]
        save_information(sums.fitted, stage / SUMS)
        found = summary(study, fits, files=[*files, SUMS, SUMMARY, REPORT]) | {"out": str(out)}
        text = json.dumps(found, indent=1, ensure_ascii=False, allow_nan=False)
        (stage / SUMMARY).write_text(text + "\n", encoding="utf-8", errors="backslashreplace")
        (stage / REPORT).write_text(page(view(found)), encoding="utf-8", errors="backslashreplace")
    return found


def _members(fits: Fits, stage: Path, model: Path):
    """Robots and the paths of their models; what a file name cannot hold is replaced, and never two by the same."""
    used: set[str] = set()
    for name, fit in fits.members.items():
        if fit.estimate is None:
            continue
        plain = base = re.sub(r"[^\w.-]+", "_", name).lstrip(".") or "robot"
        count = 1
        while plain.lower() in used:
            count += 1
            plain = f"{base}_{count}"
        used.add(plain.lower())
        yield fit.estimate.require_robot(), stage / MODELS / f"{plain}{model.suffix}"


def overview(found: dict) -> Group:
    """What `steelyard fleet` prints, from a summary."""
    work = found["work"]
    about = (
        f"{found['runs']} runs of {len(found['robots'])} robots: {_samples(found)}; {work['computed']} computed, "
        f"{work['reused']} reused, on {work['where']}.\n{errors(found)}"
    )
    tables = (change_sheet(found), outlier_sheet(found), motion_sheet(found), failure_sheet(found))
    screen = replace(_screen(found), advice=about)
    return shown(screen, [_first(each) for each in tables if each.rows], notes=found["notes"], files=found)


def _first(table: Sheet) -> Sheet:
    more = f" {len(table.rows) - ROWS} more are in the report." if len(table.rows) > ROWS else ""
    return replace(table, caption=table.caption + more, rows=table.rows[:ROWS])


def has_findings(found: dict) -> bool:
    """Whether anything was found that a person should see."""
    robots = found["robots"]
    told = any(robot["changes"] or robot["outlier"] or robot["needs_motion"] for robot in robots)
    return told or bool(found["failures"] or found["silent"])


def headline(found: dict) -> str:
    """How many robots changed, stand out and need a motion, and how many logs failed."""
    changed = sum(bool(robot["changes"]) for robot in found["robots"])
    apart = sum(robot["outlier"] is not None for robot in found["robots"])
    needy = sum(robot["needs_motion"] for robot in found["robots"]) + len(found["silent"])
    parts = [
        f"{changed} of {len(found['robots'])} robots changed",
        f"{apart} stand out",
        f"{needy} need a new motion",
        f"{len(found['failures'])} logs failed",
    ]
    return ", ".join(parts) + "."


def errors(found: dict) -> str:
    """Held-out errors in one sentence."""
    held = found["held_out"]
    if held["own"] is None:
        return "No robot could be fitted on its own."
    given, fleet, own = (percent(held[name]) for name in ("given", "fleet", "own"))
    models = f"{given} with the nominal model, {fleet} with the fleet's, {own} with its own"
    return f"Held-out torque error of the median robot: {models}."


def _samples(found: dict) -> str:
    samples = found["samples"]
    return f"{samples['read']} samples read, {samples['fitted']} fitted, {samples['held']} held out"


def view(found: dict) -> View:
    """The page of a summary."""
    work, many = found["work"], len(found["robots"])
    return View(
        summary=found | {"verdict": _screen(found).as_json()},
        title=f"{found['robot']}: {many} robot{'s' if many > 1 else ''}",
        subtitle=f"{found['created']} · {found['model']} · {found['runs']} runs, {_samples(found)} · "
        f"{size(work['bytes'])}",
        sections=[
            Section("Changes", "Changes", tuple(_changes(found))),
            _tables("Robots unlike the others", "Outliers", outlier_sheet(found), "None."),
            _tables("Robots", "Robots", robot_sheet(found)),
            _tables("What the robots have in common", "Population", population_sheet(found)),
            _tables("Logs that are not in the sums", "Failures", failure_sheet(found), "All logs were used."),
            *([Section("Notes", "Notes", (ReportPart(items=tuple(found["notes"])),))] if found["notes"] else []),
        ],
        figures={("course", k): course(each) for k, (_, each) in enumerate(_all_changes(found)) if each["course"]},
        foot=f"steelyard {found['version'] or ''} · Python {found['python']} · {work['where']}, {work['computed']} "
        f"partitions computed, {work['reused']} reused, {number(work['seconds'])} s of work",
        files=SUMMARY,
    )


def _screen(found: dict) -> Screen:
    advice = (
        f"{errors(found)} The probability of any false alarm among the changes of all robots together is at most "
        f"{percent(found['false_alarm'])}, and that of any false outlier, too."
    )
    return Screen("care" if has_findings(found) else "good", headline(found), advice)


def _tables(title: str, anchor: str, table: Sheet, nothing: str = "") -> Section:
    return Section(title, anchor, (ReportPart(sheet=table) if table.rows or not nothing else ReportPart(text=nothing),))


def _changes(found: dict) -> Iterator[ReportPart]:
    rows = _all_changes(found)
    if not rows:
        yield ReportPart(text="No robot changed between its runs.")
    for k, (robot, change) in enumerate(rows):
        since = "Since" if change["shape"] == "step" else "A drift from"
        until = f" to {change['last']['when']}" if change["shape"] == "drift" else ""
        rivals = f" Or {', or '.join(change['or'])}." if change["or"] else ""
        yield ReportPart(
            text=f"{robot['name']}: {change['words']}. {since} {change['first']['when']} ({change['first']['log']})"
            f"{until}, seen at {change['seen']['when']}; p-value over the whole fleet: "
            f"{number(change['probability'])}.{rivals}",
            sheet=_amount_sheet(robot, change) if change["kind"] != "other" else None,
            figures=(("course", k),) if change["course"] else (),
        )


def _all_changes(found: dict) -> list[tuple[dict, dict]]:
    return [(robot, change) for robot in found["robots"] for change in robot["changes"]]


def _amount_sheet(robot: dict, change: dict) -> Sheet:
    return sheet(
        f"{robot['name']}: change ± standard deviation",
        "",
        (("Parameter", TEXT), "Change", ("Unit", TEXT)),
        [
            (each["parameter"], f"{number(each['change'])} ± {number(each['deviation'])}", each["unit"])
            for each in change["amounts"]
            if each["change"] is not None
        ],
    )


def change_sheet(found: dict) -> Sheet:
    """Every change in a row."""
    return sheet(
        "Changes",
        f"probability of any false one in all of this: at most {found['false_alarm']:g}.",
        [(title, WRAP) for title in ("Robot", "What", "From", "Shape", "Alternative", "p-value")],
        [
            (
                robot["name"],
                change["words"],
                change["first"]["when"],
                change["shape"],
                ", ".join(change["or"]),
                f"{change['probability']:.1g}",
            )
            for robot, change in _all_changes(found)
        ],
    )


def outlier_sheet(found: dict) -> Sheet:
    """Robots that the others do not explain."""
    rows = [(robot["name"], robot["outlier"]) for robot in found["robots"] if robot["outlier"]]
    return sheet(
        "Robots unlike the others",
        "how, and what else it may be.",
        (("Robot", TEXT), ("How", WRAP), ("Alternative", WRAP), "p-value"),
        [(name, out["words"], ", ".join(out["or"]), f"{out['probability']:.1g}") for name, out in rows],
    )


def motion_sheet(found: dict) -> Sheet:
    """Robots whose runs leave too much open, the worst first."""
    rows = [(robot["name"], robot["unknown"], robot["weakest"]) for robot in found["robots"] if robot["needs_motion"]]
    rows += [(name, 1.0, ("no usable run",)) for name in found["silent"]]
    return sheet(
        "Robots that need a new motion",
        "how much is unknown, and what is least known.",
        (("Robot", TEXT), "Unknown share", ("Least known", WRAP)),
        [(name, percent(unknown), ", ".join(weakest)) for name, unknown, weakest in sorted(rows, key=lambda r: -r[1])],
    )


def robot_sheet(found: dict) -> Sheet:
    """All robots as they are now, with their errors."""
    rows = [
        (
            robot["name"],
            str(len(robot["runs"])),
            robot["since"],
            percent(robot["unknown"]) + (" (new motion)" if robot["needs_motion"] else ""),
            ", ".join(robot["weakest"]),
            *(share(robot["held_out"].get(name)) for name in ("given", "fleet")),
            share(robot["held_out"].get("own")) if robot["fitted"] else "refused",
        )
        for robot in found["robots"]
    ]
    rows += [(name, "0", "–", "100 % (new motion)", "no usable run", *"–––") for name in found["silent"]]
    errors = ("Error: nominal", "fleet's model", "own model")
    return sheet(
        "Robots",
        "Unknown share: of all combinations that a usual run determines and robots differ in, the largest share of the "
        "difference that this robot's runs leave unknown; above a half it needs a new motion. Errors: RMS on held-out "
        "samples over RMS torque.",
        (("Robot", TEXT), "Runs", ("Unchanged since", TEXT), "Unknown share", ("Least known", WRAP), *errors),
        rows,
    )


def population_sheet(found: dict) -> Sheet:
    """Mean and spread of every identifiable combination."""
    keys = ("mean", "deviation", "between_robots", "between_runs")
    rows = [(each["name"], *(number(each[key]) for key in keys), each["unit"]) for each in found["population"]]
    return sheet(
        "Population",
        "Mean of all robots but outliers, its standard error, and standard deviations between robots and between runs.",
        (("Name", TEXT), "Mean", "Standard error", "SD between robots", "SD between runs", ("Unit", TEXT)),
        rows,
        folded=f"{len(rows)} identifiable combinations: mean and standard deviations",
    )


def failure_sheet(found: dict) -> Sheet:
    """Logs, or rows of logs, that were left out, and why."""
    rows = [
        (
            each["robot"],
            "/".join(each["log"].replace("\\", "/").split("/")[-2:]),
            " to ".join(map(str, each["rows"])) if each["rows"] else "all",
            each["kind"],
            each["reason"],
        )
        for each in found["failures"]
    ]
    return sheet(
        "Logs that are not in the sums",
        "refused for what they are, or failed.",
        (("Robot", TEXT), ("Log", WRAP), ("Rows", TEXT), ("Kind", TEXT), ("Reason", WRAP)),
        rows,
    )


def course(change: dict) -> dict:
    """A parameter run by run with two deviations either way; runs from the change on are filled."""
    told, first, traces = change["course"], change["first"]["place"], []
    for name, look, runs in (("before", "nominal", slice(first)), ("after", "identified", slice(first, None))):
        places = list(range(1, len(told["values"]) + 1))[runs]
        color, symbol = POINTS[look]
        trace = points(name, places, told["values"][runs], map(str, places), unit=told["unit"], marker={"color": color})
        bars = {"type": "data", "array": [d and 2 * d for d in told["deviations"][runs]], "color": color}
        traces.append(trace | {"marker": {"color": color, "symbol": symbol, "size": 8}, "error_y": bars})
    title, unit = text(told["parameter"]), text(told["unit"])
    return drawn(traces, f"{title}, bars of two standard deviations", {"title": "run"}, {"title": f"{title} [{unit}]"})
