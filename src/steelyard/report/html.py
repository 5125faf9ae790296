"""The report as one page that needs nothing else: no network, no other file."""

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
    environment.filters |= {"number": number, "percent": _share, "size": _size}
    template = environment.from_string(files("steelyard.report").joinpath("template.html").read_text("utf-8"))
    torque = figures.torque_figures(result)
    return template.render(
        summary=summary,
        knowledge=KNOWLEDGE,
        uncertain=UNCERTAIN,
        terms=[term for term in ("viscous", "coulomb", "offset", "armature") if term in result.estimate.layout.terms],
        overview={
            "error": _embedded(figures.error_figure(summary)),
            "mass": _embedded(figures.mass_figure(summary)),
            "precision": _embedded(figures.precision_figure(summary)),
        },
        torque=[(name, _embedded(figure)) for name, figure in torque.items()],
        plotly=Markup(get_plotlyjs()),
    )


def number(value) -> str:
    """A number with four significant digits, a dash for what is unknown."""
    if value is None:
        return "–"
    return f"{value + 0.0:.{DIGITS}g}".replace("-", "−")


def _share(value) -> str:
    return "–" if value is None else percent(value)


def _size(count: int) -> str:
    return f"{count / 2**20:.1f} MB" if count >= 2**20 else f"{count / 2**10:.1f} kB"


def _embedded(figure):
    """JSON of a figure that may stand inside a script element whatever its names contain."""
    from markupsafe import Markup

    text = figure.to_json()
    for character in "<>&":
        text = text.replace(character, f"\\u{ord(character):04x}")
    return Markup(text)
