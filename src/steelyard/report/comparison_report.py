"""Several results side by side: which predicts best, and whether their numbers agree within their deviations."""

from collections.abc import Iterator, Sequence
from math import inf
from pathlib import Path

from steelyard.cards import SEVERAL
from steelyard.errors import OptionError
from steelyard.fit import Repeatability, compare_runs
from steelyard.inertia.parameters import DIAGONAL_FIRST
from steelyard.numbers import DASH, SAME, in_percent, interval, number, plural, plus_minus, share, times, unit
from steelyard.report.document import Question, ReportPart, Screen, Section, View
from steelyard.report.figure_style import SERIES, SYMBOLS, drawn, log_axis, name_axis, points
from steelyard.report.labels import DETERMINED
from steelyard.report.record import Record
from steelyard.report.schema import SCHEMA_VERSION, jsonable
from steelyard.sheets import ROWS, Cell, Sheet, sheet

REPEATS = 1.5  # spread over predicted spread, up to which runs repeat
LEVELS = {"good": "use it", "care": "with care", "keep": "not yet"}
APART = 0.5  # width that the results of one name share


def comparison_summary(
    records: Sequence[Record], folders: Sequence[Path], *, out=None, files: Sequence[str] = ()
) -> dict:
    """Summary of kind `comparison` of two results or more, named by folders. Raises OptionError for one, or kinds
    mixed."""
    if len(records) < 2 or len({record.kind for record in records}) > 1:
        raise OptionError(
            "A comparison takes two results or more, all of robots or all of payloads; got "
            + ", ".join(f"{folder} ({record.kind})" for folder, record in zip(folders, records, strict=True))
        )
    names = _names(folders)
    summaries = [record.summary for record in records]
    found = _repeatability(names, summaries)
    runs = [_run(*each) for each in zip(names, folders, summaries, strict=True)]
    values = [] if found is None else list(_values(found, summaries))
    return jsonable(
        {
            "schema_version": SCHEMA_VERSION,
            "kind": "comparison",
            "verdict": _screen(runs, found, values).as_json(),
            "runs": runs,
            "joints": list(_joints(summaries)),
            "values": values,
            "ratio": None if found is None else found.ratio,
            "masses": list(_masses(summaries)),
            "out": None if out is None else str(out),
            "files": list(files),
        }
    )


def _names(folders: Sequence[Path]) -> list[str]:
    parts = [Path(folder).absolute().parts for folder in folders]
    for length in range(1, max(map(len, parts)) + 1):
        names = ["/".join(each[-length:]) for each in parts]
        if len(set(names)) == len(names):
            return names
    raise OptionError(f"The same folder was given twice: {', '.join(map(str, folders))}. Give each once.")


def _run(name: str, folder: Path, found: dict) -> dict:
    robot = found["kind"] == "identification"
    return {
        "name": name,
        "folder": str(folder),
        "kind": found["kind"],
        "subject": found["robot"]["name"] if robot else found["job"]["log"],
        "created": found["provenance"]["created"],
        "method": (found["fit"] if robot else found["payload"])["method"],
        "samples": (found["fit"] if robot else found["payload"])["samples"],
        "level": found["verdict"]["level"],
        "error": found["held_out"]["relative_error_after"] if robot else found["relative_error"],
        "error_before": found["held_out"]["relative_error_before"] if robot else None,
        "command": found["command"],
    }


def _joints(summaries: Sequence[dict]) -> Iterator[dict]:
    held = [{joint["name"]: joint for joint in each.get("held_out", {"joints": []})["joints"]} for each in summaries]
    units = {name: joint["unit"] for each in reversed(held) for name, joint in each.items()}
    for name in dict.fromkeys(name for each in held for name in each):
        errors = [each[name]["relative_after"] if name in each else None for each in held]
        yield {"name": name, "unit": units[name], "relative_errors": errors}


def _masses(summaries: Sequence[dict]) -> Iterator[dict]:
    if summaries[0]["kind"] != "identification":
        return
    found = [{each["name"]: each for each in summary["parameters"]} for summary in summaries]
    for name in dict.fromkeys(body["name"] for summary in summaries for body in summary["bodies"]):
        rows = [each.get(f"{name}.m") for each in found]
        keys = {"value": "identified", "lower": "lower", "upper": "upper", "label": "label"}
        yield {"name": name, "runs": [row and {key: row[own] for key, own in keys.items()} for row in rows]}


def _repeatability(names: Sequence[str], summaries: Sequence[dict]) -> Repeatability | None:
    """Of the numbers that all runs determine from their own data; None where they share none."""
    measured = [_measured(each) for each in summaries]
    common = [key for key in measured[0] if all(_same(each.get(key), measured[0][key]) for each in measured)]
    if not common:
        return None
    tables = ([[each[key][i] for key in common] for each in measured] for i in range(3))
    return compare_runs(names, common, *tables)


