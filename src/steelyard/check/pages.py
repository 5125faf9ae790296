"""Documentation pages of the rules, from their docstrings: `python -m steelyard.check.pages FOLDER`."""

import inspect
import sys
from pathlib import Path

from steelyard.check.catalog import RULES
from steelyard.check.rule import Rule

SECTIONS = {"Why:": "Why it matters", "Example:": "Example", "Remedy:": "Remedy"}
FAMILIES = {
    "SY1": "Masses and stated values",
    "SY2": "Which tensors a body can have",
    "SY3": "Inertia against geometry",
    "SY4": "Plausibility: density, units, placeholders, symmetry",
    "SY5": "Structure and limits",
    "SY6": "Files",
}


def page(rule: Rule) -> str:
    """Markdown page of one rule."""
    lines = [f"# {rule.code} {rule.name}", "", f"{rule.title}. Default severity: **{rule.severity}**.", ""]
    paragraph: list[str] = []
    code = False

    def flush():
        if code and paragraph:
            lines.extend(["```xml", *(line[4:] for line in paragraph), "```", ""])
        elif paragraph:
            lines.extend([" ".join(line.strip() for line in paragraph), ""])
        paragraph.clear()

    for line in inspect.cleandoc(rule.text).splitlines()[1:]:
        heading = next((key for key in SECTIONS if line.startswith(key)), None)
        if heading is None:
            paragraph += [line] if line.strip() else []
            continue
        flush()
        code = heading == "Example:"
        lines += [f"## {SECTIONS[heading]}", ""]
        rest = line.removeprefix(heading).strip()
        paragraph += [rest] if rest else []
    flush()
    repairs = rule.repairs or "Not repaired: the right value cannot be known from the model."
    if rule.repairs and rule.severity != "error":
        repairs += f" Only on demand: `--fix=all` or `--fix={rule.code}`."
    lines += ["## How `--fix` repairs it", "", repairs, "", "[All rules](index.md)", ""]
    return "\n".join(lines)


def index() -> str:
    """Markdown page that lists all rules."""
    lines = ["# Rules of `steelyard check`", ""]
    lines += [
        "Codes are stable. `error`: no body or robot can be like this, or simulators refuse it.",
        "`warning`: very likely wrong. `info`: worth a look; fails only with `--strict`.",
        "",
    ]
    for prefix, title in FAMILIES.items():
        lines += [f"## {title}", "", "| code | name | severity | what | repaired |", "|---|---|---|---|---|"]
        for rule in (r for r in RULES if r.code.startswith(prefix)):
            repaired = "no" if not rule.repairs else "yes" if rule.severity == "error" else "on demand"
            lines.append(
                f"| [{rule.code}]({rule.code}.md) | {rule.name} | {rule.severity} | {rule.title}. | {repaired} |"
            )
        lines.append("")
    return "\n".join(lines)


def pages() -> dict[str, str]:
    """File name -> content of every page."""
    return {"index.md": index()} | {f"{rule.code}.md": page(rule) for rule in RULES}


def write(folder):
    """Write all pages into a folder."""
    folder = Path(folder)
    folder.mkdir(parents=True, exist_ok=True)
    for name, content in pages().items():
        (folder / name).write_text(content, encoding="utf-8")


if __name__ == "__main__":
    write(sys.argv[1])
