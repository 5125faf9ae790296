"""The table of whole jobs beside other tools, from docs/evidence/peers.md: `python tools/peer_table.py` writes it.

It stands between marks in README.md (measured logs) and docs/comparison.md; a test compares both with the results.
"""

import re
from pathlib import Path

ROOT = Path(__file__).parents[1]
RESULTS = ROOT / "docs" / "evidence" / "peers.md"
PAGES = (ROOT / "README.md", ROOT / "docs" / "comparison.md")
START, END = "<!-- table: tools/peer_table.py", "<!-- end of table -->"  # the mark may name the kind of logs
TITLES = {"panda": "Panda", "ur10": "UR10", "tx40": "TX40"}
ERROR, LEAST, LARGEST, SECONDS = "mean error", "least", "largest", "s"


def jobs() -> dict[str, dict[str, dict[str, str]]]:
    """By log and tool: cells of the page by column."""
    lines = re.findall(r"^\|.*\|$", RESULTS.read_text("utf-8"), re.M)
    head, _, *rows = [[cell.strip() for cell in line.strip("|").split("|")] for line in lines]
    found: dict[str, dict[str, dict[str, str]]] = {}
    for name, *cells in rows:
        log, tool = name.split(", ")
        found.setdefault(log, {})[tool] = dict(zip(head[1:], cells, strict=True))
    return found


def table(kind: str = "") -> str:
    """One row a log, of a kind or all: held-out error of the blocks (mean, least, largest), seconds; least bold."""
    logs = {log: by_tool for log, by_tool in jobs().items() if log.endswith(kind)}
    tools = list(next(iter(logs.values())))
    lines = ["| log | " + " | ".join(tools) + " |", "|---" * (1 + len(tools)) + "|"]
    for log, by_tool in logs.items():
        least = min(_number(cells[ERROR]) for tool, cells in by_tool.items() if tool in tools and cells[ERROR])
        robot, form = log.rsplit(" ", 1)
        cells = [f"{TITLES.get(robot, robot)}, {form}", *(_cell(by_tool[tool], least) for tool in tools)]
        lines.append("| " + " | ".join(cells) + " |")
    return "\n".join(lines)


def _cell(cells: dict[str, str], least: float) -> str:
    if not cells[ERROR]:
        return "none"
    error, low, high = (_number(cells[column]) for column in (ERROR, LEAST, LARGEST))
    shown = f"**{error:.2f}**" if error == least else f"{error:.2f}"
    return f"{shown} ({low:.2f} to {high:.2f}) %; {float(cells[SECONDS]):.2g} s"


def _number(cell: str) -> float:
    return float(cell.rstrip("%"))


def page(text: str) -> str:
    """A page with the table between the marks as it should be."""
    before, _, rest = text.partition(START)
    mark = rest.partition("-->")[0]
    return f"{before}{START}{mark}-->\n\n{table(mark.strip())}\n\n{END}{rest.partition(END)[2]}"


if __name__ == "__main__":
    for path in PAGES:
        path.write_text(page(path.read_text("utf-8")), "utf-8")
