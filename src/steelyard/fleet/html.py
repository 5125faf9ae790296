"""The fleet report: one page without scripts or network, from a summary; drawings are SVG beside their numbers."""

from math import isfinite

from steelyard.fleet.tables import errors, headline

WIDTH, HEIGHT, LEFT, PAD = 460, 150, 8, 14
DIGITS = 4


def page(found: dict) -> str:
    """HTML of a summary; every number on it is taken from there."""
    from jinja2 import Environment, PackageLoader, StrictUndefined
    from markupsafe import Markup

    environment = Environment(
        loader=PackageLoader("steelyard.fleet"),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.filters |= {"number": number, "percent": percent, "bytes": size}
    style, _, _ = environment.loader.get_source(environment, "style.css")  # type: ignore[union-attr]
    return environment.get_template("fleet.html").render(
        found=found,
        headline=headline(found),
        errors=errors(found),
        level="care" if needs_a_look(found) else "good",
        style=Markup(style),
        course=lambda change: Markup(course(change["course"], change["first"]["place"])),
    )


def needs_a_look(found: dict) -> bool:
    """Whether anything was found that a person should see."""
    robots = found["robots"]
    told = any(robot["changes"] or robot["outlier"] or robot["needs_motion"] for robot in robots)
    return told or bool(found["failures"] or found["silent"])


def number(value) -> str:
    """Four significant digits, a dash for what is unknown."""
    return "–" if value is None else f"{value + 0.0:.{DIGITS}g}".replace("-", "−")


def percent(share) -> str:
    return "–" if share is None else f"{100 * share:.2g} %"


def size(count) -> str:
    return f"{count / 2**30:.2f} GB" if count >= 2**30 else f"{count / 2**20:.1f} MB"


def course(drawn: dict, first: int) -> str:
    """SVG of a parameter run by run with two deviations either way; runs from the change on are filled."""
    known = [
        (k, v, 2 * d) for k, (v, d) in enumerate(zip(drawn["values"], drawn["deviations"], strict=True)) if _told(v, d)
    ]
    if not known:
        return ""
    low, high = min(v - d for _, v, d in known), max(v + d for _, v, d in known)
    room, count = max(high - low, 1e-12), max(len(drawn["values"]) - 1, 1)
    x = lambda k: PAD + LEFT + k * (WIDTH - LEFT - 2 * PAD) / count  # noqa: E731
    y = lambda v: HEIGHT - PAD - (v - low) / room * (HEIGHT - 2 * PAD)  # noqa: E731
    marks = [
        f'<line x1="{x(k):.1f}" x2="{x(k):.1f}" y1="{y(v - d):.1f}" y2="{y(v + d):.1f}" class="bar"/>'
        f'<circle cx="{x(k):.1f}" cy="{y(v):.1f}" r="4" class="{"after" if k >= first else "before"}"/>'
        for k, v, d in known
    ]
    edge = (x(first) + x(max(first - 1, 0))) / 2
    marks.append(f'<line x1="{edge:.1f}" x2="{edge:.1f}" y1="{PAD / 2}" y2="{HEIGHT - PAD / 2}" class="edge"/>')
    return f'<svg viewBox="0 0 {WIDTH} {HEIGHT}" role="img" aria-label="Run by run">{"".join(marks)}</svg>'


def _told(value, deviation) -> bool:
    return value is not None and deviation is not None and isfinite(value) and isfinite(deviation)
