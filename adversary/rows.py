"""Outcomes as they come, a line of JSON each, so that a run that was stopped goes on where it was."""

import json
from pathlib import Path

from adversary.suite import Row, Suite

FOLDER = Path(__file__).parents[1] / "adversary-out"


def read(suite: Suite) -> dict[int, Row]:
    """Rows by seed; the last one counts. Empty lines and one that was cut off are left out."""
    path = _path(suite)
    rows = {}
    for line in path.read_text(encoding="utf-8").splitlines() if path.is_file() else ():
        try:
            row = json.loads(line)
        except json.JSONDecodeError:
            continue
        rows[row["seed"]] = row
    return rows


def add(suite: Suite, row: Row) -> None:
    """Keep one more row."""
    FOLDER.mkdir(exist_ok=True)
    with _path(suite).open("a", encoding="utf-8") as file:
        file.write("\n" + json.dumps(row))  # the line before may have been cut off


def forget(suite: Suite) -> None:
    """Start anew."""
    _path(suite).unlink(missing_ok=True)


def _path(suite: Suite) -> Path:
    return FOLDER / f"{suite.name}.jsonl"
