"""All rules, in the order of their codes, and checks of sketched models by them."""

from collections.abc import Callable
from dataclasses import replace
from os import PathLike
from pathlib import Path

from steelyard.arguments import require_type
from steelyard.check import rules_inertial, rules_kinds, rules_plausible, rules_shape, rules_structure
from steelyard.check.destinations import Destination, wanted
from steelyard.check.known_reports import REPORTS
from steelyard.check.rule import Finding, Findings, Rule
from steelyard.check.rules_scanned import SCANNED
from steelyard.errors import ModelError, OptionError, choices
from steelyard.model.formats import models_in, read_sketch, require_takers
from steelyard.model.sketch import Sketch

FAMILIES = rules_inertial, rules_shape, rules_plausible, rules_kinds, rules_structure
RULES: tuple[Rule, ...] = tuple(
    sorted(
        (
            *(each for family in FAMILIES for each in vars(family).values() if isinstance(each, Rule)),
            *SCANNED,
            *REPORTS,
        ),
        key=lambda rule: rule.code,
    )
)
BY_CODE = {rule.code: rule for rule in RULES}
MISREAD = tuple(each for rule in RULES for each in rule.misread)
DESTINATIONS = tuple(sorted({name for each in MISREAD for name in each.destinations}))
"""Simulators that there are rules for."""


ERRORS, ALL = "errors", "all"  # what is repaired: findings of severity error, by default, or of any


def selected(select=(), ignore=(), destinations: tuple[Destination, ...] = ()) -> tuple[Rule, ...]:
    """Rules whose code starts with one of `select` (all when empty) and with none of `ignore`, those of destinations
    for these only. Raises OptionError for a code that matches no rule, or none without a destination."""
    for prefix in (*select, *ignore):
        if not prefix or not any(code.startswith(prefix) for code in BY_CODE):
            raise OptionError(f"'{prefix}' is no rule code and no beginning of one. Codes: {choices(BY_CODE)}.")
    for prefix in select:
        if not destinations and all(rule.misread for rule in RULES if rule.code.startswith(prefix)):
            raise OptionError(f"'{prefix}' is of destinations; name one, --for {' or '.join(DESTINATIONS)}.")
    asked = filter(None, (rule.of(destinations) for rule in RULES))
    chosen = [rule for rule in asked if not select or rule.code.startswith(tuple(select))]
    return tuple(rule for rule in chosen if not (ignore and rule.code.startswith(tuple(ignore))))


def repairable(what, destinations: tuple[Destination, ...] = ()) -> Callable[[Finding], bool]:
    """Whether a finding is to be repaired: of "errors", "all", or codes of any severity. A warning may be about a right
    model, so it is repaired only when asked for. Raises OptionError for an unknown word, and for a code of destinations
    without any."""
    if what == ERRORS:
        return lambda finding: finding.severity == "error"
    prefixes = () if what == ALL else (what,) if isinstance(what, str) else tuple(what)
    codes = {rule.code for rule in selected(prefixes, destinations=destinations)}
    return lambda finding: finding.code in codes


def destinations_of(given) -> tuple[Destination, ...]:
    """As of `destinations.wanted`, among those of rules. Raises OptionError for an unknown one."""
    return wanted(given or (), MISREAD)


def run(
    path, *, select=(), ignore=(), meshes: bool = True, folders=(), arguments=(), destination=(), engines=False
) -> Findings:
    """Check a model file, or every model of a folder.

    select, ignore: rule codes or beginnings of codes ("SY2"). meshes: whether mesh files are read; without them, rules
    on geometry see primitive shapes only. folders: whose files models may name beside those of their own folder and
    package. arguments: as of `load`. destination: simulators that the models are for, such as "newton"
    or "mujoco==3.12", whose rules look too. engines: whether installed engines read the model, too, to be compared with
    the robot read here; or their names. Raises ModelError for a file that cannot be read at all or is no model (for a
    folder: when no file of it can), OptionError for an unknown code.
    """
    require_type(str | PathLike, path=path)
    destinations = destinations_of(destination)
    rules = selected(select, ignore, destinations)
    whole = Findings((), (), tuple(each.note for each in destinations if each.note))
    models = models_in(path)
    require_takers(models, arguments)
    for model in models:
        try:
            sketch = read_sketch(model, meshes=meshes, folders=folders, arguments=arguments)
            whole = whole.merged(with_engines(look(sketch, rules), model, engines, folders))
        except ModelError as error:
            if len(models) == 1:
                raise
            whole = whole.merged(Findings((), (), (str(error),)))
    if not whole.files:
        raise ModelError(whole.notes[len(whole.notes) - len(models)])
    return whole


def with_engines(findings: Findings, path, engines, folders) -> Findings:
    """Findings of a model with what engines read of it. engines: as of `run`; where there are none, as they were."""
    if not engines:
        return findings
    from steelyard.check.engines import compare_engines  # loads the dynamics

    try:
        compared = compare_engines(path, engines=() if engines is True else engines, folders=folders)
    except ModelError as error:
        return replace(findings, notes=(*findings.notes, f"Engines were not asked: {error}"))
    return replace(findings, engines=(compared,))


def look(sketch: Sketch, rules: tuple[Rule, ...]) -> Findings:
    """Findings of rules on one sketch, in line order."""
    found: list[Finding] = [finding for rule in rules for finding in rule.findings(sketch)]
    return Findings(tuple(sorted(set(found))), (Path(sketch.path),), sketch.notes)
