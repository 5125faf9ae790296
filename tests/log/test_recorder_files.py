"""Files as recorders of others write them: publishers without efforts, lines of JSON, echoed YAML, demonstrations."""

import json

import numpy as np
import pytest

import log_files as files
import steelyard as sy
from steelyard.errors import LogError
from steelyard.log import checks, read_log
from steelyard.log.stamps import gaps

pytestmark = pytest.mark.claim("logs.formats")

ROBOT = sy.library.scara()
LOG = sy.simulate.record(ROBOT, duration=2.0).log
LOG = LOG.replace(v=np.gradient(LOG.q, LOG.t, axis=0))
NAMES, STAMPS = LOG.joint_names, files.stamps(LOG)
ALL = range(len(NAMES))
WORDS = {"position": LOG.q, "velocity": LOG.v, "effort": LOG.tau}


def state(i, joints=ALL, effort=True):
    """A joint state of one sample, as a dictionary."""
    lists = {word: [float(x[i, j]) for j in joints] for word, x in WORDS.items()}
    said = {"name": [NAMES[j] for j in joints], **lists} | ({} if effort else {"effort": []})
    return {"header": files._header(STAMPS[i])} | said


def require_same(found, rows):
    for key in ("q", "v", "tau"):
        np.testing.assert_array_equal(getattr(found, key), getattr(LOG, key)[rows])
    np.testing.assert_allclose(found.t - found.t[0], LOG.t[rows] - LOG.t[rows][0], atol=1e-9)


def mcap(path, messages):
    from mcap_ros2.writer import Writer

    with path.open("wb") as file:
        writer = Writer(file)
        kind = writer.register_msgdef("sensor_msgs/msg/JointState", files.JOINT_STATE)
        for tick, message in messages:
            writer.write_message("/joint_states", kind, message, int(tick))
        writer.finish()
    return path


def test_messages_with_efforts_are_the_log(tmp_path):
    """Though most have none; and a gripper's, which come twice as often, are no clock for the arm's."""
    every = [(tick, state(i, effort=i % 3 == 0)) for i, tick in enumerate(STAMPS)]
    found = read_log(mcap(tmp_path / "thirds.mcap", every), ROBOT)
    require_same(found, slice(0, None, 3))
    assert f"{len(LOG) - len(found)} of {len(LOG)} messages of /joint_states have other joints" in found.notes[0]
    two = [
        each for i, tick in enumerate(STAMPS) for each in ((tick, state(i, [0, 1, 2])), (tick, state(i, [3], False)))
    ]
    two += [(tick, state(i, [3], False)) for i, tick in enumerate(STAMPS)]
    log = read_log(mcap(tmp_path / "two.mcap", two))
    assert log.joint_names == NAMES[:3] and any("left out" in note for note in log.notes)
    assert np.array_equal(log.q, LOG.q[:, :3]) and np.array_equal(log.tau, LOG.tau[:, :3])


def test_a_gripper_with_efforts_does_not_stand_for_an_arm_without(tmp_path):
    two = [
        each for i, tick in enumerate(STAMPS) for each in ((tick, state(i, [0, 1, 2], False)), (tick, state(i, [3])))
    ]
    with pytest.raises(LogError, match=f"tau of joints {', '.join(NAMES[:3])} is not in the log"):
        read_log(mcap(tmp_path / "arm.mcap", two), ROBOT)


OBJECTS = {
    "lists": lambda i: {"t": LOG.t[i], "name": NAMES} | {word: x[i].tolist() for word, x in WORDS.items()},
    "flat": lambda i: (
        {"time": LOG.t[i]} | {f"{k}_{n}": getattr(LOG, k)[i, j] for k in ("q", "v", "tau") for j, n in NAMED}
    ),
    "nested": lambda i: {"stamp": LOG.t[i], "arm": {word: x[i].tolist() for word, x in WORDS.items()}},
    "joints": lambda i: {
        "t": LOG.t[i],
        "joints": [{"name": n} | {w: x[i, j] for w, x in WORDS.items()} for j, n in NAMED],
    },
    "ros": lambda i: state(i, ALL[::-1] if i % 5 == 1 else ALL),
}
NAMED = list(enumerate(NAMES))


@pytest.mark.parametrize("form", OBJECTS)
def test_lines_of_json(tmp_path, form):
    path = tmp_path / "run.jsonl"
    path.write_text(
        "\n".join(json.dumps(OBJECTS[form](i)) for i in range(len(LOG))) + '\n{"t": 1, "q', encoding="utf-8"
    )
    found = read_log(path, ROBOT)
    require_same(found, slice(None))
    assert any(note.startswith("damaged: run.jsonl has 1 messages") for note in found.notes)


def block(message):
    """A message as `ros2 topic echo` prints it."""
    stamp = message["header"]["stamp"]
    lines = ["header:", "  stamp:", *(f"    {key}: {x}" for key, x in stamp.items()), "  frame_id: ''"]
    for key in ("name", *WORDS):
        lines += [f"{key}:", *(f"- {x}" for x in message[key])] if message[key] else [f"{key}: []"]
    return "\n".join(lines) + "\n---\n"


