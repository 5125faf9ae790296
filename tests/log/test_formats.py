"""Every format beside CSV and NPZ: round trips, untrusted files."""

import time
from types import SimpleNamespace

import numpy as np
import pytest

import log_files as files
from steelyard.errors import LogError
from steelyard.log import read_log

pytestmark = pytest.mark.claim(
    "logs.formats", "every format round-trips; fifty damaged variants of each end in a message or a named partial read"
)

WRITERS = (
    *(
        files.csv,
        files.npz,
        files.parquet,
        files.parquet_of_lists,
        files.mat,
        files.mat_of_structures,
        files.hdf5,
        files.matlab_hdf5,
    ),
    *(files.mcap, files.mcap_of_nested, files.mcap_of_idl, files.bag1, files.bag2, files.bag2_of_mcap, files.db3),
    *(files.bag2_compressed, files.bag2_of_mcap_compressed, files.bag2_of_compressed_messages),
    files.bag2_of_mcap_of_compressed_messages,
)
FORMATS = {write.__name__: write for write in WRITERS}


@pytest.fixture(scope="module")
def written(tmp_path_factory, motion):
    """written(name): path of one log in a format."""
    folder = tmp_path_factory.mktemp("formats")
    return {name: write(motion(a=None), folder) for name, write in FORMATS.items()}


@pytest.mark.exhaustive(keep=4)
@pytest.mark.parametrize("name", FORMATS)
def test_round_trip(name, written, motion, fake_robot):
    log, expected = read_log(written[name], fake_robot()), motion(a=None)
    if name in ("mcap_of_nested", "mcap_of_idl"):  # has velocities of single precision
        expected = expected.replace(v=expected.v.astype(np.float32).astype(np.float64))
    assert log.missing == ("a",)
    assert np.abs(log.t - expected.t).max() < 1e-9  # stamps of some formats are whole nanoseconds
    for key in ("q", "v", "tau"):
        assert np.array_equal(getattr(log, key), getattr(expected, key)), key


def corrupted(data: bytes, seed: int) -> bytes:
    """Cut short, bytes changed, or a stretch left out."""
    rng = np.random.default_rng(seed)
    place = int(rng.integers(len(data)))
    if seed % 3 == 0:
        return data[:place]
    if seed % 3 == 1:
        return data[:place] + data[place + int(rng.integers(1, 4000)) :]
    changed = np.frombuffer(data, np.uint8).copy()
    where = rng.integers(len(data) if seed % 2 else min(len(data), 600), size=int(rng.integers(1, 20)))
    changed[where] = rng.integers(256, size=len(where))
    return changed.tobytes()


@pytest.mark.exhaustive(keep=4)
@pytest.mark.parametrize("name", FORMATS)
def test_corrupted_files_are_refused_or_read_in_part(name, written, motion, tmp_path):
    """50 variants: LogError, or a note that names what is missing, or a log of the right shape whose numbers carry no
    checksum; nothing else, and never long."""
    source = written[name]
    source = next(part for part in source.iterdir() if part.suffix != ".yaml") if source.is_dir() else source
    whole, path = source.read_bytes(), tmp_path / source.name
    refused, expected, lost = 0, motion(), set()
    for seed in range(50):
        path.write_bytes(corrupted(whole, seed))
        start = time.perf_counter()
        try:
            log = read_log(path)
        except LogError as error:
            assert str(path) in str(error) or len(str(error)) > 20
            refused += 1
        else:
            partial = any(note.startswith("damaged") or "left out" in note for note in log.notes)
            whole_log = len(log) == len(expected)
            if name == "csv" and not (whole_log or partial):  # text has no checksum, and no count of its lines
                lost.add(seed)  # whole lines only, but for the one that two ends of lines have made
                assert len(set(map(tuple, log.q)) - set(map(tuple, expected.q))) <= (seed % 3 == 1)
            else:
                assert whole_log or partial
            refused += partial
        assert time.perf_counter() - start < 5, f"variant {seed} took too long"
    assert refused >= 20 and len(lost) <= 6


WORDS = ("Schulter-ü", "肘 <b>", "r\u202eعصا✓")


@pytest.mark.exhaustive(keep=4)
@pytest.mark.parametrize("name", FORMATS)
def test_names_of_any_script(name, motion, tmp_path, monkeypatch):
    monkeypatch.setattr(files, "NAMES", WORDS)
    expected = motion(a=None, joint_names=WORDS)
    found = read_log(FORMATS[name](expected, tmp_path))
    assert found.joint_names in (WORDS, ())
    assert bool(found.joint_names) == (name not in UNNAMED)
    assert np.array_equal(found.q, expected.q) and np.array_equal(found.tau, expected.tau)


UNNAMED = ("parquet_of_lists", "mat_of_structures", "mcap_of_nested", "mcap_of_idl")
ARRAYS = ("mat", "mat_of_structures", "hdf5", "matlab_hdf5")
MESSAGES = ("bag1", "bag2", "bag2_of_mcap", "db3", "bag2_compressed", "bag2_of_compressed_messages")


@pytest.mark.parametrize("name", ARRAYS)
def test_arrays_of_mixed_rates_are_refused(name, motion, tmp_path):
    log = motion(a=None)
    mixed = SimpleNamespace(t=log.t, q=log.q, v=log.v, tau=log.tau[::2])
    with pytest.raises(LogError, match="t has 1000 samples, but"):
        read_log(FORMATS[name](mixed, tmp_path))


@pytest.mark.parametrize("name", MESSAGES)
def test_messages_of_mixed_rates_are_read_in_part(name, motion, tmp_path):
    """Every third message lacks the torque: those without are left out, and that is said."""
    log = motion(a=None)
    tau = [row if i % 3 else row[:0] for i, row in enumerate(log.tau)]
    path = FORMATS[name](SimpleNamespace(t=log.t, q=log.q, v=log.v, tau=tau), tmp_path)
    found, rows = read_log(path), np.flatnonzero(np.arange(1000) % 3)
    assert np.allclose(found.t, log.t[rows] - log.t[1], atol=1e-9)
    assert np.array_equal(found.q, log.q[rows]) and np.array_equal(found.tau, log.tau[rows])
    assert any("334 of 1000 messages of /joint_states have other joints" in note for note in found.notes)


def test_lists_are_chosen_as_a_whole(motion, tmp_path):
    """As in a LeRobot data set, whose lists have no telling names."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    log, path = motion(), tmp_path / "episode.parquet"
    table = {"timestamp": log.t, "observation.state": list(log.q), "action": list(log.tau)}
    pq.write_table(pa.table({key: pa.array(list(x)) for key, x in table.items()}), path)
    found = read_log(path, channels={"q": "observation.state"}, joint_names=files.NAMES)
    assert np.array_equal(found.q, log.q) and found.joint_names == files.NAMES
    assert np.array_equal(found.command, log.tau) and not any("not used" in note for note in found.notes)
    with pytest.raises(LogError, match=r"observation\.velocity"):
        read_log(path, channels={"q": "observation.velocity"})
