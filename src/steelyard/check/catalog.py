"""All rules, in the order of their codes, and checks of sketched models by them."""

from collections.abc import Callable
from os import PathLike
from pathlib import Path

from steelyard.arguments import require_type
from steelyard.check import (
    rules_files,
    rules_kinds,
    rules_mass,
    rules_mirror,
    rules_plausible,
    rules_shape,
    rules_structure,
    rules_tensor,
)
from steelyard.check.rule import Finding, Findings, Rule
from steelyard.errors import ModelError, OptionError, choices
from steelyard.model.formats import models_in, read_sketch
from steelyard.model.sketch import Sketch

FAMILIES = (
    rules_mass,
    rules_tensor,
    rules_shape,
    rules_plausible,
    rules_mirror,
    rules_kinds,
    rules_structure,
    rules_files,
)
RULES: tuple[Rule, ...] = tuple(
    sorted(
        (each for family in FAMILIES for each in vars(family).values() if isinstance(each, Rule)),
        key=lambda rule: rule.code,
    )
)
BY_CODE = {rule.code: rule for rule in RULES}


ERRORS, ALL = "errors", "all"
"""What is repaired: findings of severity error, by default, or of any."""


def selected(select=(), ignore=()) -> tuple[Rule, ...]:
    """Rules whose code starts with one of `select` (all when empty) and with none of `ignore`.

    Raises OptionError for a code or prefix that matches no rule.
    """
    for prefix in (*select, *ignore):
        if not prefix or not any(code.startswith(prefix) for code in BY_CODE):
            raise OptionError(f"'{prefix}' is no rule code and no beginning of one. Codes: {choices(BY_CODE)}.")
    chosen = [rule for rule in RULES if not select or rule.code.startswith(tuple(select))]
    return tuple(rule for rule in chosen if not (ignore and rule.code.startswith(tuple(ignore))))


def repairable(what) -> Callable[[Finding], bool]:
    """Whether a finding is to be repaired. what: "errors", "all", or codes and beginnings of codes of any severity.

    A warning may be about a right model that is drawn in part, so it is repaired only when asked for.
    Raises OptionError for an unknown word or code.
    """
    if what == ERRORS:
        return lambda finding: finding.severity == "error"
    codes = {rule.code for rule in selected(() if what == ALL else (what,) if isinstance(what, str) else what)}
    return lambda finding: finding.code in codes


def run(path, *, select=(), ignore=(), meshes: bool = True, folders=()) -> Findings:
    """Check a URDF, MJCF or SDF file, or every model of a folder.

    select, ignore: rule codes or beginnings of codes ("SY2"). meshes: whether mesh files are read; without them, rules
    on geometry see primitive shapes only. folders: whose files models may name beside those of their own folder and
    package. Raises ModelError for a file that cannot be read at all or is no model (for a
    folder: when no file of it can), OptionError for an unknown code.
    """
    require_type(str | PathLike, path=path)
    rules = selected(select, ignore)
    whole = Findings((), ())
    models = models_in(path)
    for model in models:
        try:
            whole = whole.merged(look(read_sketch(model, meshes=meshes, folders=folders), rules))
        except ModelError as error:
            if len(models) == 1:
                raise
            whole = whole.merged(Findings((), (), (str(error),)))
    if not whole.files:
        raise ModelError(whole.notes[0])
    return whole


def look(sketch: Sketch, rules: tuple[Rule, ...]) -> Findings:
    """Findings of rules on one sketch, in line order."""
    found: list[Finding] = [finding for rule in rules for finding in rule.findings(sketch)]
    return Findings(tuple(sorted(set(found))), (Path(sketch.path),), sketch.notes)
