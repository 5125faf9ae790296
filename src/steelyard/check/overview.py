"""Many models on one screen: a row a model, or a row a rule."""

import os
from collections import Counter, defaultdict
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from steelyard.check.catalog import BY_CODE
from steelyard.check.merged import places
from steelyard.check.rule import SEVERITIES, Finding, Findings

REFUSED = "could not be checked"


@dataclass(frozen=True)
class Checked:
    """One model of many. bodies: links or bodies that its file has. findings: of it; problem: why it has none, in
    words."""

    path: Path
    bodies: int
    findings: Findings
    problem: str = ""

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
    rows: list[tuple[str, ...]] = [("model", "bodies", "errors", "warnings", "notes", "repair", "worst finding")]
    for name, model in zip(names, models, strict=True):
        counts = [str(n) for n in model.findings.counts.values()]
        numbers = ["-"] * 4 if model.problem else [str(model.bodies), *counts]
        rows.append((name, *numbers, "-" if model.problem else model.repair, model.worst))
    return _aligned(rows, right=range(1, 5))


def summary(models: Sequence[Checked]) -> list[str]:
    """A row a rule that found something, worst first: how often, in how many models, and what it says."""
    found: dict[tuple[str, str], list[Finding]] = defaultdict(list)
    for model in models:
        for each in model.findings:
            found[each.severity, each.code].append(each)
    rows: list[tuple[str, ...]] = [("rule", "severity", "findings", "models", "what it says")]
    order = sorted(found.items(), key=lambda each: (SEVERITIES.index(each[0][0]), -len(each[1]), each[0][1]))
    for (severity, code), group in order:
        where = Counter(each.path for each in group)
        rows.append((code, severity, str(len(group)), str(len(where)), BY_CODE[code].title))
    return _aligned(rows, right=(2, 3)) if found else []


def _names(paths: Sequence[Path]) -> list[str]:
    """What tells the models apart: their paths below the folder that they share."""
    whole = [os.path.abspath(path) for path in paths]  # noqa: PTH100
    if len({os.path.basename(path) for path in whole}) == len(whole):  # noqa: PTH119
        return [os.path.basename(path) for path in whole]  # noqa: PTH119
    shared = os.path.commonpath([os.path.dirname(path) for path in whole])  # noqa: PTH120
    return [Path(os.path.relpath(path, shared)).as_posix() for path in whole]


def _aligned(rows: Sequence[tuple[str, ...]], right) -> list[str]:
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    return [
        "  ".join(
            cell.rjust(width) if i in right else cell.ljust(width)
            for i, (cell, width) in enumerate(zip(row, widths, strict=True))
        ).rstrip()
        for row in rows
    ]
