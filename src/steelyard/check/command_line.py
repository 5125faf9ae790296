"""`steelyard check`: models in, findings out, an exit code for CI."""

import os
import sys
from collections.abc import Iterable, Sequence
from pathlib import Path

from steelyard.check import render as formats
from steelyard.check.catalog import ALL, BY_CODE, ERRORS, look, selected
from steelyard.check.repaired_copy import Repair, repair
from steelyard.check.rule import Findings
from steelyard.errors import OptionError, SteelyardError, choices
from steelyard.model import models_in, read_sketch

CLEAN, FOUND, REFUSED = 0, 1, 2


def check_models(
    paths: Iterable[str | Path],
    *,
    fix=None,
    out=None,
    format: str = "text",
    select=(),
    ignore=(),
    strict: bool = False,
    folders=(),
) -> int:
    """Check models and print what is wrong; returns the exit code.

    paths: model files and folders of models. fix: file for the repaired copy of the one model, or a folder for the
    copies of several, with errors repaired; or what is repaired ("errors", "all", or rule codes with commas), and
    then out: that file or folder. format: text, json, sarif or markdown, on standard output; colours only on a
    terminal. select, ignore: rule codes or their beginnings. folders: as of `run`. strict: findings of severity info
    fail too.
    Returns 0 when nothing fails, 1 for findings (with `fix`: those that remain), 2 when a model could not be checked:
    the reason is one line on standard error, and the other models are checked all the same.
    """
    errors: list[str] = []
    found, remaining, repairs = Findings((), ()), Findings((), ()), []
    try:
        if format not in formats.FORMATS:
            raise OptionError(f"format '{format}' is unknown; expected one of {choices(formats.FORMATS)}.")
        rules = selected(select, ignore)
        what, copies = _repair_of(fix, out)
        given = [Path(path) for path in paths]
        if not given:
            raise OptionError("no model was given; name a .urdf or MJCF .xml file, or a folder.")
        models = _models(given, errors)
        for model, base in models:
            try:
                findings = look(read_sketch(model, folders=folders), rules)
                found = found.merged(findings)
                if copies is not None:
                    target = _target(model, base, copies, len(models))
                    repairs.append(repair(model, target, fix=what, select=select, ignore=ignore, folders=folders))
                    findings = repairs[-1].remaining
                remaining = remaining.merged(findings)
            except SteelyardError as error:
                errors.append(str(error))
    except OptionError as error:
        errors.append(str(error))
    if found.files or format != "text":
        sys.stdout.write(_rendered(format if format in formats.FORMATS else "text", found, repairs, errors))
    for error in errors:
        sys.stderr.write(f"steelyard: {' '.join(error.split())}\n")
    if errors:
        return REFUSED
    return FOUND if remaining.failed(strict=strict) else CLEAN


def _repair_of(fix, out) -> tuple[str | tuple[str, ...], Path | None]:
    """What is repaired, and where the copies go; None for no repair. Raises OptionError where one is missing."""
    words = tuple(word.strip() for word in str(fix or "").split(","))
    if fix in (ERRORS, ALL) or all(any(word and code.startswith(word) for code in BY_CODE) for word in words):
        if out is None:
            raise OptionError(f"--fix={fix} says what to repair; say where the copy goes with --out OUT.")
        return (fix if fix in (ERRORS, ALL) else words), Path(out)
    if out is None:
        return ERRORS, None if fix is None else Path(fix)
    if fix is None:
        return ERRORS, Path(out)
    raise OptionError(f"--fix={fix} says nothing to repair; with --out say errors, all, or rule codes with commas.")


def _models(given: Sequence[Path], errors: list[str]) -> list[tuple[Path, Path]]:
    """Models with the folder each was found from."""
    models = []
    for path in given:
        try:
            models += [(model, path if path.is_dir() else path.parent) for model in models_in(path)]
        except SteelyardError as error:
            errors.append(str(error))
    return models


def _target(model: Path, base: Path, fix: Path, count: int) -> Path:
    """Where the repaired copy of a model goes: `fix` itself, or its place in that folder."""
    if count == 1 and fix.suffix and not os.path.isdir(fix):  # noqa: PTH112  False for names that cannot be
        return fix
    return fix / model.relative_to(base)


def _rendered(format: str, found: Findings, repairs: Sequence[Repair], errors: Sequence[str]) -> str:
    if format == "json":
        return formats.to_json(found, repairs, errors)
    if format == "sarif":
        return formats.sarif(found, errors)
    if format == "markdown":
        return formats.markdown(found, repairs)
    return formats.text(found, repairs, colour=sys.stdout.isatty() and not os.environ.get("NO_COLOR"))
