"""What fuzzing has come to so far: `fuzz/results.json`, and the table in docs/evidence/fuzzing.md made of it."""

import json
from pathlib import Path

RESULTS = Path(__file__).with_name("results.json")
PAGE = Path(__file__).parents[1] / "docs" / "evidence" / "fuzzing.md"
START, END = "<!-- fuzz.figures -->\n", "<!-- end -->"
NONE = {"executions": 0, "seconds": 0, "edges": 0, "found": 0, "since": 0}
HEADER = """| input | executions | minutes | edges covered | findings | executions since the last |
|---|---|---|---|---|---|
"""


def add(name: str, *, executions: int, seconds: float, edges: int, found: int):
    """Add a run of a target to the results, and write the table anew. since: executions since the last finding."""
    known = json.loads(RESULTS.read_text("utf-8"))
    before = known.get(name, NONE)
    known[name] = {
        "executions": before["executions"] + executions,
        "seconds": before["seconds"] + round(seconds),
        "edges": max(before["edges"], edges),
        "found": before["found"] + found,
        "since": 0 if found else before["since"] + executions,
    }
    RESULTS.write_text(json.dumps(known, indent=1) + "\n", encoding="utf-8")
    text = PAGE.read_text("utf-8")
    head, tail = text[: text.index(START) + len(START)], text[text.index(END) :]
    PAGE.write_text(head + table(known) + tail, encoding="utf-8")


def table(known: dict) -> str:
    """Markdown of all targets and their sum."""
    whole = {key: sum(each[key] for each in known.values()) for key in NONE}
    return HEADER + "".join(_row(name, each) for name, each in [*known.items(), ("all", whole | {"edges": None})])


def _row(name: str, each: dict) -> str:
    edges = "" if each["edges"] is None else f"{each['edges']:,}"
    cells = (name, f"{each['executions']:,}", f"{each['seconds'] / 60:.1f}", edges, each["found"], f"{each['since']:,}")
    return f"| {' | '.join(map(str, cells))} |\n"
