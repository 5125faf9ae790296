"""Rules of the linter on their page, from their docstrings: `python -m tools.check_pages docs/check.md`."""

import inspect
import re
import sys
from pathlib import Path

from steelyard.check.catalog import RULES
from steelyard.check.rule import Rule

START, END = "<!-- rules: tools.check_pages -->", "<!-- end of rules -->"
SECTIONS = ("Why", "Example", "Remedy")
FAMILIES = {
    "SY1": "Masses and stated values",
    "SY2": "Physical consistency",
    "SY3": "Inertia against geometry",
    "SY4": "Plausibility: density, units, placeholders, symmetry",
    "SY5": "Structure and limits",
    "SY6": "Files",
    "SY7": "Destinations (`--for`)",
}
REPAIRED = {"no": "no", "yes": "`--fix`", "on demand": "`--fix=all` or `--fix={}`"}
DESTINATIONS = "SY7"


def repaired(rule: Rule) -> str:
    """Key of `REPAIRED`: warnings may be about a right model, so only errors are repaired by default."""
    return "no" if not rule.repairs else "yes" if rule.severity == "error" else "on demand"


def entry(rule: Rule) -> list[str]:
    """Lines on one rule: condition, reason, example, remedy, repair."""
    parts = _sections(rule)
    lines = [f"#### {rule.code} {rule.name}", "", f"{rule.title}. {' '.join(parts['Why'])}", ""]
    lines += ["```xml", *parts["Example"], "```", ""]
    missing = "none: the model is right." if rule.misread else "none: the right value does not follow from the model."
    repairs = rule.repairs or missing
    how = f" ({REPAIRED[repaired(rule)].format(rule.code)})" if rule.repairs else ""
    return [*lines, f"Remedy: {' '.join(parts['Remedy'])}", "", f"Repair{how}: {repairs}", ""]


def readers(rule: Rule) -> str:
    """Who reads models so, of which formats, and who reported it."""
    told = [f"{each.versions}: {', '.join(each.formats)} ({each.reference})" for each in rule.misread]
    return "; ".join(told)


def _sections(rule: Rule) -> dict[str, list[str]]:
    """Lines below each heading of a rule's docstring."""
    found: dict[str, list[str]] = {name: [] for name in SECTIONS}
    name = ""
    for line in inspect.cleandoc(rule.text).splitlines()[1:]:
        head = re.match(rf"({'|'.join(SECTIONS)}):\s*", line)
        if head:
            name, line = head[1], line[head.end() :]
        if name and line.strip():
            found[name].append(line.removeprefix("    ") if name == "Example" else _prose(line.strip()))
    return found


def _prose(line: str) -> str:
    """Tags of XML as code: Markdown would take them for its own."""
    return re.sub(r"<\w[^>]*>", r"`\g<0>`", line)


def rules() -> str:
    """Markdown of all rules: a table and the entries of each family."""
    lines = []
    for prefix, title in FAMILIES.items():
        family = [rule for rule in RULES if rule.code.startswith(prefix)]
        who = prefix == DESTINATIONS
        head = ("code", "name", "severity", "condition", *(("readers",) if who else ()), "repaired")
        lines += [f"### {title}", "", f"| {' | '.join(head)} |", "|---" * len(head) + "|"]
        for rule in family:
            place = f"[{rule.code}](#{rule.code.lower()}-{rule.name})"
            cells = (
                place,
                rule.name,
                rule.severity,
                f"{rule.title}.",
                *((readers(rule),) if who else ()),
                repaired(rule),
            )
            lines.append(f"| {' | '.join(cells)} |")
        lines += ["", *(line for rule in family for line in entry(rule))]
    return "\n".join(lines)


def page(text: str) -> str:
    """The page with the part between the marks as it should be."""
    before, _, rest = text.partition(START)
    return f"{before}{START}\n\n{rules()}\n{END}{rest.partition(END)[2]}"


if __name__ == "__main__":
    path = Path(sys.argv[1])
    path.write_text(page(path.read_text("utf-8")), "utf-8")
