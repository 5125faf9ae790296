"""Couplings as text: read back as written, and refusals that name the joints there are."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from properties import tried
from steelyard.errors import OptionError
from steelyard.terms import ratios_of, text_of

NAMES = ("joint5", "joint6", "joint", "left-arm", "left", "2*x")
ratio = st.floats(-1e6, 1e6).filter(lambda x: abs(x) > 1e-6) | st.sampled_from([1.0, -1.0])


@tried(60)
@given(st.dictionaries(st.sampled_from(NAMES[:4]), ratio, min_size=2))
def test_text_is_read_back(ratios):
    assert ratios_of(text_of(ratios), NAMES[:4]) == ratios == ratios_of(ratios, NAMES)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("joint5+joint6", {"joint5": 1, "joint6": 1}),
        (" -joint5 - 0.5*joint6", {"joint5": -1, "joint6": -0.5}),
        ("left-arm-left", {"left-arm": 1, "left": -1}),
        (("joint5", "joint6"), {"joint5": 1, "joint6": 1}),
    ],
)
def test_spellings(text, expected):
    assert ratios_of(text, NAMES) == expected


@pytest.mark.parametrize("text", ["joint5+elbow", "joint5joint6", "joint5+joint5", "joint5 joint6", "joint5*2+joint6"])
def test_what_is_not_understood_is_quoted_and_joints_named(text):
    with pytest.raises(OptionError, match="driven joints: joint5, joint6, joint") as caught:
        ratios_of(text, NAMES)
    assert text in str(caught.value)


@pytest.mark.parametrize("group", ["joint5", "", ("joint5",), {"joint5": 1.0, "joint6": 0.0}, "joint5+0*joint6"])
def test_one_joint_or_a_zero_is_no_coupling(group):
    with pytest.raises(OptionError, match="two joints"):
        ratios_of(group, NAMES)
