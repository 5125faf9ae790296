"""A report as Markdown: the text and numbers of the page, without its figures. Names are shown as they are."""

import re

from steelyard.report.document import Cell, Part, Sheet, View

SPECIAL = re.compile(r"([\\`*_{}\[\]<>()#+\-.!|~&])")  # ASCII punctuation that Markdown may read as markup
ALIGN = {"number": "---:", "text": ":---", "wrap": ":---"}


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


def escaped(text: str) -> str:
    """Text on one line that Markdown shows as it is."""
    return SPECIAL.sub(r"\\\1", " ".join(text.split()))


def _block(part: Part) -> str:
    blocks = [escaped(part.text), _fenced(part.code), _items(part.items), _table(part.sheet) if part.sheet else ""]
    return "\n\n".join(block for block in blocks if block)


def _fenced(code: str) -> str:
    fence = "`" * (3 + max((len(run) for run in re.findall("`+", code)), default=0))
    return f"{fence}\n{code}\n{fence}" if code else ""


def _items(items) -> str:
    return "\n".join(f"- {escaped(item)}" for item in items)


def _table(sheet: Sheet) -> str:
    rows = ["| " + " | ".join(map(_cell, row)) + " |" for row in sheet.rows]
    head = "| " + " | ".join(escaped(column.title) for column in sheet.columns) + " |"
    rule = "|" + "|".join(ALIGN[column.kind] for column in sheet.columns) + "|"
    return "\n".join([f"**{escaped(sheet.title)}.** {escaped(sheet.caption)}", "", head, rule, *rows])


def _cell(cell: Cell) -> str:
    text = escaped(f"{cell.text}{cell.mark}")
    more = "; ".join(escaped(each) for each in (cell.was, cell.note) if each)
    return f"{text} ({more})" if more else text
