"""Findings for people: what one rule says of several links, or of several files in one place, is one line."""

import re
from collections.abc import Iterable
from dataclasses import replace
from pathlib import PurePosixPath

from steelyard.check.rule import Finding
from steelyard.model import package_named

NAMED = 3  # files or links of a line
WORDS = {
    "SY601": "do not exist",
    "SY602": "cannot be read",
    "SY603": "are outside the model's package and were not opened",
    "SY604": "were not checked, because they could not be looked for",
}
NOT_FOUND = "were not checked, because it is neither beside the model nor installed"
NAME = re.compile(r"^(\w+) '(.*?)'")  # of an element such as link 'arm' > inertial


def merged(findings: Iterable[Finding]) -> list[Finding]:
    """The findings, those of one rule in one model as one, in the line of the first.

    Files are put together by the package or folder that they are of.
    """
    groups: dict[tuple, list[Finding]] = {}
    for each in findings:
        home = _home(each.file) if each.file and each.code in WORDS else ""
        groups.setdefault((each.path, each.code, each.severity, home), []).append(each)
    return [_one(group, home) for (*_, home), group in groups.items()]


def places(group: list[Finding]) -> str:
    """How many elements findings are about, and of what kind: "12 links"."""
    kinds, names = _elements(group)
    if len(kinds) != 1:
        return f"{len(group)} places"
    return f"{len(names)} {kinds.pop()}{'s' * (len(names) != 1)}"


def _one(group: list[Finding], home: str) -> Finding:
    if len(group) == 1:
        return group[0]
    return _files(group, home) if home else _links(group)


def _links(group: list[Finding]) -> Finding:
    """One line of several elements: which, and what was found of the first, whose numbers the others have like it."""
    first, (_, names) = group[0], _elements(group)
    where = f": {_listed(names)}" if names else ""
    message = f"{places(group)}{where} (lines {first.line} to {group[-1].line}). The first: {first.message}"
    return replace(first, message=message)


def _elements(group: list[Finding]) -> tuple[set[str], list[str]]:
    """Kinds of the elements, and their names, each once."""
    found = [NAME.match(each.element) for each in group]
    if not all(found):
        return set(), []
    return {each[1] for each in found if each}, list(dict.fromkeys(each[2] for each in found if each))


def _listed(names: list[str]) -> str:
    more = f" and {len(names) - NAMED} more" if len(names) > NAMED else ""
    return f"{', '.join(names[:NAMED])}{more}"


def _home(file: str) -> str:
    """Where a file is, in words."""
    package = package_named(file)
    if package:
        return f"of package '{package}'"
    if package is not None:
        return "whose address names no package"
    return f"in '{PurePosixPath(file).parent}'"


def _files(group: list[Finding], home: str) -> Finding:
    first, files = group[0], list(dict.fromkeys(each.file for each in group))
    if len(files) == 1:
        return first
    absent = first.code == "SY604" and package_named(first.file)
    why = NOT_FOUND if absent else WORDS[first.code]
    named = _listed([PurePosixPath(file).name for file in files])
    return replace(first, message=f"{len(files)} files {home} {why}: {named} (lines {first.line} to {group[-1].line}).")
