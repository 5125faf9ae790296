"""Recordings for other viewers, read back by the libraries of their formats and drawn by Pinocchio's kinematics."""

import json

import numpy as np
import pinocchio as pin
import pytest
from mcap.reader import make_reader
from mcap_ros2.decoder import DecoderFactory
from typer.testing import CliRunner

import pinocchio_adapter
import steelyard as sy
from random_robots import urdf_text
from robots import random_state
from small_runs import write_case
from steelyard.app import app
from steelyard.errors import OptionError
from steelyard.fit import Validation
from steelyard.viewer import write_recording

RATE = 25.0  # Hz, of the samples of the cases: every one of them has a pose


def decoded(path, topic: str = ""):
    """Topic, stamp in ns and message of all messages, or of those of one topic, by the decoder of ROS 2 messages."""
    with path.open("rb") as file:
        reader = make_reader(file, decoder_factories=[DecoderFactory()])
        for _, channel, message, found in reader.iter_decoded_messages():
            if topic in ("", channel.topic):
                yield channel.topic, message.log_time, found


@pytest.fixture(scope="module")
def case(tmp_path_factory):
    """A robot of all joints of URDF, a log and two predictions of its torques."""
    rng = np.random.default_rng(3)
    path = tmp_path_factory.mktemp("recording") / "arm.urdf"
    path.write_text(urdf_text(rng, links=7, types=("revolute", "prismatic", "continuous")), "utf-8")
    robot = sy.load(path)
    q, v, _ = random_state(robot, rng, (40,))
    tau = rng.normal(size=v.shape)
    log = sy.Log(t=5.0 + np.arange(40) / RATE, q=q, v=v, tau=tau, joint_names=robot.joint_names)
    models = {
        name: Validation(log.t, tau + rng.normal(size=tau.shape), tau, robot.dof_names)
        for name in ("given", "results/new one")
    }
    return path, robot, log, models


@pytest.fixture(scope="module")
def messages(case, tmp_path_factory):
    """Messages of an MCAP by topic, as the decoder of ROS 2 messages reads them."""
    _, robot, log, models = case
    path = write_recording(tmp_path_factory.mktemp("mcap") / "new" / "run.mcap", robot, log, models)
    found: dict = {}
    for topic, stamp, message in decoded(path):
        found.setdefault(topic, []).append((stamp, message))
    return path, found


def test_joint_states_hold_what_was_measured_and_predicted(case, messages):
    _, robot, log, models = case
    found = messages[1]
    wanted = {"/joint_states": log.tau}
    for name, topic in (("given", "given"), ("results/new one", "new_one")):
        wanted[f"/predicted/{topic}"] = models[name].predicted
        wanted[f"/residual/{topic}"] = log.tau - models[name].predicted
    assert {topic for topic in found if topic not in ("/tf", "/robot_description")} == set(wanted)
    for topic, tau in wanted.items():
        states = [each for _, each in found[topic]]
        assert [tuple(each.name) for each in states] == [robot.joint_names] * len(log)
        for key, values in (("position", log.q), ("velocity", log.v), ("effort", tau)):
            assert np.array_equal([getattr(each, key) for each in states], values), (topic, key)
        at = [stamp for stamp, _ in found[topic]]
        assert np.allclose(np.array(at) * 1e-9, log.t - log.t[0], atol=1e-9)
        assert at == [each.header.stamp.sec * 10**9 + each.header.stamp.nanosec for each in states]


def test_links_are_where_pinocchio_has_them(case, messages):
    path, robot, log, _ = case
    assert messages[1]["/robot_description"][0][1].data == path.read_text("utf-8")
    model = pinocchio_adapter.load(path, floating=False)
    data = model.createData()
    transforms = messages[1]["/tf"]
    assert len(transforms) > 10
    for stamp, message in transforms[::7]:
        sample = int(np.argmin(np.abs(log.t - log.t[0] - stamp * 1e-9)))
        pin.framesForwardKinematics(model, data, pinocchio_adapter.configuration(model, robot, log.q[sample]))
        for each in message.transforms:
            placed, x, p = data.oMf[model.getFrameId(each.child_frame_id)], each.transform.rotation, each.transform
            assert each.header.frame_id == "world"
            assert np.allclose(placed.translation, [p.translation.x, p.translation.y, p.translation.z], atol=1e-9)
            assert np.allclose(placed.rotation, pin.Quaternion(x.w, x.x, x.y, x.z).toRotationMatrix(), atol=1e-9)


