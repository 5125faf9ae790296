"""`steelyard check`: models in, findings out, an exit code for CI."""

import glob
import os
import sys
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from functools import partial, reduce
from pathlib import Path
from typing import TYPE_CHECKING

from steelyard.check import render as formats
from steelyard.check.baseline import Baseline, read_baseline
from steelyard.check.baseline import write_baseline as write
from steelyard.check.catalog import ALL, BY_CODE, ERRORS, destinations_of, look, selected, with_engines
from steelyard.check.overview import Checked
from steelyard.check.rule import SEVERITIES, Findings, Rule
from steelyard.errors import DONE, FINDINGS, REFUSED, ModelError, OptionError, SteelyardError, choices
from steelyard.model.formats import models_in, read_sketch, require_takers

if TYPE_CHECKING:
    from steelyard.check.repaired_copy import Repair

NOTHING = Findings((), ())


def check_models(
    paths: Iterable[str | Path],
    *,
    fix=None,
    out=None,
    format: str = "text",
    select=(),
    ignore=(),
    strict: bool = False,
    fail_on: str = "warning",
    folders=(),
    destination=(),
    engines=False,
    arguments=(),
    details: bool = False,
    summary: bool = False,
    baseline=None,
    write_baseline=None,
    progress: Callable[[str, float], None] | None = None,
) -> int:
    """Check models and print what is wrong; returns the exit code.

    paths: model files, folders of models, and patterns such as "models/*.urdf". fix: file for the repaired copy of the
    one model, or a folder for the copies of several, with errors repaired; or what is repaired ("errors", "all", or
    rule codes with commas), and then out: that file or folder. format: text, json, sarif, markdown or github, on
    standard output; colours only on a terminal. Text is a table of several models, and the findings of one; details:
    the findings of several too. summary: a row a rule instead. select, ignore: rule codes or their beginnings. folders,
    arguments, destination, engines: as of `run`; with engines a table follows, of the repaired copy where there is one.
    fail_on: least severity that fails; strict: findings of severity info fail, too. baseline: file of known findings,
    which are left out; write_baseline: file to which those of now are written, and 0 is returned for them. progress:
    called with the name of a model and the share of models before it.
    Returns 0 when nothing fails, 1 for findings (with `fix`: those that remain), 2 when a model could not be checked:
    the reason is one line on standard error, and the other models are checked all the same.
    """
    errors: list[str] = []
    looks: list[_CheckedModel] = []
    notes, rules, known = NOTHING, (), None
    reading = {"folders": folders, "arguments": arguments}
    try:
        if format not in formats.FORMATS:
            raise OptionError(f"format '{format}' is unknown; expected one of {choices(formats.FORMATS)}.")
        destinations = destinations_of(destination)
        if fail_on not in SEVERITIES:
            raise OptionError(f"severity '{fail_on}' is unknown; expected one of {choices(SEVERITIES)}.")
        rules = selected(select, ignore, destinations)
        notes = Findings((), (), tuple(each.note for each in destinations if each.note))
        what, copies = _repair_of(fix, out)
        mending = {"fix": what, "select": select, "ignore": ignore, "destination": destination}
        known = None if baseline is None else read_baseline(Path(baseline))
        given = [Path(path) for path in paths]
        if not given:
            raise OptionError("no model was given; name a URDF, MJCF, SDF, USD or xacro file, or a folder.")
        named = _models(given, errors)
        require_takers([model for model, _ in named], arguments)
        for count, (model, base) in enumerate(named):
            if progress is not None:
                progress(model.name, count / len(named))
            target = None if copies is None else partial(_target, model, base, copies, len(named))
            looks.append(_looked(model, rules, target, mending, engines, reading))
            errors += [looks[-1].problem] if looks[-1].problem else []
        if write_baseline is not None:
            _store(Path(write_baseline), [each.checked for each in looks])
    except (ModelError, OptionError) as error:
        errors.append(str(error))
    outcome = _outcome(looks, notes, errors, known, rules)
    failed = write_baseline is None and not errors and outcome.remaining.failed("info" if strict else fail_on)
    status = REFUSED if errors else FINDINGS if failed else DONE
    sys.stdout.write(outcome.text(format, status, details=details, by_rule=summary))
    for error in errors:
        sys.stderr.write(f"steelyard: {' '.join(error.split())}\n")
    return status


@dataclass(frozen=True)
class _CheckedModel:
    """One model: what was found, its repaired copy if there is one, what is left to mend, and why it ended early."""

    checked: Checked
    repair: "Repair | None" = None
    remaining: Findings = NOTHING
    problem: str = ""


