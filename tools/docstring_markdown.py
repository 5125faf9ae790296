"""Docstrings are Markdown: code in backticks, lists, indented blocks. Sphinx reads reStructuredText."""

import re

CODE = re.compile(r"(`+)(.+?)\1", re.DOTALL)
ITEM = re.compile(r"([-*]|\d+\.) ")


def process(app, what, name, obj, options, lines) -> None:
    """Sphinx event `autodoc-process-docstring`: replaces `lines` in place."""
    lines[:] = restructured("\n".join(lines)).splitlines()


def restructured(text: str) -> str:
    """The same text in reStructuredText."""
    return blocks(inline(text))


def inline(text: str) -> str:
    """Code spans get the other language's quotes; what would be markup there is text."""
    parts, end = [], 0
    for found in CODE.finditer(text):
        parts += [escaped(text[end : found.start()]), f"``{' '.join(found[2].split())}``"]
        if text[found.end() : found.end() + 1].isalnum():
            parts.append("\\ ")
        end = found.end()
    return "".join([*parts, escaped(text[end:])])


def escaped(text: str) -> str:
    text = re.sub(r"(?<!^)(?<!\n)([*|`])(?! )", r"\\\1", text)
    return re.sub(r"(?<=\w)_(?!\w)", r"\\_", text)


def blocks(text: str) -> str:
    """A blank line around lists and indented blocks; an indented block that stands alone is code."""
    lines: list[str] = []
    in_code = in_list = False
    for line in text.splitlines():
        before = lines[-1] if lines else ""
        indented = line.startswith("    ")
        if not line.strip():
            in_list = in_list and not in_code
        elif ITEM.match(line):
            if before.strip() and not in_list:
                lines.append("")
            in_list, in_code = True, False
        elif indented and not in_list and not in_code:
            if before.strip():
                lines.append("")
            lines += ["::", ""]
            in_code = True
        elif not indented:
            if in_code and before.strip():
                lines.append("")
            in_code = False
            in_list = in_list and line.startswith(" ")
        lines.append(line)
    return "\n".join(lines)
