"""All rules, in the order of their codes."""

from collections.abc import Callable

from steelyard.check import (
    rules_files,
    rules_mass,
    rules_mirror,
    rules_plausible,
    rules_shape,
    rules_structure,
    rules_tensor,
)
from steelyard.check.findings import Finding
from steelyard.check.rule import Rule
from steelyard.errors import OptionError, choices

FAMILIES = (rules_mass, rules_tensor, rules_shape, rules_plausible, rules_mirror, rules_structure, rules_files)
RULES: tuple[Rule, ...] = tuple(
    sorted((rule for family in FAMILIES for rule in family.RULES), key=lambda rule: rule.code)
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
