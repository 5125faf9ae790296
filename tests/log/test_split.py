import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from properties import tried
from steelyard.errors import LogError, OptionError
from steelyard.log import Log, folds, split_blocks


def ramp(n):
    return Log(t=np.arange(n), q=np.arange(n), tau=np.arange(n))


def runs(t):
    """Number of contiguous stretches."""
    return 1 + int(np.sum(np.diff(t) > 1))


@tried(60)
@given(n=st.integers(20, 200), validation=st.floats(0.2, 0.8), blocks=st.integers(1, 4))
def test_blocks_are_disjoint_contiguous_and_complete(n, validation, blocks):
    train, test = split_blocks(ramp(n), validation, blocks=blocks)
    np.testing.assert_array_equal(np.sort(np.concatenate([train.t, test.t])), np.arange(n))
    assert abs(len(test) - validation * n) <= blocks
    assert runs(test.t) == runs(train.t) == blocks
    assert test.t[-1] == n - 1
    np.testing.assert_array_equal(test.tau[:, 0], test.t)


def test_what_a_filter_shares_is_in_neither_part():
    for blocks, gap, kept in ((1, 5.0, range(75, 100)), (2, 5.0, [*range(40, 50), *range(90, 100)])):
        train, test = split_blocks(ramp(100), 0.3, blocks=blocks, gap=gap)
        assert list(test.t) == list(kept)
        np.testing.assert_array_equal(train.t, split_blocks(ramp(100), 0.3, blocks=blocks)[0].t)
    assert list(split_blocks(ramp(100), 0.3, gap=1e3)[1].t) == list(range(85, 100))  # half of a part stays


@tried(40)
@given(n=st.integers(10, 100), k=st.integers(2, 8))
def test_folds_cover_everything_once(n, k):
    pairs = folds(ramp(n), k)
    assert len(pairs) == k
    np.testing.assert_array_equal(np.concatenate([test.t for _, test in pairs]), np.arange(n))
    for train, test in pairs:
        assert runs(test.t) == 1 and len(train) + len(test) == n and not set(train.t) & set(test.t)
        assert n // k <= len(test) <= n // k + 1


def test_the_end_is_held_out_by_default():
    train, test = split_blocks(ramp(100))
    assert train.t[-1] == 69 and test.t[0] == 70 and test.notes == ("validation part",)


def test_impossible_splits():
    for wrong in (0.0, 1.0, -1):
        with pytest.raises(OptionError, match="between 0 and 1"):
            split_blocks(ramp(10), wrong)
    with pytest.raises(OptionError, match="blocks=0"):
        split_blocks(ramp(10), blocks=0)
    with pytest.raises(LogError, match="10 samples cannot be cut into 11 blocks"):
        split_blocks(ramp(10), blocks=11)
    with pytest.raises(LogError, match=r"cannot give 0\.01"):
        split_blocks(ramp(10), 0.01)
    with pytest.raises(OptionError, match="at least 2 folds"):
        folds(ramp(10), 1)
