"""Findings as text, JSON, SARIF 2.1.0, Markdown and annotations of GitHub Actions."""

import json
from collections import defaultdict
from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING
from urllib.parse import quote

import numpy as np

from steelyard.check.catalog import BY_CODE, RULES
from steelyard.check.engine_adapters import ENVIRONMENT
from steelyard.check.overview import Checked, merged
from steelyard.check.overview import summary as by_code
from steelyard.check.overview import table as by_model
from steelyard.check.rule import Finding, Findings, counted
from steelyard.model.sketch import Inertial
from steelyard.sheets import ROWS, markdown_table, markdown_text, sheet, text_table

if TYPE_CHECKING:
    from steelyard.check.engines import EngineComparison, EngineReading
    from steelyard.check.repaired_copy import Repair

FORMATS = ("text", "json", "sarif", "markdown", "github")
COLOURS = {"error": "1;31", "warning": "33", "info": "36"}  # bold red, yellow and cyan of an ANSI terminal
LOST = ("SY601", "SY603", "SY604")  # files that were not read
LEVELS = {"error": "error", "warning": "warning", "info": "note"}  # of SARIF
# Names of files and links are others': a control character among them would be obeyed by the terminal.
HARMLESS = dict.fromkeys((*range(32), *range(127, 160)), "?")
SCHEMA = "https://json.schemastore.org/sarif-2.1.0.json"


def text(
    findings: Findings, repairs: Sequence["Repair"] = (), *, models: Sequence[Checked] = (), by_rule=False, colour=False
) -> str:
    """A count, lines `file:line: CODE message`, and repairs; ANSI colours when asked for.

    models: shown as a table instead of the lines, a row a model. by_rule: a row a rule instead.
    """
    found = sorted(merged(findings), key=lambda each: each.code not in LOST)  # without meshes most rules say nothing
    more = [f"note: {note}" for note in findings.notes]
    if models:
        found, more = [], by_code(models) if by_rule else by_model(models)
    more += [line for each in repairs for line in repair_lines(each)]
    lines = [_finding_line(each, colour) for each in found] + [line.translate(HARMLESS) for line in more]
    return "".join(f"{line}\n" for line in [count_line(findings), *lines])


def _finding_line(f: Finding, colour: bool) -> str:
    what = f"{f.code} {f.severity}"
    shown = f"\x1b[{COLOURS[f.severity]}m{what}\x1b[0m" if colour else what
    where, told = f"{f.path}:{f.line}".translate(HARMLESS), f"{f.message} {f.remedy}".translate(HARMLESS)
    return f"{where}: {shown} {told}"


def count_line(findings: Findings) -> str:
    """Number of findings by severity and of files."""
    files = f"{len(findings.files)} model{'s' * (len(findings.files) != 1)} checked"
    if not findings.items:
        return f"{files}: nothing found."
    return f"{files}: {counted(findings.counts)}."


def repair_lines(repair: "Repair") -> list[str]:
    """Every change with its numbers before and after, and the effect on joint torques."""
    lines = [f"{repair.source} -> {repair.path}: {len(repair.changes)} inertials repaired"]
    for name, change in zip(repair.names, repair.changes, strict=True):
        lines.append(f"  {name} ({', '.join(change.codes)}): {'; '.join(change.how)}")
        lines += [
            f"    {label:<28} {old} -> {new}" for label, old, new in _rows(change.before, change.after) if old != new
        ]
    if repair.effects is None:
        lines.append("  effect on torques: unknown, because the model as it was cannot be used as a robot")
    for each in sorted(repair.effects or (), key=lambda e: -e.change):
        if each.change > 1e-9:
            lines.append(
                f"  torque of {each.joint}: rms {each.before:.4g}, changed by rms {each.change:.4g} over random motions"
            )
    if repair.left:
        codes = ",".join(repair.left)
        lines.append(f"  not repaired, because the model may be right: {codes} (--fix=all, or --fix={codes})")
    left = repair.remaining.counts
    lines.append(f"  a second check finds {left['error']} errors, {left['warning']} warnings, {left['info']} notes")
    return lines


def _rows(before: Inertial | None, after: Inertial) -> list[tuple[str, str, str]]:
    def numbers(values) -> str:
        return " ".join(f"{value:.6g}" for value in np.ravel(values))

    def row(label, get):
        return label, "none" if before is None else numbers(get(before)), numbers(get(after))

    six = (0, 0, 0, 1, 1, 2), (0, 1, 2, 1, 2, 2)
    return [
        row("mass [kg]", lambda i: i.mass),
        row("centre of mass [m]", lambda i: i.com),
        row("ixx ixy ixz iyy iyz izz", lambda i: i.tensor[six]),
    ]


