"""Gram matrices without their zeros against the same matrices with them."""

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import steelyard as sy
from problems import random_log
from properties import tried
from steelyard.information import accumulate
from steelyard.information.gram import Squares
from steelyard.model import library

CLOSE = {"rtol": 1e-12, "atol": 1e-12}


def short_log(robot):
    rng = np.random.default_rng(0)
    return random_log(robot, rng, samples=40, torque=lambda *state: sy.inverse_dynamics(robot, *state))


@st.composite
def matrices(draw, groups: int | None = None, size: int | None = None):
    """(g, k, k) symmetric matrices of rows that have some of the columns each."""
    groups = draw(st.integers(1, 4)) if groups is None else groups
    size = draw(st.integers(1, 6)) if size is None else size
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    rows = rng.normal(size=(groups, 8, size)) * (rng.random((groups, 1, size)) < 0.6)
    return np.swapaxes(rows, 1, 2) @ rows


@tried(60)
@given(matrices(), st.data())
def test_the_same_as_dense_matrices(dense, data):
    squares, rng = Squares.of(dense), np.random.default_rng(data.draw(st.integers(0, 99)))
    groups, size = dense.shape[:2]
    np.testing.assert_array_equal(squares.dense, dense)
    np.testing.assert_array_equal(np.stack([squares[g] for g in range(groups)]), dense)
    assert squares.flat.size == sum(np.count_nonzero(each.any(axis=0)) ** 2 for each in dense)
    x, weights = rng.normal(size=size), rng.random(groups)
    np.testing.assert_allclose(squares @ x, dense @ x, **CLOSE)
    np.testing.assert_allclose(squares.forms(x), np.einsum("gij,i,j->g", dense, x, x), **CLOSE)
    several = rng.normal(size=(size, 4))
    together = np.einsum("gij,ik,jk->g", dense, several, several)
    np.testing.assert_allclose(squares.traces(several @ several.T), together, **CLOSE)
    np.testing.assert_allclose(squares.weighted(weights), np.tensordot(weights, dense, axes=1), **CLOSE)
    np.testing.assert_array_equal((squares * 3.0).dense, 3.0 * dense)
    kept = rng.permutation(size)[: rng.integers(0, size + 1)]
    np.testing.assert_array_equal(squares.selected(kept).dense, dense[:, kept][:, :, kept])
    mixing = rng.normal(size=(size, 3)) * (rng.random((size, 3)) < 0.5)
    np.testing.assert_allclose(squares.mixed(mixing).dense, mixing.T @ dense @ mixing, **CLOSE)
    np.testing.assert_array_equal(Squares.stacked([squares, squares]).dense, np.concatenate([dense, dense]))


@tried(30)
@given(matrices(groups=3, size=5), matrices(groups=3, size=5))
def test_sums_of_groups_that_have_other_columns(one, other):
    np.testing.assert_allclose((Squares.of(one) + Squares.of(other)).dense, one + other, **CLOSE)


def test_only_what_a_joint_feels_is_kept(tmp_path):
    """The last of six joints feels one link: its block is far smaller than the whole, in memory and once read back."""
    robot = library.puma560()
    info = accumulate(robot, short_log(robot))
    sizes = [len(places) for places in info.squares.pattern.places]
    assert sizes == sorted(sizes, reverse=True) and sizes[-1] < sizes[0] / 3
    assert info.squares.flat.size < 0.35 * info.gram.size
    back = sy.load_information(sy.save_information(info, tmp_path / "info.npz"), robot)
    np.testing.assert_array_equal(back.gram, info.gram)
    assert back.squares.flat.size <= info.squares.flat.size
    np.testing.assert_array_equal((info + back).gram, (info + info).gram)


@pytest.mark.parametrize("engine", ["numpy", "native"])
def test_a_column_that_never_moved_stays_in_its_place(engine):
    """A joint at rest has zero columns of friction: the pattern is that of the robot, so that sums of logs agree."""
    robot = library.puma560()
    log = short_log(robot)
    v = log.v.copy()
    v[:, 2] = 0.0
    still = accumulate(robot, replace(log, v=v), engine=engine)
    moving = accumulate(robot, log, engine=engine)
    assert still.squares.pattern.is_that_of(moving.squares.pattern)
    np.testing.assert_array_equal((still + moving).gram, still.gram + moving.gram)


def test_selected_columns_come_in_the_order_asked_for():
    rng = np.random.default_rng(0)
    rows = rng.normal(size=(2, 8, 5)) * np.array([[1, 1, 0, 1, 1], [0, 1, 1, 1, 0]])[:, None]
    dense = np.swapaxes(rows, 1, 2) @ rows
    for columns in ([3, 0, 1], [4, 2, 1, 3], [1]):
        found = Squares.of(dense).selected(np.array(columns))
        np.testing.assert_allclose(found.dense, dense[:, columns][:, :, columns], **CLOSE)
        x = rng.normal(size=len(columns))
        np.testing.assert_allclose(found.forms(x), [x @ G[np.ix_(columns, columns)] @ x for G in dense], **CLOSE)
