"""When numbers count as equal, and the grammar of numbers in texts (XML, tables, options): not Python's.

Python's `float` also takes `1_5` as 15 and digits of other scripts, which no writer of XML or CSV means.
"""

import re

# Relative to what a number is part of: a smaller one is none.
ROUNDING = 1e-12  # of sums and products in double precision
NEGLIGIBLE = 1e-9  # of decompositions: directions that nothing shows, equations that repeat others
SAME = 1e-6  # of files, which often keep six digits, and of differences that nobody means

SEED = 20260103  # of states that any other would do for
STEPS = 100  # of an iteration that converges long before
ROUNDS = 10  # of alternations, of which two or three are usual

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
