"""Findings for people: what one rule says of several links, or of several files in one place, is one line.

And many models on one screen: a row a model, or a row a rule.
"""

import os
import re
from collections import Counter, defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path, PurePosixPath

from steelyard.cards import FEW
from steelyard.check.catalog import BY_CODE
from steelyard.check.rule import SEVERITIES, Finding, Findings
from steelyard.model.references import package_named
from steelyard.sheets import sheet, text_table

REFUSED = "could not be checked"
WORDS = {
    "SY601": "do not exist",
    "SY602": "cannot be read",
    "SY603": "are outside the model's package and were not opened",
    "SY604": "were not checked, because they could not be looked for",
}
NOT_FOUND = "were not checked, because it is neither beside the model nor installed"
NAME = re.compile(r"^(\w+) '(.*?)'")  # of an element such as link 'arm' > inertial


def merged(findings: Iterable[Finding]) -> list[Finding]:
    """The findings, those of one rule in one model as one; its files are put together by package or folder."""
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
    kind = kinds.pop()
    plural = f"{kind.removesuffix('y')}ies" if kind.endswith("y") else f"{kind}s"
    return f"{len(names)} {kind if len(names) == 1 else plural}"


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
    found = [NAME.match(each.element) for each in group]
    if not all(found):
        return set(), []
    return {each[1] for each in found if each}, list(dict.fromkeys(each[2] for each in found if each))


def _listed(names: list[str]) -> str:
    more = f" and {len(names) - FEW} more" if len(names) > FEW else ""
    return f"{', '.join(names[:FEW])}{more}"


def _home(file: str) -> str:
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


@dataclass(frozen=True)
class Checked:
    """One model of many."""

    path: Path
    bodies: int  # links or bodies that its file has
    findings: Findings  # of it
    problem: str = ""  # why it has none, in words

    @property
    def worst(self) -> str:
        """The first finding of the worst severity, in words: rule, what it says, and of how many parts."""
        if self.problem:
            return REFUSED
        severity = self.findings.worst
        group: list[Finding] = [each for each in self.findings if each.severity == severity]
        if not group:
            return "nothing found"
        code = min(each.code for each in group)
        return f"{code} {BY_CODE[code].title} ({places([each for each in group if each.code == code])})"

    @property
    def repair(self) -> str:
        """What repairs its errors and warnings: an option, "in part", "by hand", or nothing to repair."""
        serious = [each for each in self.findings if each.severity != "info"]
        mended = [each for each in serious if BY_CODE[each.code].repairs]
        if not serious:
            return "-"
        if len(mended) < len(serious):
            return "in part" if mended else "by hand"
        return "--fix" if all(each.severity == "error" for each in serious) else "--fix=all"


def table(models: Sequence[Checked]) -> list[str]:
    """A row a model: its name, bodies, findings, the worst in words and what repairs them."""
    names = _names([model.path for model in models])
    columns = (
        ("model", "text"),
        "bodies",
        "errors",
        "warnings",
        "notes",
        ("repair", "text"),
        ("worst finding", "text"),
    )
    rows = []
    for name, model in zip(names, models, strict=True):
        numbers = ["-"] * 4 if model.problem else [model.bodies, *model.findings.counts.values()]
        rows.append((name, *numbers, "-" if model.problem else model.repair, model.worst))
    return text_table(sheet("", "", columns, rows)).splitlines()


def summary(models: Sequence[Checked]) -> list[str]:
    """A row a rule that found something, worst first: how often, in how many models, and what it says."""
    found: dict[tuple[str, str], list[Finding]] = defaultdict(list)
    for model in models:
        for each in model.findings:
            found[each.severity, each.code].append(each)
    rows = []
    order = sorted(found.items(), key=lambda each: (SEVERITIES.index(each[0][0]), -len(each[1]), each[0][1]))
    for (severity, code), group in order:
        where = Counter(each.path for each in group)
        rows.append((code, severity, len(group), len(where), BY_CODE[code].title))
    columns = (("rule", "text"), ("severity", "text"), "findings", "models", ("what it says", "text"))
    return text_table(sheet("", "", columns, rows)).splitlines() if found else []


def _names(paths: Sequence[Path]) -> list[str]:
    """What tells the models apart: their paths below the folder that they share."""
    whole = [os.path.abspath(path) for path in paths]  # noqa: PTH100
    if len({os.path.basename(path) for path in whole}) == len(whole):  # noqa: PTH119
        return [os.path.basename(path) for path in whole]  # noqa: PTH119
    shared = os.path.commonpath([os.path.dirname(path) for path in whole])  # noqa: PTH120
    return [Path(os.path.relpath(path, shared)).as_posix() for path in whole]
