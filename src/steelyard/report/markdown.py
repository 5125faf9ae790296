"""A report as Markdown: the text and numbers of the page, without its figures. Names are shown as they are."""

import re

from steelyard.report.document import Part, View
from steelyard.sheets import markdown_table
from steelyard.sheets import markdown_text as escaped


def markdown(view: View) -> str:
    """A whole document."""
    screen = view.screen
    blocks = [
        f"# {escaped(view.title)}",
        escaped(view.subtitle),
        f"**{escaped(screen.headline)}** {escaped(screen.advice)}",
        *(f"**{escaped(a.question)}** {escaped(a.answer)}. {escaped(a.detail)}" for a in screen.questions),
        "Look at these first:" if screen.reasons else "",
        _items(screen.reasons),
    ]
    for section in view.sections:
        blocks += [f"## {escaped(section.title)}", *map(_block, section.parts)]
    return "\n\n".join([*(block for block in blocks if block), escaped(view.footer)]) + "\n"


def _block(part: Part) -> str:
    blocks = [escaped(part.text), _fenced(part.code), _items(part.items)]
    if part.sheet:
        caption = f"**{escaped(part.sheet.title)}.** {escaped(part.sheet.caption)}"
        blocks += [caption, markdown_table(part.sheet)]
    return "\n\n".join(block for block in blocks if block)


def _fenced(code: str) -> str:
    fence = "`" * (3 + max((len(run) for run in re.findall("`+", code)), default=0))
    return f"{fence}\n{code}\n{fence}" if code else ""


def _items(items) -> str:
    return "\n".join(f"- {escaped(item)}" for item in items)