LEVEL = ("good", "care", "refused")  # of the exit statuses


def to_json(
    findings: Findings,
    repairs: Sequence["Repair"] = (),
    errors: Sequence[str] = (),
    *,
    models: Sequence[Checked] = (),
    fixed: Sequence[str] = (),
    status: int = 0,
    engines: Sequence["EngineComparison"] = (),
) -> str:
    """One JSON object, `schema` 1: models each by itself, fixed findings of a baseline. Numbers that are not finite are
    null."""
    items = [vars(f) | {"name": BY_CODE[f.code].name, "file": f.file or None} for f in findings]
    document = {
        "schema": 1,
        "schema_version": 1,
        "status": status,
        "verdict": {"level": LEVEL[status]},
        "models": [_model_object(each) for each in models],
        "fixed": list(fixed),
        "files": [str(path) for path in findings.files],
        "counts": findings.counts,
        "findings": items,
        "notes": list(findings.notes),
        "errors": list(errors),
        "repairs": [_repair_object(each) for each in repairs],
        "engines": [asdict(each) | {"path": str(each.path)} for each in engines],
    }
    return json.dumps(document, indent=1, ensure_ascii=False, allow_nan=False) + "\n"


def _model_object(model: Checked) -> dict:
    return {
        "path": str(model.path),
        "bodies": model.bodies,
        "counts": model.findings.counts,
        "worst": model.worst,
        "repair": model.repair,
        "problem": model.problem or None,
    }


def _repair_object(repair: "Repair") -> dict:
    changes = [
        {
            "element": name,
            "codes": list(change.codes),
            "how": list(change.how),
            "before": None if change.before is None else _inertial_object(change.before),
            "after": _inertial_object(change.after),
        }
        for name, change in zip(repair.names, repair.changes, strict=True)
    ]
    effects = None
    if repair.effects is not None:
        effects = [
            {"joint": e.joint, "rms_before": _finite(e.before), "rms_change": _finite(e.change)} for e in repair.effects
        ]
    files = [str(path) for path in repair.files]
    return {
        "source": str(repair.source),
        "files": files,
        "changes": changes,
        "left": list(repair.left),
        "torques": effects,
    }


def _inertial_object(inertial: Inertial) -> dict:
    six = inertial.tensor_in_part[(0, 0, 0, 1, 1, 2), (0, 1, 2, 1, 2, 2)]
    return {
        "mass": _finite(inertial.mass),
        "com": [_finite(x) for x in inertial.com],
        "inertia_com": dict(zip(("ixx", "ixy", "ixz", "iyy", "iyz", "izz"), map(_finite, six), strict=True)),
    }


ELSEWHERE = "newton"  # no extra brings it, as it wants another OpenUSD


def engine_lines(comparison: "EngineComparison") -> list[str]:
    """A line an engine, and a table of what differs: engines as columns, links and joints as rows, worst first."""
    lines = [f"Engines that read {comparison.path}:".translate(HARMLESS)]
    for each in comparison.readings:
        told = each.refused and f"refused: {each.refused}"
        if not told and each.differences:
            told = f"{len(each.differences)} differences"
        lines.append(f"  {each.title:<24} {told or _equal(each)}".translate(HARMLESS))
        lines += [f"  {'':<24} {note}".translate(HARMLESS) for note in each.notes]
    lines += [f"  {name:<24} not installed" for name in comparison.missing]
    if set(comparison.missing) - {ELSEWHERE}:
        lines.append(
            f"  To install: pip install 'steelyard[engines]', or name a Python that has them in {ENVIRONMENT}."
        )
    if ELSEWHERE in comparison.missing:
        lines.append(f"  To ask {ELSEWHERE}: name a Python that has it in {ENVIRONMENT}.")
    differing = [each for each in comparison.readings if each.differences]
    if not differing:
        return lines
    largest: dict[tuple[str, str], dict[str, float]] = defaultdict(dict)
    for each in differing:
        for one in each.differences:
            largest[one.element, one.quantity][each.engine] = one.relative
    order = sorted(largest.items(), key=lambda row: -max(row[1].values()))
    rows = [
        (f"{element} {quantity}", *(_share(found.get(each.engine)) for each in differing))
        for (element, quantity), found in order[:ROWS]
    ]
    head = ("relative difference", *((each.engine, "number") for each in differing))
    lines += ["", *text_table(sheet("", "", (("", "text"), *head[1:]), rows)).splitlines()]
    if len(order) > ROWS:
        lines.append(f"and {len(order) - ROWS} more: --json lists all.")
    worst = max((one for each in differing for one in each.differences), key=lambda one: one.relative)
    return [*lines, f"Largest: {worst.element}, {worst.quantity}: {worst.told}.".translate(HARMLESS)]


