"""Numbers out of the tables of a Markdown page."""

import re
from functools import cache
from pathlib import Path

NUMBER = re.compile(r"-?\d[\d,]*(?:\.\d+)?(?:e[+-]?\d+)?")


@cache
def tables(path: Path) -> dict[str, dict[str, dict[str, str]]]:
    """Cells by heading, row and column; the heading of what comes before the first is "". Marks of emphasis are off."""
    found: dict[str, dict[str, dict[str, str]]] = {}
    heading, columns = "", None
    for line in path.read_text("utf-8").splitlines():
        if line.startswith("## "):
            heading = line.removeprefix("## ").strip()
        if not line.startswith("|"):
            columns = None
            continue
        first, *others = (cell.strip().replace("**", "").replace("`", "") for cell in line.strip()[1:-1].split("|"))
        if columns is None:
            columns = others
        elif set(first) > {"-"} or not first.startswith("--"):
            found.setdefault(heading, {})[first] = dict(zip(columns, others, strict=True))
    return found


def numbers(path: Path, heading: str, row: str, column: str) -> list[float]:
    """Numbers of a cell: two of a range `1 .. 2`, the first of `3 of 4`, none in brackets.

    Raises LookupError for what is not there.
    """
    place = tables(path)
    for name in (heading, row, column):
        if name not in place:
            raise LookupError(f"{path}: no {name!r} of {heading!r}, {row!r}, {column!r}; there are {[*place]}.")
        place = place[name]
    found = NUMBER.findall(str(place).split(" of ")[0].split("(")[0])
    if not found:
        raise LookupError(f"{path}: {heading!r}, {row!r}, {column!r} is {place!r}, without a number.")
    return [float(number.replace(",", "")) for number in found]