def _measured(found: dict) -> dict[str, tuple]:
    """Estimate, deviation, degrees of freedom and combination of what a run determines, by name."""
    if found["kind"] == "payload":
        return _of_payload(found["payload"])
    return {
        each["name"]: (each["identified"], each["deviation"], each["degrees"] or inf, each["regroups"])
        for each in found["base_parameters"]
        if each["label"] in DETERMINED and each["deviation"]
    }


def _of_payload(found: dict) -> dict[str, tuple]:
    values = {"mass": (found["mass"], found["mass_deviation"])}
    for i, axis in enumerate("xyz"):
        values[f"com {axis}"] = found["com"][i], found["com_deviation"][i]
    for i, j in DIAGONAL_FIRST:
        values[f"I{'xyz'[i]}{'xyz'[j]}"] = found["inertia"][i][j], found["inertia_deviation"][i][j]
    return {key: (*value, inf, [[1.0, key]]) for key, value in values.items() if value[1]}


def _same(row: tuple | None, first: tuple) -> bool:
    if row is None:
        return False
    mine, other = ({name: factor for factor, name in each[3]} for each in (row, first))
    return all(abs(mine.get(name, 0.0) - other.get(name, 0.0)) < SAME for name in mine | other)


def _values(found: Repeatability, summaries: Sequence[dict]) -> Iterator[dict]:
    units = {each["name"]: each["unit"] for each in summaries[0].get("base_parameters", ())}
    for i, name in enumerate(found.names):
        yield {
            "name": name,
            "unit": units.get(name) or ("kg" if name == "mass" else "m" if name.startswith("com") else "kg m^2"),
            "estimates": found.estimates[:, i],
            "deviations": found.deviations[:, i],
            "pooled": found.pooled[i],
            "spread": found.spread[i],
            "predicted": found.predicted[i],
            "probability": found.p[i],
            "outlier": found.runs[found.outlier[i]],
            "differs": bool(found.differs[i]),
        }


def _screen(runs: list[dict], found: Repeatability | None, values: list[dict]) -> Screen:
    known = [run for run in runs if run["error"] is not None]
    best = min(known, key=lambda run: run["error"]) if known else None
    differs = [each for each in values if each["differs"]]
    usable = [run for run in runs if run["level"] != "keep"]
    changed = min(differs, key=lambda each: each["probability"])["name"] if differs else "Nothing significantly"
    agree = found is not None and not differs and found.ratio <= REPEATS
    if found is None:
        headline = "These results determine no number in common, so only their errors can be compared."
        advice = "Compare runs of the same robot with the same options to see whether they repeat."
    elif agree:
        headline = f"They agree: no significant difference (5 %) between the {len(runs)} results."
        advice = f"Their numbers spread {times(found.ratio)} times as far as their own deviations predict."
    else:
        headline = f"They differ: {len(differs)} of {len(values)} numbers significantly (5 %)."
        advice = (
            f"Their numbers spread {times(found.ratio)} times as far as their own deviations predict. Something "
            "changed, such as temperature, load, wear, the robot or the options."
        )
    questions = (
        Question(
            "Do they agree?",
            "Not comparable" if found is None else "Yes" if agree else "No",
            f"{plural(len(values), 'number')} that every result determines from its own data.",
        ),
        Question(
            "Which predicts best?",
            "Unknown" if best is None else best["name"],
            "; ".join(f"{run['name']}: {share(run['error'])}" for run in runs) + ".",
        ),
        Question("What changed most?", changed, "The number of the most significant difference."),
        Question(
            "May I use them?",
            f"{len(usable)} of {len(runs)}",
            "Results whose own verdict is to use them, perhaps with care.",
        ),
    )
    reasons = () if found is None else tuple(found.explain())[:SEVERAL]
    return Screen("good" if agree else "care", headline, advice, reasons, questions)


def comparison_view(found: dict) -> View:
    """View of a comparison, from its summary."""
    sections = _sections(found)
    draw = {"run_errors": _error_figure, "run_masses": _mass_figure}
    return View(
        summary=found,
        title=f"{len(found['runs'])} results side by side",
        subtitle=" · ".join(run["folder"] for run in found["runs"]),
        sections=sections,
        figures={key: draw[key[0]](found) for section in sections for key in section.figures},
    )


