"""Files of a design read back: as logs, as YAML, in MuJoCo; and the command line."""

import json

import mujoco
import numpy as np
import pytest
from typer.testing import CliRunner

import steelyard as sy
from brief_search import search_briefly
from steelyard.app import app
from steelyard.errors import OptionError
from steelyard.excite import design, poses, write
from steelyard.excite.motion_files import earlier_information
from steelyard.information import accumulate
from steelyard.model import mjcf_text

SCARA = sy.library.scara()


@pytest.fixture(scope="module")
def made():
    return design(SCARA, 4.0, harmonics=3, periods=1)


@pytest.mark.exhaustive(keep=1)
@pytest.mark.parametrize("suffix", [".csv", ".npz"])
def test_logs_read_back_with_predicted_torques(made, tmp_path, suffix):
    log = sy.read_log(write(made, tmp_path / f"traj{suffix}", rate=200.0), SCARA)
    q, v, a = made.evaluate(log.t)
    np.testing.assert_allclose(log.q, q, atol=1e-12)
    np.testing.assert_allclose(log.a, a, atol=1e-9)
    assert log.rate == pytest.approx(200.0) and log.t[-1] == pytest.approx(4.0)
    rigid = sy.inverse_dynamics(SCARA, q, v, a)
    np.testing.assert_allclose(log.tau[0], rigid[0], atol=1e-9)  # at rest there is no friction


def test_ros_trajectory_ends_at_rest_at_the_last_point(made, tmp_path):
    text = write(made, tmp_path / "traj.yml").read_text()
    names, *points = text.split("- positions: ")
    assert json.loads(names.split("joint_names: ")[1].split("\n")[0]) == list(SCARA.joint_names)
    assert len(points) == 401
    last = points[-1].split("\n")
    np.testing.assert_allclose(json.loads(last[0]), made.evaluate(np.array([4.0]))[0][0], atol=1e-8)
    assert np.abs(json.loads(last[1].split("velocities: ")[1])).max() < 1e-9
    assert last[3].strip() == "time_from_start: {sec: 4, nanosec: 0}"


def test_ros_trajectory_is_yaml_of_the_message(made, tmp_path):
    yaml = pytest.importorskip("ruamel.yaml", reason="a YAML reader is not installed")
    read = yaml.YAML(typ="safe").load(write(made, tmp_path / "traj.yaml", rate=50.0).read_text())
    assert set(read) == {"joint_names", "points"} and read["joint_names"] == list(SCARA.joint_names)
    fields = {"positions", "velocities", "accelerations", "time_from_start"}
    assert all(set(point) == fields for point in read["points"])
    t = np.array([p["time_from_start"]["sec"] + 1e-9 * p["time_from_start"]["nanosec"] for p in read["points"]])
    np.testing.assert_allclose([p["velocities"] for p in read["points"]], made.evaluate(t)[1], atol=1e-7)


def test_keyframes_load_in_mujoco(made, tmp_path):
    path = write(made, tmp_path / "keys.xml", rate=10.0)
    robot = mjcf_text(SCARA)
    keys = path.read_text().split("<mujoco>")[1].split("</mujoco>")[0]
    m = mujoco.MjModel.from_xml_string(robot.replace("</mujoco>", keys + "</mujoco>"))
    assert m.nkey == 41
    np.testing.assert_allclose(m.key_time[[0, -1]], [0.0, 4.0])
    np.testing.assert_allclose(m.key_qvel[20], made.evaluate(np.array([2.0]))[1][0], atol=1e-7)


def test_other_suffixes_are_refused(made, tmp_path):
    with pytest.raises(OptionError, match=r"traj.bag.*\.csv \(CSV\)"):
        write(made, tmp_path / "traj.bag")
    assert not list(tmp_path.iterdir())


def test_static_poses_show_all_that_gravity_shows():
    robot = sy.library.puma560()
    few, many = (poses(robot, count, seed=3) for count in (12, 40))
    static = sy.identifiability(robot, motion="static", friction=("offset",)).count
    assert few.goal.rank == many.goal.rank == static
    assert few.condition < 10
    rng = np.random.default_rng(0)
    others = []
    for _ in range(20):
        q = rng.uniform(robot.lower, robot.upper, size=(12, robot.nv))
        still = np.zeros_like(q)
        log = sy.Log(t=np.arange(12.0), q=q, v=still, a=still, tau=still, joint_names=robot.joint_names)
        info = accumulate(robot, log, friction=("offset",)).weighted(1 / few.goal.noise**2)
        others.append(few.goal.cost(info.G)[0])
    assert few.goal.cost(few.gram)[0] < min(others)
    with pytest.raises(OptionError, match="one pose or more"):
        poses(robot, 0)


def test_command_line(tmp_path, monkeypatch):
    search_briefly(monkeypatch)
    model = str(SCARA.source.path)
    out = [tmp_path / "traj.csv", tmp_path / "traj.yaml"]
    words = ["excite", model, "--duration", "4", "--speed", "0.5", "--harmonics", "2", "--no-collisions"]
    shown = ["--explain", "--preview", str(tmp_path / "preview.html")]
    done = CliRunner().invoke(app, [*words, "-o", str(out[0]), "-o", str(out[1]), *shown], catch_exceptions=False)
    assert done.exit_code == 0, done.output
    assert '"duration":4.0' in (tmp_path / "preview.html").read_text("utf-8") and "preview.html." in done.output
    assert "Active: " in done.output and all(path.exists() for path in out)
    log = sy.read_log(out[0], SCARA)
    assert (np.abs(log.v) <= 0.5 * SCARA.velocity_limits).all()
    after = CliRunner().invoke(app, [*words, "--after", str(out[0]), "--target", "1.01"], catch_exceptions=False)
    assert after.exit_code == 1 and "misses the target 1.01" in after.output


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["-o", "x.bag"], "choose one of these suffixes"),
        (["--lock", "elbow"], "no joint 'elbow'"),
        (["--margin", "1"], "share"),
        (["--preview", "x.txt"], "ends in .html"),
    ],
)
def test_command_line_refuses_in_one_line(words, said, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    done = CliRunner().invoke(app, ["excite", str(SCARA.source.path), *words])
    assert done.exit_code == 2 and said in done.output and not list(tmp_path.iterdir())


def test_saved_information_and_logs_count_together_and_an_old_motion_starts_the_new(made, tmp_path):
    log = made.log(rate=200.0)
    saved = sy.save_information(accumulate(SCARA, log), tmp_path / "known.npz")
    old = write(made, tmp_path / "old.csv", rate=200.0)
    words = [
        "excite",
        str(SCARA.source.path),
        "--duration",
        "4",
        "--harmonics",
        "3",
        "--time",
        "0.01",
        "--no-collisions",
    ]
    words += ["--after", str(saved), "--after", str(old), "--warm", str(old), "-o", str(tmp_path / "new.npz")]
    done = CliRunner().invoke(app, words, catch_exceptions=False)
    assert done.exit_code == 0, done.output
    assert "time limit of 0.01 s" in done.output
    both, known = (earlier_information(SCARA, paths, {}) for paths in ([saved, old], [saved]))
    assert both.n == 2 * known.n
    assert sy.read_log(tmp_path / "new.npz", SCARA).t[-1] == pytest.approx(4.0)