def _equal(reading: "EngineReading") -> str:
    if not reading.bodies + reading.joints:
        return "read, and nothing in it could be compared"
    return f"equal: {reading.bodies} links, {reading.joints} joints, within {reading.largest_equal:.1g}"


def _share(value: float | None) -> str:
    return "" if value is None else f"{100 * value:.3g} %" if value < 10 else f"x {value:.3g}"


def _finite(value) -> float | None:
    return float(value) if np.isfinite(value) else None


def sarif(findings: Findings, errors: Sequence[str] = ()) -> str:
    """SARIF 2.1.0, as code-scanning services read it. Paths below the working directory are relative."""
    from importlib.metadata import version

    rules = [
        {
            "id": rule.code,
            "name": "".join(word.capitalize() for word in rule.name.split("-")),
            "shortDescription": {"text": rule.title + "."},
            "defaultConfiguration": {"level": LEVELS[rule.severity]},
        }
        for rule in RULES
    ]
    order = {rule.code: i for i, rule in enumerate(RULES)}
    driver = {"name": "steelyard", "semanticVersion": version("steelyard"), "rules": rules}
    invocation: dict = {"executionSuccessful": not errors}
    if errors:
        invocation["toolExecutionNotifications"] = [{"level": "error", "message": {"text": each}} for each in errors]
    run = {
        "tool": {"driver": driver},
        "columnKind": "utf16CodeUnits",
        "results": [_sarif_result(f, order[f.code]) for f in findings],
        "invocations": [invocation],
    }
    return json.dumps({"$schema": SCHEMA, "version": "2.1.0", "runs": [run]}, indent=1) + "\n"


def _sarif_result(finding: Finding, rule: int) -> dict:
    place = {
        "physicalLocation": {"artifactLocation": {"uri": _uri(finding.path)}, "region": {"startLine": finding.line}},
        "logicalLocations": [{"fullyQualifiedName": finding.element}],
    }
    return {
        "ruleId": finding.code,
        "ruleIndex": rule,
        "level": LEVELS[finding.severity],
        "message": {"text": f"{finding.message} {finding.remedy}"},
        "locations": [place],
    }


def _uri(path: str) -> str:
    full = Path(path).absolute()
    try:
        return quote(full.relative_to(Path.cwd()).as_posix())
    except ValueError:
        return full.as_uri()


def github(findings: Findings, errors: Sequence[str] = ()) -> str:
    """Workflow commands of GitHub Actions (its page of that name), which show findings beside the lines of a pull
    request."""
    kinds = {"error": "error", "warning": "warning", "info": "notice"}
    lines = []
    for f in merged(findings):
        title = f"{f.code} {BY_CODE[f.code].name}"
        told = {"file": f.path, "line": str(f.line), "title": title}
        where = ",".join(f"{key}={_escaped(value, ':,')}" for key, value in told.items())
        lines.append(f"::{kinds[f.severity]} {where}::{_escaped(f'{f.message} {f.remedy}')}")
    lines += [f"::error title=not checked::{_escaped(each)}" for each in errors]
    more = (*(f"note: {note}" for note in findings.notes), count_line(findings))
    lines += [line.translate(HARMLESS) for line in more]
    return "".join(f"{line}\n" for line in lines)


def _escaped(value: str, more: str = "") -> str:
    """A value of a workflow command, in which its marks mean nothing. more: those that end a property."""
    return "".join(f"%{ord(each):02X}" if each in "%\r\n" + more else each for each in value)


def markdown(findings: Findings, repairs: Sequence["Repair"] = ()) -> str:
    """A table a model, for a pull request or a page."""
    lines = []
    grouped: dict[str, list[Finding]] = defaultdict(list)
    for finding in merged(findings):
        grouped[finding.path].append(finding)
    columns = ("line", *((title, "text") for title in ("code", "severity", "finding", "remedy")))
    for path, items in grouped.items():
        rows = [(f.line, f.code, f.severity, f.message, f.remedy) for f in items]
        lines += [f"### {markdown_text(path)}", "", markdown_table(sheet("", "", columns, rows)), ""]
    for each in repairs:
        lines += ["```", *repair_lines(each), "```", ""]
    return "\n".join([*lines, count_line(findings), ""])
