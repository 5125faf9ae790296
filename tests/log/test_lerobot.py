"""LeRobot data sets of either layout, written with pyarrow as LeRobot writes them."""

import json

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from log_files import NAMES
from steelyard.errors import LogError
from steelyard.log import checks, read_log
from steelyard.log.stamps import gaps

pytestmark = pytest.mark.claim("logs.formats")

LENGTHS = (300, 260, 440)  # samples of the episodes
TABLES = {"v2.1": ([0], [1], [2]), "v3.0": ([0, 1], [2])}
PATHS = {"v2.1": "data/chunk-000/episode_{:06d}.parquet", "v3.0": "data/chunk-000/file-{:03d}.parquet"}
NAMED = {"v2.1": {"motors": list(NAMES)}, "v3.0": [f"{name}.pos" for name in NAMES]}


def write(log, root, version="v2.1", names=None):
    """Three episodes, each counting from zero, with float32 stamps."""
    lists = {"observation.state": log.q, "observation.velocity": log.v, "observation.effort": log.tau, "action": log.q}
    names = NAMED[version] if names is None else names
    features = {key: {"dtype": "float64", "shape": [3], "names": names} for key in lists}
    features |= {key: {"dtype": "int64", "shape": [1], "names": None} for key in ("timestamp", "episode_index")}
    (root / "meta").mkdir(parents=True)
    info = {"codebase_version": version, "fps": 100, "data_path": "../../{episode_index}", "features": features}
    (root / "meta" / "info.json").write_text(json.dumps(info), encoding="utf-8")
    starts = np.concatenate([[0], np.cumsum(LENGTHS)])
    for number, episodes in enumerate(TABLES[version]):
        rows = np.concatenate([np.arange(starts[i], starts[i + 1]) for i in episodes])
        index = np.concatenate([np.full(LENGTHS[i], i) for i in episodes])
        count = np.concatenate([np.arange(LENGTHS[i]) for i in episodes])
        table = {"timestamp": (count / 100).astype("f4"), "frame_index": count, "episode_index": index}
        table |= {key: pa.array(list(values[rows])) for key, values in lists.items()}
        path = root / PATHS[version].format(number)
        path.parent.mkdir(parents=True, exist_ok=True)
        pq.write_table(pa.table(table), path)
    return root


@pytest.mark.parametrize("version", TABLES)
def test_episodes_are_joined_with_gaps(version, motion, tmp_path, fake_robot):
    log = motion()
    found = read_log(write(log, tmp_path / "set", version), fake_robot())
    assert found.joint_names == NAMES and found.missing == ("a",)
    for key in ("q", "v", "tau"):
        assert np.array_equal(getattr(found, key), getattr(log, key)), key
    assert np.array_equal(found.command, log.q)
    assert gaps(found.t).tolist() == [LENGTHS[0] - 1, LENGTHS[0] + LENGTHS[1] - 1]
    assert np.allclose(np.diff(found.t[: LENGTHS[0]]), 0.01, atol=1e-6)
    assert any("3 episodes" in note for note in found.notes)
    assert not [finding for finding in checks.check(found) if finding.severity == "fatal"]


def test_one_table_keeps_the_names_of_its_set(motion, tmp_path):
    log = motion()
    found = read_log(write(log, tmp_path) / PATHS["v2.1"].format(1))
    rows = slice(LENGTHS[0], LENGTHS[0] + LENGTHS[1])
    assert found.joint_names == NAMES and np.array_equal(found.q, log.q[rows]) and not len(gaps(found.t))


def test_signals_are_chosen_and_names_given(motion, tmp_path):
    root = write(motion(), tmp_path, names="none")
    found = read_log(root, channels={"q": "action", "v": None}, joint_names=NAMES)
    assert found.joint_names == NAMES and found.v is None
    assert read_log(root).joint_names == ()
    with pytest.raises(LogError, match=r"observation\.angle"):
        read_log(root, channels={"q": "observation.angle"})


