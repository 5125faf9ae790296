"""Numbers as people read them. Page, Markdown and terminal write every number with these, so that they agree."""

DIGITS = 4
DASH = "–"


def number(value) -> str:
    """Four significant digits, a dash for what is unknown."""
    return DASH if value is None else f"{value + 0.0:.{DIGITS}g}".replace("-", "−")


def percent(share: float) -> str:
    """A share in percent, to two significant digits and never to tens: 0.0042 %, 4.2 %, 42 %, 420 %."""
    digits = ".0f" if share >= 1 else ".2g"
    return f"{float(f'{100 * share:{digits}}'):.15g} %"


def share(value) -> str:
    """A share in percent, a dash for what is unknown."""
    return DASH if value is None else percent(value)


def interval(lower, upper) -> str:
    """From, to."""
    return f"{number(lower)} … {number(upper)}"


def unit(text: str) -> str:
    """A unit with a raised two."""
    return text.replace("^2", "²")


def size(count: int) -> str:
    """Size of a file."""
    return f"{count / 2**20:.1f} MB" if count >= 2**20 else f"{count / 2**10:.1f} kB"


def times(ratio: float) -> str:
    """How many times: one digit after the point below ten."""
    return f"{ratio:.{0 if ratio >= 10 else 1}f}"


def plural(count: int, word: str, words: str | None = None) -> str:
    """`1 link`, `2 links`."""
    return f"{count} {word if count == 1 else words or word + 's'}"
