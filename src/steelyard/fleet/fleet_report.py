"""What is shown of a fleet: its files, together or not at all; its tables on the terminal; its page.

The page has no scripts and needs no network; every number on it is of the summary, and drawings stand beside theirs.
"""

import json
import re
from math import isfinite
from pathlib import Path

from rich.console import Group
from rich.table import Table
from rich.text import Text

from steelyard.fleet.fleet_models import Fits
from steelyard.fleet.fleet_study import Study
from steelyard.fleet.fleet_summary import summary
from steelyard.information import save_information
from steelyard.model import save
from steelyard.report import staged

MODELS = "models"
SUMMARY, REPORT, SUMS = "fleet.json", "fleet.html", "information.npz"
MOST = 20  # rows of a table on the terminal; the page and fleet.json have all
WIDTH, HEIGHT, LEFT, PAD = 460, 150, 8, 14  # of a drawing on the page
DIGITS = 4


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
        (stage / REPORT).write_text(page(found), encoding="utf-8", errors="backslashreplace")
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
    samples, work = found["samples"], found["work"]
    lines = [
        Text(headline(found), style="bold"),
        Text(
            f"{found['runs']} runs of {len(found['robots'])} robots: {samples['read']} samples read, "
            f"{samples['fitted']} fitted, {samples['held']} held out; {work['computed']} computed, {work['reused']} "
            f"reused, on {work['where']}."
        ),
        Text(errors(found)),
    ]
    for table in (change_table(found), outlier_table(found), motion_table(found), failure_table(found)):
        if table.row_count:
            lines += [Text(), table]
    if found["notes"]:
        lines += [Text("\nNotes", style="bold"), *(Text(f"- {note}") for note in found["notes"])]
    if found["files"]:
        shown = found["files"][:4]
        more = f" and {len(found['files']) - 4} more" if len(found["files"]) > 4 else ""
        lines.append(Text(f"\nWritten to {found.get('out')}: {', '.join(shown)}{more}"))
    return Group(*lines)


def headline(found: dict) -> str:
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
    given, fleet, own = (f"{100 * held[name]:.2g} %" for name in ("given", "fleet", "own"))
    return f"Held-out torque error, median robot: {given} as given, {fleet} with the fleet's model, {own} with its own."


def change_table(found: dict) -> Table:
    title = f"Changes (probability of any false one in all of this: at most {found['false_alarm']:g})"
    table = _table(title, "robot", "what", "from", "shape", "or else", "by chance")
    rows = [(robot, change) for robot in found["robots"] for change in robot["changes"]]
    for robot, change in rows[:MOST]:
        cells = (robot["name"], change["words"], change["first"]["when"], change["shape"], ", ".join(change["or"]))
        table.add_row(*map(Text, cells), f"{change['probability']:.1g}")
    return _rest(table, len(rows))


def outlier_table(found: dict) -> Table:
    table = _table("Robots unlike the others", "robot", "how", "or else", "by chance")
    rows = [robot for robot in found["robots"] if robot["outlier"]]
    for robot in rows[:MOST]:
        out = robot["outlier"]
        table.add_row(Text(robot["name"]), Text(out["words"]), Text(", ".join(out["or"])), f"{out['probability']:.1g}")
    return _rest(table, len(rows))


def motion_table(found: dict) -> Table:
    table = _table("Robots that need a new motion", "robot", "open", "least known")
    rows = [(robot["name"], robot["unknown"], robot["weakest"]) for robot in found["robots"] if robot["needs_motion"]]
    rows += [(name, 1.0, ("no usable run",)) for name in found["silent"]]
    for name, unknown, weakest in sorted(rows, key=lambda row: -row[1])[:MOST]:
        table.add_row(Text(name), f"{100 * unknown:.0f} %", Text(", ".join(weakest)))
    return _rest(table, len(rows))


def failure_table(found: dict) -> Table:
    table = _table("Logs that are not in the sums", "robot", "log", "reason")
    for each in found["failures"][:MOST]:
        rows = f" rows {each['rows'][0]} to {each['rows'][1]}" if each["rows"] else ""
        short = "/".join(each["log"].replace("\\", "/").split("/")[-2:])
        table.add_row(Text(each["robot"]), Text(f"{short}{rows}"), Text(each["reason"]))
    return _rest(table, len(found["failures"]))


def _table(title: str, *columns: str) -> Table:
    table = Table(title=Text(title, style="bold"), title_justify="left", header_style="bold")
    for column in columns:
        table.add_column(Text(column), overflow="fold")
    return table


def _rest(table: Table, count: int) -> Table:
    if count > MOST:
        table.caption = f"{count - MOST} more are in the report"
    return table


def page(found: dict) -> str:
    """HTML of a summary; every number on it is taken from there."""
    from jinja2 import Environment, PackageLoader, StrictUndefined
    from markupsafe import Markup

    environment = Environment(
        loader=PackageLoader("steelyard.fleet"),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.filters |= {"number": number, "percent": percent, "bytes": size}
    style, _, _ = environment.loader.get_source(environment, "style.css")  # type: ignore[union-attr]
    return environment.get_template("fleet.html").render(
        found=found,
        headline=headline(found),
        errors=errors(found),
        level="care" if has_findings(found) else "good",
        style=Markup(style),
        course=lambda change: Markup(course(change["course"], change["first"]["place"])),
    )


def has_findings(found: dict) -> bool:
    """Whether anything was found that a person should see."""
    robots = found["robots"]
    told = any(robot["changes"] or robot["outlier"] or robot["needs_motion"] for robot in robots)
    return told or bool(found["failures"] or found["silent"])


def number(value) -> str:
    """Four significant digits, a dash for what is unknown."""
    return "–" if value is None else f"{value + 0.0:.{DIGITS}g}".replace("-", "−")


def percent(share) -> str:
    return "–" if share is None else f"{100 * share:.2g} %"


def size(count) -> str:
    return f"{count / 2**30:.2f} GB" if count >= 2**30 else f"{count / 2**20:.1f} MB"


def course(drawn: dict, first: int) -> str:
    """SVG of a parameter run by run with two deviations either way; runs from the change on are filled."""
    known = [
        (k, v, 2 * d) for k, (v, d) in enumerate(zip(drawn["values"], drawn["deviations"], strict=True)) if _told(v, d)
    ]
    if not known:
        return ""
    low, high = min(v - d for _, v, d in known), max(v + d for _, v, d in known)
    room, count = max(high - low, 1e-12), max(len(drawn["values"]) - 1, 1)
    x = lambda k: PAD + LEFT + k * (WIDTH - LEFT - 2 * PAD) / count  # noqa: E731
    y = lambda v: HEIGHT - PAD - (v - low) / room * (HEIGHT - 2 * PAD)  # noqa: E731
    marks = [
        f'<line x1="{x(k):.1f}" x2="{x(k):.1f}" y1="{y(v - d):.1f}" y2="{y(v + d):.1f}" class="bar"/>'
        f'<circle cx="{x(k):.1f}" cy="{y(v):.1f}" r="4" class="{"after" if k >= first else "before"}"/>'
        for k, v, d in known
    ]
    edge = (x(first) + x(max(first - 1, 0))) / 2
    marks.append(f'<line x1="{edge:.1f}" x2="{edge:.1f}" y1="{PAD / 2}" y2="{HEIGHT - PAD / 2}" class="edge"/>')
    return f'<svg viewBox="0 0 {WIDTH} {HEIGHT}" role="img" aria-label="Run by run">{"".join(marks)}</svg>'


def _told(value, deviation) -> bool:
    return value is not None and deviation is not None and isfinite(value) and isfinite(deviation)
