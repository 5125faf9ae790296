"""Numbers as people read them. Page, Markdown and terminal write every number with these, so that they agree."""

import math

DIGITS = 4
MOST_PLACES = 6  # after the point; smaller numbers are written with an exponent
DASH = "–"
UNITS_OF_FILES = {30: "GB", 20: "MB", 10: "kB"}  # by powers of two


def number(value) -> str:
    """Four significant digits, a dash for what is unknown."""
    return DASH if value is None else f"{value + 0.0:.{DIGITS}g}".replace("-", "−")


def plus_minus(value, deviation) -> str:
    """A value and its standard deviation to two significant digits, the value to the same place: 0.8048 ± 0.0035."""
    if value is None or not deviation or not math.isfinite(deviation):
        return number(value) if not deviation else f"{number(value)} ± {DASH}"
    places = 1 - math.floor(math.log10(deviation))
    if not 0 <= places <= MOST_PLACES:
        return f"{number(value)} ± {number(deviation)}"
    return f"{round(value, places) + 0.0:.{places}f} ± {deviation:.{places}f}".replace("-", "−")


def percent(share: float) -> str:
    """A share in percent, to two significant digits and never to tens: 0.0042 %, 4.2 %, 42 %, 420 %."""
    digits = ".0f" if share >= 1 else ".2g"
    return f"{float(f'{100 * share:{digits}}'):.15g} %"


def share(value) -> str:
    """A share in percent, a dash for what is unknown."""
    return DASH if value is None else percent(value)


def spread(value) -> str:
    """A share in percent, less than a millionth counting as none."""
    return share(None if value is None else round(value, 6))


def in_percent(share: float | None) -> float | None:
    """A share as the number of its percents, for figures."""
    return None if share is None else 100 * share


def interval(lower, upper) -> str:
    """From, to."""
    return f"{number(lower)} … {number(upper)}"


def unit(text: str) -> str:
    """A unit with a raised two."""
    return text.replace("^2", "²")


def size(count: int) -> str:
    """Size of a file."""
    power = next((power for power in (30, 20) if count >= 2**power), 10)
    return f"{count / 2**power:.1f} {UNITS_OF_FILES[power]}"


def times(ratio: float) -> str:
    """How many times: one digit after the point below ten."""
    return f"{ratio:.{0 if ratio >= 10 else 1}f}"


def plural(count: int, word: str, words: str | None = None) -> str:
    """`1 link`, `2 links`."""
    return f"{count} {word if count == 1 else words or word + 's'}"
