"""Mutants are put in exactly once, or refused; their page counts them."""

import pytest
from tools.mutant import Mutant
from tools.mutant_page import page

SIGN = Mutant("sign", "fit/some.py", "a + b", "a - b", ("fit",))


def test_a_mistake_is_made_in_one_place():
    assert SIGN.applied("c = a + b\n") == "c = a - b\n" and SIGN.package == "fit"
    assert Mutant("", "simulate.py", "a", "b", ()).package == "loose"
    for source in ("c = a\n", "c = a + b\nd = a + b\n"):
        with pytest.raises(ValueError, match="times in fit"):
            SIGN.applied(source)


def test_the_page_lists_the_living_with_the_reason():
    same = Mutant("same", "log/some.py", "x", "y", ("log",), alive="gives the same numbers")
    killed, lives, narrow = {"killed": "tests/fit::test"}, {"killed": "", "wide": True}, {"killed": "", "wide": False}
    found = page([(SIGN, killed), (same, lives), (same, narrow), (same, None)])
    assert (
        "| fit | 1 | 1 | 0 | 0 |" in found and "| log | 3 | 0 | 1 | 2 |" in found and "| all | 4 | 1 | 1 | 2 |" in found
    )
    assert found.count("| same | `log/some.py` | gives the same numbers |") == 1 and "| sign |" not in found
