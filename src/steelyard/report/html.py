"""The report as one page that needs nothing else: no network, no other file."""

from base64 import b64encode
from html import unescape
from importlib.resources import files
from zlib import compress

from steelyard.report.sections import Part
from steelyard.report.view import View

PACKAGE = "steelyard.report"


def page(view: View) -> str:
    """HTML of a view; every number on it is taken from a summary."""
    from jinja2 import Environment, PackageLoader, StrictUndefined
    from markupsafe import Markup

    environment = Environment(
        loader=PackageLoader(PACKAGE),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    raw = {name: Markup(_text(name)) for name in ("style.css", "page.js")}
    return environment.get_template("page.html").render(
        view=view,
        sections=[
            (section, [part for part in section.parts if _filled(part, view.figures)]) for section in view.sections
        ],
        figures={key: _embedded(figure) for key, figure in view.figures.items()},
        style=raw["style.css"],
        script=raw["page.js"],
        plotly=_plotly() if view.figures else "",
    )


def _text(name: str) -> str:
    return files(PACKAGE).joinpath("templates", name).read_text("utf-8")


def _filled(part: Part, drawn: dict) -> bool:
    return not part.figures or any(key in drawn for key in part.figures)


def _plotly() -> str:
    """The plotting library, packed: a third of the size, unpacked by the browser."""
    from plotly.offline import get_plotlyjs

    return b64encode(compress(get_plotlyjs().encode(), 9)).decode()


def _embedded(figure) -> dict:
    """Title of a figure, and its JSON such that it may stand inside a script element whatever its names contain.

    The page sets the title itself: text of the page wraps on a narrow screen, text of a plot does not.
    """
    from markupsafe import Markup

    title = unescape(figure.layout.title.text)
    figure = figure.update_layout(title=None, margin={"t": 34}, height=290)
    text = figure.to_json()
    for character in "<>&":
        text = text.replace(character, f"\\u{ord(character):04x}")
    return {"title": title, "json": Markup(text)}
