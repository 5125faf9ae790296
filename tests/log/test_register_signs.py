"""Signs packed into registers of servos, made from signed signals whose values are known."""

import numpy as np
import pytest

from steelyard.errors import LogError
from steelyard.log import Log, checks, read_log

NAMES = ("shoulder", "elbow", "wrist")


def packed(x, word):
    """What a register holds for signed whole numbers."""
    kind, bits = word[:3], int(word[3:])
    return np.where(x < 0, 2**bits - x if kind == "bit" else 2**bits + x, x)


def wave(size, seed=0, count=1500):
    """Whole numbers (n, 3) of sines with noise and jumps of dry friction; the second column never changes its sign."""
    rng, t = np.random.default_rng(seed), np.arange(count) * 0.02
    x = np.sin(t[:, None] * rng.uniform(1, 4, 3) + rng.uniform(0, 6, 3)) + 0.05 * rng.normal(size=(count, 3))
    x += 0.3 * np.sign(np.gradient(x, axis=0)) * (np.abs(np.gradient(x, axis=0)) > 0.02)
    x[:, 1] = -0.3 - 0.2 * np.abs(x[:, 1])
    return np.round(size * x / np.abs(x).max())


def arrays(**changes):
    t = np.arange(1500) * 0.02
    return {"t": t, "q": np.sin(t[:, None] + np.arange(3)), "joint_names": np.array(NAMES)} | changes


def codes(log):
    return [finding.code for finding in checks.check(log)]


@pytest.mark.parametrize("size", [90, 1000])
@pytest.mark.parametrize("word", ["bit10", "bit15", "int16", "int32"])
@pytest.mark.parametrize("channel", ["tau", "v", "current"])
def test_signs_come_back(channel, word, size):
    x = wave(size)
    log = read_log(arrays(**{channel: packed(x, word)}))
    assert np.array_equal(getattr(log, channel), x)
    assert any(note.startswith(f"{channel}: the servo's register") for note in log.notes)


def test_positions_in_ticks_come_back():
    x = wave(3000)
    for word in ("bit15", "int16"):
        log = read_log(arrays(q=packed(x, word)), units={"q": "0.00153398"})
        assert np.allclose(log.q, 0.00153398 * x, rtol=1e-12)


def test_tables_and_other_columns(tmp_path):
    x, t = wave(600), np.arange(1500) * 0.02
    mixed = packed(x, "bit10")
    mixed[:, 2] = 0.37 * np.sin(t)  # of another sensor
    head = ",".join(["t", *(f"q_{name}" for name in NAMES), *(f"tau_{name}" for name in NAMES)])
    table = np.column_stack([t, np.sin(t[:, None] + np.arange(3)), mixed])
    np.savetxt(tmp_path / "run.csv", table, delimiter=",", header=head, comments="", fmt="%.17g")
    log = read_log(tmp_path / "run.csv")
    assert np.array_equal(log.tau[:, :2], x[:, :2]) and np.array_equal(log.tau[:, 2], mixed[:, 2])
    assert any("in shoulder, elbow" in note for note in log.notes)


def test_counts_are_no_torques():
    log = read_log(arrays(tau=packed(wave(1000), "bit10")))
    assert "torque_register" in codes(log) and "packed_sign" not in codes(log)
    assert "torque_register" not in codes(log.replace(tau=0.0029 * log.tau))  # N m per count, as --scale states them


@pytest.mark.parametrize(
    "x",
    [
        wave(1000),
        np.abs(wave(1000)),
        1024 + wave(900),
        32768 + wave(30000),
        np.random.default_rng(1).integers(0, 2048, (1500, 3)).astype(float),
        np.random.default_rng(1).integers(0, 65536, (1500, 3)).astype(float),
        (np.arange(1500)[:, None] * np.array([3, 5, 7])) % 2048,
        (np.arange(1500)[:, None] * np.array([91, 150, 260])) % 65536,
        2048 + wave(1020),
        0.5 * np.abs(wave(1000)) + 900.25,
    ],
    ids=[
        "signed",
        "magnitudes",
        "about 1024",
        "about 32768",
        "noise",
        "noise of 16 bits",
        "turns of 11 bits",
        "turns of 16 bits",
        "12 bits",
        "no whole numbers",
    ],
)
def test_other_numbers_stay(x):
    log = read_log(arrays(tau=x))
    assert np.array_equal(log.tau, x) and not {"torque_register", "packed_sign"} & set(codes(log))


def test_one_direction_alone_is_a_finding_with_a_remedy_that_works():
    x = -np.abs(wave(700)) - 20
    log = read_log(arrays(tau=packed(x, "bit10")))
    assert np.array_equal(log.tau, packed(x, "bit10"))
    (found,) = [each for each in checks.check(log) if each.code == "packed_sign"]
    assert found.options == ("--unit", "tau=bit10")
    assert np.array_equal(read_log(arrays(tau=packed(x, "bit10")), units={"tau": "bit10"}).tau, x)


def test_a_stated_unit_counts_more():
    x = packed(wave(1000), "bit10")
    assert np.array_equal(read_log(arrays(tau=x), units={"tau": "Nm"}).tau, x)
    scaled = read_log(arrays(tau=x), units={"tau": "mNm"}).tau
    assert np.allclose(scaled, 1e-3 * x)
    current = read_log(arrays(current=packed(wave(400), "bit15")), units={"current": "0.0065 bit15"}).current
    assert np.allclose(current, 0.0065 * wave(400))


def test_units_of_one_joint():
    log = read_log(arrays(), units={"q:elbow": "deg"})
    plain = arrays()["q"]
    assert np.allclose(log.q, plain * np.array([1, np.pi / 180, 1]))
    assert any(note.startswith("q of elbow: converted from deg") for note in log.notes)
    degrees = arrays()["q"] * np.array([1, 180 / np.pi, 1])
    told = read_log(arrays(q=degrees, command=degrees), units={"q:elbow": "deg"})
    assert np.allclose(told.q, plain) and np.allclose(told.command, plain)
    for unit in ({"q:elbwo": "deg"}, {"q:elbow": "Nm"}, {"t:elbow": "ms"}, {"v:elbow": "deg/s"}):
        with pytest.raises(LogError):
            read_log(arrays(), units=unit)
    assert isinstance(log, Log)
