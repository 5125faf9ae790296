"""Findings for people: many files with one cause, such as a package that is not there, are one line."""

from collections.abc import Iterable
from dataclasses import replace
from pathlib import PurePosixPath

from steelyard.check.findings import Finding
from steelyard.model import package_named

NAMED = 3  # files of a line
WORDS = {
    "SY601": "do not exist",
    "SY602": "cannot be read",
    "SY603": "are outside the model's package and were not opened",
    "SY604": "were not checked, because they could not be looked for",
}
NOT_BESIDE = "were not checked, because it is not beside the model"


def gathered(findings: Iterable[Finding]) -> list[Finding]:
    """The findings, those of one rule about files of one package or folder as one, in the line of the first."""
    groups: dict[tuple, list[Finding]] = {}
    for number, each in enumerate(findings):
        alone = not each.file or each.code not in WORDS
        groups.setdefault((number,) if alone else (each.path, each.code, each.severity, _home(each.file)), []).append(
            each
        )
    return [_together(group) for group in groups.values()]


def _home(file: str) -> str:
    """Where a file is, in words."""
    package = package_named(file)
    if package:
        return f"of package '{package}'"
    if package is not None:
        return "whose address names no package"
    return f"in '{PurePosixPath(file).parent}'"


def _together(group: list[Finding]) -> Finding:
    first, files = group[0], list(dict.fromkeys(each.file for each in group))
    if len(files) == 1:
        return first
    named = ", ".join(PurePosixPath(file).name for file in files[:NAMED])
    more = f" and {len(files) - NAMED} more" if len(files) > NAMED else ""
    absent = first.code == "SY604" and package_named(first.file)
    return replace(
        first,
        message=f"{len(files)} files {_home(first.file)} {NOT_BESIDE if absent else WORDS[first.code]}: "
        f"{named}{more} (lines {first.line} to {group[-1].line}).",
    )
