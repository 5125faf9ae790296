"""A baseline: findings that are known, so that a check in CI fails for new ones only.

A known finding is one of a rule at an element of a model; lines and numbers may change. Paths are relative to the file,
so that a repository can be checked out anywhere.
"""

import json
import os
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass, replace
from pathlib import Path

from steelyard import storage
from steelyard.check.rule import Finding, Findings, Rule
from steelyard.errors import OptionError
from steelyard.storage import SCHEMA_VERSION

Key = tuple[str, str, str, str]
"""Path of the model from the baseline's folder, rule code, element, and file that it is about."""


@dataclass(frozen=True)
class Baseline:
    """Known findings, each as often as it was found. path: of the file."""

    path: Path
    known: Counter[Key]

    def new(self, findings: Findings) -> Findings:
        """The findings that are not known; of one that is there more often than it was, the surplus."""
        left = Counter(self.known)
        fresh: list[Finding] = []
        for each in findings:
            key = _key(each, self.path)
            if left[key] > 0:
                left[key] -= 1
            else:
                fresh.append(each)
        return replace(findings, items=tuple(fresh))

    def fixed(self, findings: Findings, rules: Iterable[Rule]) -> list[str]:
        """Known findings that are gone, a line each, so that the baseline can shrink; what was not looked at is not
        gone."""
        codes = {rule.code for rule in rules}
        looked = {_relative(str(path), self.path) for path in findings.files}
        gone = self.known - Counter(_key(each, self.path) for each in findings)
        return [
            f"{path}: {code} {element}{f' ({file})' if file else ''}"
            for path, code, element, file in sorted(gone.elements())
            if code in codes and (path in looked or not (self.path.parent / path).exists())
        ]


def read_baseline(path: Path) -> Baseline:
    """Known findings of a file of `write_baseline`. Raises OptionError: it cannot be read, or is no baseline."""
    remedy = f"Write one with --write-baseline {path}."
    try:
        found = json.loads(path.read_text(encoding="utf-8"))
        if found["steelyard_baseline"] != SCHEMA_VERSION:
            raise OptionError(f"Baseline {path} is of version {found['steelyard_baseline']!r}. {remedy}")
        keys = [
            (str(each["path"]), str(each["code"]), str(each["element"]), str(each["file"]))
            for each in found["findings"]
        ]
    except OSError as error:
        raise OptionError(f"Baseline {path} cannot be read: {error.strerror or error}. {remedy}") from error
    except (ValueError, KeyError, TypeError, RecursionError) as error:
        raise OptionError(f"{path} is no baseline of steelyard check. {remedy}") from error
    return Baseline(path, Counter(keys))


def write_baseline(path: Path, findings: Findings) -> None:
    """Write findings as known to a file, which is replaced whole. Raises OptionError: it cannot be written."""
    fields = ("path", "code", "element", "file")
    known = [dict(zip(fields, _key(each, path), strict=True)) for each in findings]
    known.sort(key=lambda each: tuple(each.values()))
    text = json.dumps({"steelyard_baseline": SCHEMA_VERSION, "findings": known}, indent=1, ensure_ascii=False) + "\n"
    with storage.placed(path, "Baseline"):
        storage.write_bytes(path, text.encode())


def _key(finding: Finding, baseline: Path) -> Key:
    return _relative(finding.path, baseline), finding.code, finding.element, finding.file


def _relative(path: str, baseline: Path) -> str:
    return Path(os.path.relpath(os.path.realpath(path), os.path.realpath(baseline.parent))).as_posix()
