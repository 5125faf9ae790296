"""An inspection as tables for the terminal. Names from logs are shown as they are, never read as markup."""

from rich.console import Group
from rich.table import Table
from rich.text import Text

from steelyard.inspect.run import Inspection

BARS = "▁▂▃▄▅▆▇█"
UNITS = {"q": "rad or m", "v": "rad/s or m/s", "a": "rad/s^2 or m/s^2", "tau": "N m or N"}


def report(found: Inspection) -> Group:
    """What `steelyard inspect` prints: time, what to do first, then signals, motion and notes."""
    cutoff = "cannot be told" if found.cutoff is None else f"{found.cutoff:.1f} Hz (--cutoff)"
    lines = [
        Text(f"{found.name}: {found.samples} samples, {found.duration:.6g} s at {found.rate:.6g} Hz", style="bold"),
        Text(f"Steps spread by {100 * found.jitter:.2g} % of their median; {len(found.gaps)} gaps."),
        Text(f"Cutoff that the spectrum asks for: {cutoff}."),
    ]
    lines += [Text(f"Gap of {length:.4g} s after t = {start:.6g} s.") for start, length in found.gaps[:10]]
    lines += [Text(f"- {item.message}", style="red") for item in found.findings if item.severity == "fatal"]
    lines += [
        Text(f"- {item.message}", style="yellow")
        for item in (*found.findings, *found.faults)
        if item.severity != "fatal"
    ]
    lines += [Text(), _signals(found), Text(), _motion(found)]
    if found.notes:
        lines += [Text("\nNotes", style="bold"), *(Text(f"- {note}") for note in found.notes)]
    return Group(*lines)


def _signals(found: Inspection) -> Table:
    table = _table("Signals", ("joint", "channel", "smallest", "largest", "RMS", "noise", "step", "unit"))
    for each in found.signals:
        numbers = (each.smallest, each.largest, each.rms, each.noise)
        step = "-" if each.quantum is None else f"{each.quantum:.3g}"
        table.add_row(Text(each.joint), each.channel, *(f"{x:.4g}" for x in numbers), step, UNITS[each.channel])
    return table


def _motion(found: Inspection) -> Table:
    table = _table(
        "Motion", ("joint", "span", "RMS speed", "RMS acceleration", "moving", "tenths", "reversals", "torque late")
    )
    for each in found.motion:
        late = found.delays.get(each.joint)
        table.add_row(
            Text(each.joint),
            *(f"{x:.4g}" for x in (each.span, each.speed, each.acceleration)),
            f"{100 * each.moving:.0f} %",
            "".join(BARS[min(int(4 * share), 7)] for share in each.tenths),
            str(each.reversals),
            "-" if late is None else f"{1000 * late:.1f} ms",
        )
    return table


def _table(title: str, columns: tuple[str, ...]) -> Table:
    table = Table(title=Text(title, style="bold"), title_justify="left", header_style="bold", expand=False)
    for column in columns:
        table.add_column(column, justify="left" if column in ("joint", "channel", "unit") else "right")
    return table