def test_our_own_reader_takes_the_measured_states(case, messages):
    _, robot, log, _ = case
    back = sy.read_log(messages[0], robot)
    for key in ("q", "v", "tau"):
        assert np.array_equal(getattr(back, key), getattr(log, key)), key


def test_rerun_reads_the_same_numbers(case, tmp_path):
    chunk = pytest.importorskip("rerun.chunk", reason="rerun is not installed")
    _, robot, log, models = case
    path = write_recording(tmp_path / "run.rrd", robot, log, models)
    found: dict = {}
    for each in chunk.RrdReader(path).stream():
        table = each.to_record_batch()
        column = next((name for name in table.schema.names if name.endswith("Scalars:scalars")), None)
        if column:
            found[each.entity_path] = np.concatenate([np.array(x) for x in table[column].to_pylist()])
    for k, joint in enumerate(robot.joint_names):
        assert np.array_equal(found[f"/torque/{joint}/measured"], log.tau[:, k])
        assert np.array_equal(found[f"/torque/{joint}/given"], models["given"].predicted[:, k])
        error = log.tau[:, k] - models["given"].predicted[:, k]
        assert np.array_equal(found[f"/residual/{joint}/given"], error)


def test_a_mechanism_that_urdf_cannot_say_is_recorded_without_its_description(tmp_path):
    path = tmp_path / "free.xml"
    path.write_text(
        "<mujoco><worldbody><body name='base' pos='0 0 1'><freejoint name='root'/><geom size='.1'/>"
        "<body name='arm'><joint name='ball' type='ball'/><geom size='.1' pos='0 0 .3'/></body></body></worldbody>"
        "</mujoco>"
    )
    robot = sy.load(path)
    q, v, _ = random_state(robot, np.random.default_rng(0), (10,))
    log = sy.Log(t=np.arange(10) / RATE, q=q, v=v, tau=v)
    found = Validation(log.t, 2 * v, v, robot.dof_names)
    written = write_recording(tmp_path / "run.mcap", robot, log, {"given": found})
    topics = {}
    for topic, _, message in decoded(written):
        topics.setdefault(topic, message)
    assert "/robot_description" not in topics and {x.child_frame_id for x in topics["/tf"].transforms} == {
        "base",
        "arm",
    }
    assert np.isnan(topics["/joint_states"].position).all() and tuple(topics["/joint_states"].name) == robot.dof_names


def test_what_cannot_be_written_is_refused_before_the_work(case, tmp_path, monkeypatch):
    _, robot, log, models = case
    with pytest.raises(OptionError, match=r"'.*run.bag': a recording is a .mcap or .rrd file"):
        write_recording(tmp_path / "run.bag", robot, log, models)
    monkeypatch.setattr("steelyard.extras.find_spec", lambda _: None)
    with pytest.raises(OptionError, match=r"pip install 'steelyard\[rerun\]'"):
        write_recording(tmp_path / "run.rrd", robot, log, models)
    monkeypatch.undo()
    (tmp_path / "file").touch()
    with pytest.raises(OptionError, match="cannot be written"):
        write_recording(tmp_path / "file" / "run.mcap", robot, log, models)


def test_commands_export_what_they_judged(tmp_path):
    model, log = write_case(tmp_path, samples=600)
    result, shown = tmp_path / "result", tmp_path / "held_out.mcap"

    def invoke(*words):
        return CliRunner().invoke(app, [str(each) for each in words], catch_exceptions=False)

    assert invoke("identify", model, log, "-o", result, "--export", shown, "--quiet").exit_code in (0, 1)
    assert {"/predicted/given", "/residual/identified"} <= _topics(shown)
    whole = tmp_path / "whole.mcap"
    done = invoke("validate", result, log, "--against", model, "--export", whole, "--json")
    assert _topics(whole) >= {"/predicted/result", "/residual/arm_urdf"}
    states = [message for _, _, message in decoded(whole, "/residual/result")]
    error = np.sqrt(np.mean(np.square([each.effort for each in states]), axis=0))
    joints = json.loads(done.output)["models"][0]["joints"]
    assert np.allclose(error, [each["rms"] for each in joints], rtol=1e-6)
    refused = invoke("validate", model, log, "--rollout", "--export", whole)
    assert refused.exit_code == 2 and "--export is of torques" in " ".join(refused.output.split())


def _topics(path) -> set[str]:
    return {topic for topic, _, _ in decoded(path)}
