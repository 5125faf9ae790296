"""A fleet on the terminal: what was used, what changed, who stands out, what failed."""

from rich.console import Group
from rich.table import Table
from rich.text import Text

MOST = 20  # rows of a table; the page and fleet.json have all


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