def _sections(found: dict) -> list[Section]:
    errors = [ReportPart(sheet=_result_sheet(found))]
    if found["joints"]:
        errors += [ReportPart(figures=(("run_errors", 0),)), ReportPart(sheet=_joint_sheet(found))]
    sections = [Section("What was compared", "Results", tuple(errors))]
    if found["values"]:
        sections.append(Section("Do the numbers repeat?", "Repeatability", (ReportPart(sheet=_value_sheet(found)),)))
    if found["masses"]:
        parts = ReportPart(figures=(("run_masses", 0),)), ReportPart(sheet=_mass_sheet(found))
        sections.append(Section("Links", "Links", parts))
    commands = "\n".join(run["command"] for run in found["runs"])
    return [*sections, Section("How to repeat these results", "Repeat", (ReportPart(code=commands),))]


def _result_sheet(summary: dict) -> Sheet:
    return sheet(
        "Results",
        "Error: torques on held-out samples, or of a payload's wrench, over the signal.",
        {
            ("Result", "text"): "name",
            ("Robot or log", "text"): "subject",
            ("Computed", "text"): lambda each: each["created"][:16].replace("T", " "),
            "Samples": lambda each: str(each["samples"]),
            "Before": lambda each: share(each["error_before"]),
            "After": lambda each: share(each["error"]),
            ("May I use it?", "text"): lambda each: LEVELS[each["level"]],
            ("Method", "wrap"): "method",
        },
        summary["runs"],
    )


def _joint_sheet(summary: dict) -> Sheet:
    return sheet(
        "Error of each joint",
        "Over the RMS of the measured torque, on held-out samples.",
        (("Joint", "text"), *(run["name"] for run in summary["runs"])),
        [(each["name"], *map(share, each["relative_errors"])) for each in summary["joints"]],
    )


def _value_sheet(summary: dict) -> Sheet:
    """Numbers all results determine, the most significant differences first."""
    found = sorted(summary["values"], key=lambda each: each["probability"])
    return sheet(
        "Numbers that every result determines",
        "± one standard deviation, the most significant differences first. Spread: of the estimates; expected: what "
        "their own deviations predict. Differs: significantly (Welch's analysis of variance, 5 % for all together).",
        {
            ("Name", "text"): "name",
            **{
                (run["name"], "number"): lambda each, k=k: plus_minus(each["estimates"][k], each["deviations"][k])
                for k, run in enumerate(summary["runs"])
            },
            "Spread": "spread",
            "Expected": "predicted",
            ("Differs", "text"): lambda each: f"yes, most in {each['outlier']}" if each["differs"] else "no",
            ("Unit", "text"): lambda each: unit(each["unit"]),
        },
        found,
        folded="" if len(found) <= ROWS else f"{len(found)} numbers, those that differ most first",
    )


def _mass_sheet(summary: dict) -> Sheet:
    rows = [(each["name"], *map(_mass, each["runs"])) for each in summary["masses"]]
    return sheet(
        "Mass of each link",
        "kg, with what determines it and its interval.",
        (("Link", "text"), *(run["name"] for run in summary["runs"])),
        rows,
    )


def _mass(row: dict | None) -> Cell:
    if row is None:
        return Cell(DASH)
    return Cell(number(row["value"]), note=f"{interval(row['lower'], row['upper'])}, {row['label']}")


def _error_figure(summary: dict):
    joints = summary["joints"]
    rows = [[in_percent(each["relative_errors"][k]) for each in joints] for k in range(len(summary["runs"]))]
    names = [each["name"] for each in joints]
    traces, axis = _points(summary, names, rows, "%"), log_axis("RMS error over RMS torque [%]")
    return drawn(traces, "Held-out error of each joint", name_axis(names), axis)


def _mass_figure(summary: dict):
    links = summary["masses"]
    found = [[each["runs"][k] for each in links] for k in range(len(summary["runs"]))]
    rows = [[None if each is None else each["value"] for each in row] for row in found]
    spans = [[None if each is None else (each["lower"], each["upper"]) for each in row] for row in found]
    names = [each["name"] for each in links]
    traces = _points(summary, names, rows, "kg", spans)
    return drawn(traces, "Mass of each link, with intervals", name_axis(names), log_axis("mass [kg]"))


def _points(summary: dict, names, rows, unit: str, spans=None):
    count = len(summary["runs"])
    traces = []
    for k, run in enumerate(summary["runs"]):
        x = [i + APART * ((k + 0.5) / count - 0.5) for i in range(len(names))]
        marker = {"color": SERIES[k % len(SERIES)], "symbol": SYMBOLS[k % len(SYMBOLS)], "size": 9}
        reach = None if spans is None else spans[k]
        traces.append(points(run["name"], x, rows[k], names, unit=unit, marker=marker, spans=reach, bar=4))
    return traces
