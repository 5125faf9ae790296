"""When numbers count as equal, the grammar of numbers in texts (XML, tables, options), and numbers as people read them.

Page, Markdown and terminal write every number with these, so that they agree. The grammar is not Python's: its `float`
also takes `1_5` as 15 and digits of other scripts, which no writer of XML or CSV means.
"""

import math
import re
from collections.abc import Sequence

# Relative to what a number is part of: a smaller one is none.
ROUNDING = 1e-12  # of sums and products in double precision
NEGLIGIBLE = 1e-9  # of decompositions: directions that nothing shows, equations that repeat others
SAME = 1e-6  # of files, which often keep six digits, and of differences that nobody means

SEED = 20260103  # of states that any other would do for
STEPS = 100  # of an iteration that converges long before
SURE = 4.0  # standard deviations that chance does not reach: in one of 16,000 cases
NOTICED = 0.02  # of the largest torque, that a joint's counts for
FALSE_ALARM = 0.05  # probability of any in a whole run
ROUNDS = 10  # of alternations, of which two or three are usual

DIGITS = 4  # of numbers as people read them
MOST_PLACES = 6  # after the point; smaller numbers are written with an exponent
DASH = "–"

_NUMBER = re.compile(
    r"[ \t\r\n\f\v]*[-+]?(?:(?:[0-9]+\.?[0-9]*|\.[0-9]+)(?:e[-+]?[0-9]+)?|inf(?:inity)?|nan)[ \t\r\n\f\v]*",
    re.ASCII | re.IGNORECASE,
)


def to_float(text: str) -> float:
    """The number that a text is: decimal digits 0 to 9, a point, an exponent; or `inf` and `nan` in any case.

    Args:
        text: one number, with white space around it or none.

    Returns:
        Its value.

    Raises:
        ValueError: a text that is no number, such as `1_5`, `1,5`, `0x10` or digits of other scripts.

    Source: XML Schema 1.1 part 2, 3.3.5 (`double`), with the words of C's `strtod` for infinity and not-a-number.
    """
    if _NUMBER.fullmatch(text) is None:
        raise ValueError(f"{text!r} is not a number")
    return float(text)


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
    name, power = next((each for each in (("GB", 30), ("MB", 20)) if count >= 2 ** each[1]), ("kB", 10))
    return f"{count / 2**power:.1f} {name}"


def times(ratio: float) -> str:
    """How many times: one digit after the point below ten."""
    return f"{ratio:.{0 if ratio >= 10 else 1}f}"


def plural(count: int, word: str, words: str | None = None) -> str:
    """`1 link`, `2 links`."""
    return f"{count} {word if count == 1 else words or word + 's'}"


def some(names: Sequence[str], most: int) -> str:
    """The first of names in a line, and how many more there are."""
    return ", ".join(names[:most]) + (f" and {len(names) - most} more" if len(names) > most else "")
