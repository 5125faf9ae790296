"""Knowledge in words: what is written reads back, and mistakes say what was expected."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from properties import tried
from steelyard import fit
from steelyard.errors import OptionError
from steelyard.fit import knowledge

NAMES = st.text("abcXYZ_0189-.", min_size=1, max_size=8)
KG = st.floats(1e-6, 1e6)
SUMS = st.lists(NAMES, min_size=2, max_size=3, unique=True).map(tuple)
PARTS = st.lists(st.sampled_from(["mass", "com", "inertia"]), min_size=1, unique=True).map(tuple)
TIES = st.builds(fit.Tied, NAMES, NAMES, st.sampled_from(["x", "y", "z", None]))


@tried(50)
@given(
    st.dictionaries(NAMES | SUMS, KG, max_size=4),
    st.dictionaries(NAMES, PARTS | st.just("all"), max_size=4),
    st.lists(TIES, max_size=3).map(tuple),
)
def test_words_mean_what_was_said(masses, fixed, tied):
    assert knowledge.masses_from(knowledge.mass_words(masses)) == masses
    assert knowledge.fixed_from(knowledge.fixed_words(fixed)) == fixed
    assert knowledge.tied_from(knowledge.tied_words(tied)) == tied


def test_words_stay_words():
    assert knowledge.mass_words("a=1") == knowledge.mass_words(["a=1"]) == ("a=1",)
    assert knowledge.fixed_words("a=all") == ("a=all",) and knowledge.tied_words("l=r:y") == ("l=r:y",)
    assert knowledge.masses_from(["a + b = 2", "all=9"]) == {("a", "b"): 2.0, "all": 9.0}
    assert knowledge.fixed_from(["a=mass, com"]) == {"a": ("mass", "com")}


@pytest.mark.parametrize(
    "read, word, message",
    [
        (knowledge.masses_from, "hand", r"mass 'hand': expected LINK=KG, LINK1\+LINK2=KG"),
        (knowledge.masses_from, "hand=heavy", "'heavy' is no number of kilograms"),
        (knowledge.masses_from, "hand=-1", "positive and finite"),
        (knowledge.masses_from, "hand=nan", "positive and finite"),
        (knowledge.masses_from, "hand+=1", "a link's name is missing"),
        (knowledge.fixed_from, "hand=weight", "fix 'hand=weight': expected LINK=all"),
        (knowledge.fixed_from, "hand=all,mass", "expected LINK=all"),
        (knowledge.tied_from, "left=right:w", "tie 'left=right:w': expected LEFT=RIGHT"),
        (knowledge.tied_from, "left", "expected LEFT=RIGHT for equal links"),
    ],
)
def test_mistakes_say_what_was_expected(read, word, message):
    with pytest.raises(OptionError, match=message):
        read([word])


def test_nothing_is_said_twice():
    for read, word in ((knowledge.masses_from, "a=1"), (knowledge.fixed_from, "a=all")):
        with pytest.raises(OptionError, match="already given"):
            read([word, word])