def flow(message):
    """The same as ROS 1 prints it."""
    sec, nanosec = message["header"]["stamp"].values()
    lists = "".join(f"{key}: [{', '.join(map(str, message[key]))}]\n" for key in ("name", *WORDS))
    return f"header: \n  seq: 1\n  stamp: \n    secs: {sec}\n    nsecs: {nanosec}\n  frame_id: ''\n{lists}---\n"


def braces(message):
    return json.dumps(message).replace('"', "") + "\n---\n"


@pytest.mark.parametrize(("form", "encoding"), [(block, "utf-8"), (flow, "utf-16"), (braces, "utf-8-sig")])
def test_echoed_messages(tmp_path, form, encoding):
    lost = "A message was lost!!!\n\ttotal count change:1\n\ttotal count: 1---\n"
    text = lost + "".join(form(state(i, effort=i % 2 == 0)) for i in range(len(LOG))) + "header:\n  stamp:\n    se"
    (tmp_path / "run.yaml").write_text(text, encoding=encoding, newline="\r\n")
    found = read_log(tmp_path / "run.yaml", ROBOT)
    require_same(found, slice(0, None, 2))
    assert any("objects of" in note and "left out" in note for note in found.notes)


@pytest.mark.parametrize(
    "text",
    [
        "",
        "a word\n" * 100,
        "".join(" " * i + "a:\n" for i in range(1000)),
        "a: " + "[" * 100_000 + "\n",
        "a: &x [1]\nb: [*x, *x]\n",
        "- 1\n" * 1000,
        "position: [1" + "0" * 5000 + "]\n---\n",
    ],
)
@pytest.mark.parametrize("suffix", ["yaml", "jsonl"])
def test_other_documents_are_refused(tmp_path, suffix, text):
    path = tmp_path / f"run.{suffix}"
    path.write_text((text + "---\n") * 3, encoding="utf-8")
    with pytest.raises(LogError, match=f"run.{suffix}"):
        read_log(path)


def demonstrations(path, ends, torques=None):
    h5py = pytest.importorskip("h5py")
    with h5py.File(path, "w") as file:
        for k in np.argsort([str(k) for k in range(len(ends))]).tolist():  # demo_10 before demo_2, as h5py lists them
            rows, group = slice(([0, *ends])[k], ends[k]), file.create_group(f"data/demo_{k}")
            group["obs/robot0_joint_pos"], group["obs/robot0_joint_vel"] = LOG.q[rows], LOG.v[rows]
            group["next_obs/robot0_joint_pos"] = LOG.q[rows]
            group["actions"] = np.zeros((rows.stop - rows.start, len(NAMES)))
            if torques:
                group[f"obs/{torques}"] = LOG.tau[rows]
        file["mask/train"] = [b"demo_0"]
    return path


def test_demonstrations_follow_each_other(tmp_path):
    ends = list(range(80, len(LOG), 80))
    path = demonstrations(tmp_path / "demo.hdf5", ends, "robot0_joint_torques")
    log = read_log(path, ROBOT, units={"t": "0.002"})
    assert len(ends) > 10 and gaps(log.t).tolist() == [end - 1 for end in ends[:-1]] and log.command is None
    for key in ("q", "v", "tau"):
        assert np.array_equal(getattr(log, key), getattr(LOG, key)[: ends[-1]])
    alone = read_log(path, ROBOT, units={"t": "0.002"}, channels={"log": "demo_2"})
    assert np.array_equal(alone.q, LOG.q[160:240])
    named = {"q": "data/demo_1/obs/robot0_joint_pos", "tau": "data/demo_1/obs/robot0_joint_torques"}
    assert np.array_equal(read_log(path, ROBOT, units={"t": "0.002"}, channels=named).tau, LOG.tau[80:160])


def test_demonstrations_without_torques_say_so_by_name(tmp_path):
    path = demonstrations(tmp_path / "demo.hdf5", [100, 200])
    with pytest.raises(LogError, match=r"Tau: none of robot0_joint_torques, .* is in it.*Arrays not used: actions"):
        checks.require_usable(read_log(path, ROBOT, units={"t": "0.05"}), ROBOT)


def test_encodings_that_are_not_read_are_named(tmp_path):
    from mcap.writer import Writer

    with (tmp_path / "run.mcap").open("wb") as file:
        writer = Writer(file)
        writer.start()
        schema = writer.register_schema("foxglove.JointStates", "protobuf", b"...")
        channel = writer.register_channel("/joint_states", "protobuf", schema)
        writer.add_message(channel, 1, b"...", 1)
        writer.finish()
    with pytest.raises(LogError, match=r"/joint_states \(foxglove.JointStates, protobuf\)\. cdr, ros1, json are read"):
        read_log(tmp_path / "run.mcap")
