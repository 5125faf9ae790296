"""One grammar of numbers in texts, beside Python's own and numpy's."""

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from steelyard.numbers import to_float

#: A text of each kind that `float` takes and no format of ours has.
PYTHON_ONLY = ("1_5", "1_000.5", "1e1_0", "١٫٥", "१", "１.5", "1.5\u00a0", "\u20031")


@pytest.mark.parametrize("text", [*PYTHON_ONLY, "", " ", ".", "e5", "1e", "1,5", "0x10", "1.5kg", "1 5", "++1", "ınf"])
def test_refused(text):
    with pytest.raises(ValueError, match="not a number"):
        to_float(text)


@pytest.mark.parametrize("text", ["1", "-1.", "+.5", "1e-3", "1E+05", "007", " 2.5\t\r\n", "inf", "-Infinity"])
def test_as_python_reads_it(text):
    assert to_float(text) == float(text)


def test_not_a_number_is_one_of_the_words():
    assert math.isnan(to_float("NaN"))


@given(st.floats(allow_nan=False))
def test_what_is_written_is_read(value):
    assert to_float(repr(value)) == value


@given(st.text(alphabet="0123456789_.eE+- infa٣१", max_size=8))
def test_never_more_than_python(text):
    try:
        value = to_float(text)
    except ValueError:
        return
    assert "_" not in text
    assert text.isascii()
    assert value == float(text) or math.isnan(value)