def _looked(
    model: Path, rules: tuple[Rule, ...], target: Callable[[], Path] | None, mending: dict, engines, reading: dict
) -> _CheckedModel:
    """Look at a model, and at its repaired copy where `target` says where it goes; options of `repair` and of
    reading."""
    checked, mended = None, None
    try:
        sketch = read_sketch(model, **reading)
        checked = Checked(model, len(sketch.parts), look(sketch, rules))
        remaining = checked.findings
        if target is not None:
            from steelyard.check.repaired_copy import repair  # loads the dynamics

            mended = repair(model, target(), **mending, **reading)
            remaining = mended.remaining
        remaining = with_engines(remaining, mended.path if mended else model, engines, reading["folders"])
    except SteelyardError as error:
        return _CheckedModel(checked or Checked(model, 0, NOTHING, str(error)), mended, problem=str(error))
    return _CheckedModel(checked, mended, remaining)


def _store(path: Path, models: Sequence[Checked]):
    """Write a baseline of models. Raises OptionError where it would overwrite one of them."""
    if os.path.realpath(path) in [os.path.realpath(each.path) for each in models]:
        raise OptionError(f"{path} is a model of this check and would be overwritten. Choose another name.")
    write(path, _whole(models))


@dataclass(frozen=True)
class _CheckOutcome:
    """What was found in all models, known findings of a baseline left out."""

    models: Sequence[Checked]
    found: Findings  # and `remaining`: before and after repairs
    remaining: Findings
    repairs: Sequence["Repair"]
    errors: Sequence[str]
    known: Baseline | None
    gone: Sequence[str]  # findings of the baseline that there are no more

    def text(self, format: str, status: int, *, details: bool, by_rule: bool) -> str:
        """In one of the formats. status: exit code; details, by_rule: of text, as of `check_models`."""
        found, repairs, errors, engines = self.found, self.repairs, self.errors, self.remaining.engines
        if format == "json":
            about = {"models": self.models, "fixed": self.gone, "status": status, "engines": engines}
            return formats.to_json(found, repairs, errors, **about)
        if format == "sarif":
            return formats.sarif(found, errors)
        if format == "markdown":
            return formats.markdown(found, repairs)
        if format == "github":
            return formats.github(found, errors)
        if not found.files:
            return ""
        colour = sys.stdout.isatty() and not os.environ.get("NO_COLOR")
        rows = self.models if by_rule or (len(self.models) > 1 and not details and self.known is None) else ()
        shown = formats.text(found, repairs, models=rows, by_rule=by_rule, colour=colour)
        lines = (f"{line}\n" for each in engines for line in formats.engine_lines(each))
        return "".join([shown, _hints(rows, self.known, self.gone), *lines])


def _outcome(
    looks: Sequence[_CheckedModel],
    notes: Findings,
    errors: Sequence[str],
    known: Baseline | None,
    rules: tuple[Rule, ...],
) -> _CheckOutcome:
    """All models together. notes: of destinations; errors: of what could not be looked at at all."""
    models = [each.checked for each in looks]
    remaining = reduce(Findings.merged, (each.remaining for each in looks), NOTHING)
    gone: Sequence[str] = ()
    if known is not None and models:
        gone = known.fixed(_whole(models), rules)
        models = [replace(each, findings=known.new(each.findings)) for each in models]
        remaining = known.new(remaining)
    repairs = [each.repair for each in looks if each.repair is not None]
    return _CheckOutcome(models, notes.merged(_whole(models)), remaining, repairs, errors, known, gone)


def _whole(models: Iterable[Checked]) -> Findings:
    return reduce(Findings.merged, (each.findings for each in models), NOTHING)


def _hints(rows: Sequence[Checked], known: Baseline | None, gone: Sequence[str]) -> str:
    """What a reader can do next, below a table, and what of a baseline is gone."""
    lines = []
    if any(each.findings for each in rows):
        lines.append("Every finding, with line and remedy: --details, or name one model.")
    if known is not None:
        lines.append(f"Known findings of {known.path} are left out: {known.known.total()}.")
        if gone:
            lines.append("Of them, fixed since (write it anew with --write-baseline):")
        lines += [f"  {each}" for each in gone]
    return "".join(f"{line}\n" for line in lines)


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
    models: dict[str, tuple[Path, Path]] = {}
    for path in given:
        try:
            for model in models_in(path):
                models.setdefault(os.path.realpath(model), (model, _base(path)))
        except SteelyardError as error:
            errors.append(str(error))
    return list(models.values())


def _base(path: Path) -> Path:
    """The folder of a model file, of a pattern what comes before its first wild card, and a folder itself."""
    if os.path.isdir(path):  # noqa: PTH112  False for names that cannot be
        return path
    return next((folder for folder in path.parents if not glob.has_magic(str(folder))), path.parent)


def _target(model: Path, base: Path, fix: Path, count: int) -> Path:
    """Where the repaired copy of a model goes: `fix` itself, or its place in that folder."""
    if count == 1 and fix.suffix and not os.path.isdir(fix):  # noqa: PTH112  False for names that cannot be
        return fix
    from steelyard.check.repaired_copy import copy_suffix

    return (fix / model.relative_to(base)).with_suffix(copy_suffix(model))
