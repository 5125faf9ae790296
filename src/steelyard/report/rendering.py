"""A report as one page that needs nothing else, no network and no other file; and as Markdown, without its figures.

Names are shown as they are.
"""

import json
import re
from base64 import b64encode
from functools import cache
from html import unescape
from importlib.resources import files
from zlib import compress

import numpy as np

from steelyard.extras import extra
from steelyard.report.document import ReportPart, View
from steelyard.sheets import html_table, markdown_table
from steelyard.sheets import markdown_text as escaped

PACKAGE = "steelyard.report"


def page(view: View) -> str:
    """HTML of a view; every number on it is taken from a summary. Scripts are on it where it has figures."""
    with extra("Writing reports"):
        from jinja2 import Environment, PackageLoader, StrictUndefined
        from markupsafe import Markup

    environment = Environment(
        loader=PackageLoader(PACKAGE), autoescape=True, undefined=StrictUndefined, trim_blocks=True, lstrip_blocks=True
    )
    environment.filters["tight"] = lambda text: text.replace(" %", "\N{NO-BREAK SPACE}%")
    raw = {name: Markup(_text(name)) for name in ("style.css", "page.js")}
    return environment.get_template("page.html").render(
        view=view,
        html_table=lambda sheet: Markup(html_table(sheet)),
        sections=[(section, [part for part in section.parts if _filled(part, view)]) for section in view.sections],
        figures={key: _embedded(figure) for key, figure in view.figures.items()},
        robot=Markup(view.robot),
        style=raw["style.css"],
        script=raw["page.js"],
        plotly=_plotly() if view.figures else "",
    )


def _text(name: str) -> str:
    return files(PACKAGE).joinpath("templates", name).read_text("utf-8")


def _filled(part: ReportPart, view: View) -> bool:
    if part.robot:
        return bool(view.robot)
    return not part.figures or any(key in view.figures for key in part.figures)


@cache
def _plotly() -> str:
    """The plotting library, packed: a third of the size, unpacked by the browser."""
    with extra("Writing reports"):
        from plotly.offline import get_plotlyjs

    return b64encode(compress(get_plotlyjs().encode())).decode()


def _embedded(figure: dict) -> dict:
    """Title of a figure, set by the page, and JSON that may stand inside a script element."""
    from markupsafe import Markup

    layout = dict(figure["layout"])
    title = unescape(layout.pop("title")["text"])
    layout |= {"margin": layout["margin"] | {"t": 34}, "height": layout["height"] - 30}
    data = [{key: _packed(value) for key, value in trace.items()} for trace in figure["data"]]
    text = json.dumps({"data": data, "layout": layout}, allow_nan=False)
    for character in "<>&":
        text = text.replace(character, f"\\u{ord(character):04x}")
    return {"title": title, "json": Markup(text)}


def _packed(value):
    """Arrays in the binary form of Plotly: shorter than digits, and NaN breaks a line."""
    if not isinstance(value, np.ndarray):
        return value
    return {
        "dtype": value.dtype.str[1:],
        "bdata": b64encode(value.astype(value.dtype.newbyteorder("<")).tobytes()).decode(),
    }


def markdown(view: View) -> str:
    """A whole document."""
    screen = view.screen
    blocks = [
        f"# {escaped(view.title)}",
        escaped(view.subtitle),
        f"**{escaped(screen.headline)}** {escaped(screen.advice)}",
        *(f"**{escaped(a.question)}** {escaped(a.answer)}. {escaped(a.detail)}" for a in screen.answers),
        "Look at these first:" if screen.reasons else "",
        _items(screen.reasons),
    ]
    for section in view.sections:
        blocks += [f"## {escaped(section.title)}", *map(_block, section.parts)]
    return "\n\n".join([*(block for block in blocks if block), escaped(view.footer)]) + "\n"


def _block(part: ReportPart) -> str:
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
