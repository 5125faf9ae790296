"""Logs cut in pieces: what does not fit in memory gives the sums of the whole."""

import numpy as np
import pytest

import steelyard as sy
from small_fleets import Truth, write_run
from small_runs import write_model
from steelyard.errors import LogError
from steelyard.log.parquet import length


@pytest.fixture(scope="module")
def case(tmp_path_factory):
    folder = tmp_path_factory.mktemp("long")
    return write_model(folder / "arm.urdf"), write_run(folder / "run.parquet", Truth(), seed=5, samples=7000)


def test_rows_of_a_table_are_those_of_the_whole(case):
    _, path = case
    whole = sy.read_log(path)
    assert length(path) == 7000
    for rows in ((0, 10), (699, 702), (1400, 2100), (6990, 7000), (6990, 9999), (0, 7000)):
        part = sy.read_log(path, rows=rows)
        np.testing.assert_array_equal(part.q, whole.q[slice(*rows)])
        np.testing.assert_array_equal(part.tau, whole.tau[slice(*rows)])


def test_only_parquet_is_read_in_rows(case, tmp_path):
    log = write_run(tmp_path / "run.csv", Truth(), seed=5, samples=50)
    with pytest.raises(LogError, match="Parquet"):
        sy.read_log(log, rows=(0, 10))


def test_pieces_give_the_sums_of_the_whole(case, tmp_path):
    model, path = case
    whole, cut = sy.fleet.accumulate(model, [path]), sy.fleet.accumulate(model, [path], piece=2000, keep=tmp_path)
    assert (whole.computed, cut.computed, len(cut.runs)) == (1, 4, 1)
    assert cut.samples.read == 7000
    assert cut.samples.fitted + cut.samples.held == whole.samples.fitted + whole.samples.held
    expected, found = whole.fitted.gram + whole.held.gram, cut.fitted.gram + cut.held.gram
    np.testing.assert_allclose(found, expected, rtol=0, atol=1e-6 * np.abs(expected).max())
    known = sy.fit.least_squares(whole.fitted + whole.held).base
    np.testing.assert_allclose(sy.fit.least_squares(cut.fitted + cut.held).base, known, rtol=1e-4, atol=1e-5)
    again = sy.fleet.accumulate(model, [path], piece=2000, keep=tmp_path)
    assert (again.computed, again.reused) == (0, 4)


def test_a_bad_piece_costs_that_piece_only(case, tmp_path, monkeypatch):
    import pyarrow as pa
    from pyarrow import parquet

    model, path = case
    table = parquet.read_table(path)
    q = table["q_elbow"].to_numpy().copy()  # a torque that is no number would be left out and named
    q[6500] = np.nan
    spoiled = table.set_column(table.column_names.index("q_elbow"), "q_elbow", pa.array(q))
    parquet.write_table(spoiled, tmp_path / "run.parquet", row_group_size=700)
    monkeypatch.setattr("steelyard.fleet.partitions.MARGIN", 100)  # pieces that look at the bad sample fail with it
    found = sy.fleet.accumulate(model, [tmp_path / "run.parquet"], piece=1750)
    (failure,) = found.failures
    assert failure.rows == (5250, 7000) and "q of elbow is nan" in failure.reason
    assert found.samples.read == 5250