def test_nothing_outside_of_the_set_is_opened(motion, tmp_path):
    outside = write(motion(), tmp_path / "other") / PATHS["v2.1"].format(0)
    root = write(motion(), tmp_path / "set")
    inside = root / PATHS["v2.1"].format(0)
    inside.unlink()
    inside.symlink_to(outside)
    with pytest.raises(LogError, match="leads out of the data set"):
        read_log(root)
    inside.unlink()
    assert len(read_log(root)) == sum(LENGTHS[1:])
    (root / "meta" / "info.json").unlink()
    (root / "meta" / "info.json").symlink_to(tmp_path / "other" / "meta" / "info.json")
    with pytest.raises(LogError, match="leads out of the data set"):
        read_log(root)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("{", "is not the description"),
        ("[1]", "no table of features"),
        ("[" * 100_000, "is not the description"),
        ('{"features": []}', "no table of features"),
        ('{"features": {}}', None),  # the names of the columns tell
        ('{"features": {"timestamp": 1, "observation.state": 2}}', None),
    ],
)
def test_damaged_descriptions(text, message, motion, tmp_path):
    root = write(motion(), tmp_path)
    (root / "meta" / "info.json").write_text(text, encoding="utf-8")
    if message is None:
        assert read_log(root).joint_names == ()
    else:
        with pytest.raises(LogError, match=message):
            read_log(root)


def test_a_set_without_tables(motion, tmp_path):
    root = write(motion(), tmp_path)
    for table in root.glob("data/*/*"):
        table.unlink()
    with pytest.raises(LogError, match="no tables"):
        read_log(root)


@pytest.mark.parametrize("torque", ["torque", "effort", "tau"])
def test_states_of_several_kinds_in_turn(motion, tmp_path, fake_robot, torque):
    log = motion()
    kinds = {"pos": log.q, "vel": log.v, torque: log.tau}
    names = [f"{name}.{kind}" for name in NAMES for kind in kinds]
    state = np.stack(list(kinds.values()), axis=2).reshape(len(log), -1)
    features = {"observation.state": {"dtype": "float64", "shape": [9], "names": {"axes": names}}}
    features |= {"action": {"dtype": "float64", "shape": [3], "names": [f"{name}.pos" for name in NAMES]}}
    (tmp_path / "meta").mkdir()
    (tmp_path / "meta" / "info.json").write_text(json.dumps({"features": features}), encoding="utf-8")
    (tmp_path / "data" / "chunk-000").mkdir(parents=True)
    table = {"timestamp": log.t, "observation.state": list(state), "action": list(log.q)}
    pq.write_table(pa.table(table), tmp_path / "data" / "chunk-000" / "file-000.parquet")
    found = read_log(tmp_path, fake_robot(), units={"q": "deg"})
    assert found.joint_names == NAMES
    assert np.allclose(found.q, np.radians(log.q)) and np.allclose(found.command, np.radians(log.q))
    assert np.array_equal(found.v, log.v) and np.array_equal(found.tau, log.tau)


def test_a_gripper_without_speed_keeps_its_positions_and_torques(motion, tmp_path, fake_robot):
    """As arms on CAN record it: degrees, and `left_gripper.pos`, `left_gripper.torque` without a speed."""
    log, last = motion(), len(NAMES) - 1
    kinds = {"pos": np.degrees(log.q), "vel": np.degrees(log.v), "torque": log.tau}
    places = [(i, kind) for i in range(len(NAMES)) for kind in kinds if (i, kind) != (last, "vel")]
    names = [f"{NAMES[i]}.{kind}" for i, kind in places]
    root = tmp_path / "set"
    (root / "meta").mkdir(parents=True)
    (root / "data" / "chunk-000").mkdir(parents=True)
    feature = {"dtype": "float32", "shape": [len(names)], "names": names}
    info = {"codebase_version": "v3.0", "features": {"observation.state": feature, "timestamp": {"names": None}}}
    (root / "meta" / "info.json").write_text(json.dumps(info), encoding="utf-8")
    state = np.column_stack([kinds[kind][:, i] for i, kind in places])
    table = pa.table({"timestamp": log.t, "observation.state": pa.array(list(state))})
    pq.write_table(table, root / "data" / "chunk-000" / "file-000.parquet")

    found = read_log(root, fake_robot(), units={"q": "deg"})
    assert found.v is None and any(f"v: not used, as it lacks joints {NAMES[last]}" in note for note in found.notes)
    assert np.allclose(found.q, log.q, rtol=1e-12) and np.array_equal(found.tau, log.tau)
    without = read_log(root, units={"q": "deg"})
    assert without.joint_names == NAMES and without.v is None
