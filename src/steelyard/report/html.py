"""The report as one page that needs nothing else: no network, no other file."""

from html import unescape
from importlib.resources import files

from steelyard.pipeline import Result
from steelyard.report import figures
from steelyard.report.labels import KNOWLEDGE
from steelyard.report.verdict import UNCERTAIN, percent

DIGITS = 4


def page(result: Result, summary: dict) -> str:
    """HTML of a run. summary: of the same result, see `report.summary`; every number on the page is taken from it."""
    from jinja2 import Environment, StrictUndefined
    from markupsafe import Markup
    from plotly.offline import get_plotlyjs

    environment = Environment(autoescape=True, undefined=StrictUndefined, trim_blocks=True, lstrip_blocks=True)
    environment.filters |= {
        "number": number,
        "percent": _share,
        "size": _size,
        "unit": lambda text: text.replace("^2", "²"),
    }
    template = environment.from_string(files("steelyard.report").joinpath("template.html").read_text("utf-8"))
    torque = figures.torque_figures(result)
    return template.render(
        summary=summary,
        knowledge=KNOWLEDGE,
        uncertain=UNCERTAIN,
        terms=[term for term in ("viscous", "coulomb", "offset", "armature") if term in result.estimate.layout.terms],
        figures={
            "error": _embedded(figures.error_figure(summary)),
            "mass": _embedded(figures.mass_figure(summary)),
            "contributions": _embedded(figures.contribution_figure(summary)),
            "precision": _embedded(figures.precision_figure(summary)),
        }
        | {f"torque{i}": _embedded(figure) for i, figure in enumerate(torque.values())},
        torque=list(torque),
        plotly=Markup(get_plotlyjs()),
    )


def number(value) -> str:
    """A number with four significant digits, a dash for what is unknown."""
    if value is None:
        return "–"
    return f"{value + 0.0:.{DIGITS}g}".replace("-", "−")


def _share(value) -> str:
    return "–" if value is None else percent(value)


def _unit(text: str) -> str:
    return text.replace("^2", "²")


def _size(count: int) -> str:
    return f"{count / 2**20:.1f} MB" if count >= 2**20 else f"{count / 2**10:.1f} kB"


def _embedded(figure) -> dict:
    """Title of a figure, and its JSON such that it may stand inside a script element whatever its names contain.

    The page sets the title itself: text of the page wraps on a narrow screen, text of a plot does not.
    """
    from markupsafe import Markup

    title = unescape(figure.layout.title.text)
    text = figure.update_layout(title=None, margin={"t": 34}, height=290).to_json()
    for character in "<>&":
        text = text.replace(character, f"\\u{ord(character):04x}")
    return {"title": title, "json": Markup(text)}
