"""The wrench log: what it accepts, what it refuses, and frames and signs against MuJoCo's own force-torque sensor."""

import mujoco
import numpy as np
import pytest

import steelyard as sy
from payload_logs import THETA, in_world_axes, static, swing
from steelyard.corrections import Corrections
from steelyard.errors import FitError, LogError, OptionError
from steelyard.payload import carried_log, identify, read_wrench_log
from steelyard.payload.wrench_sums import accumulate

pytestmark = pytest.mark.claim("payload.mistakes")

ARM = """<mujoco><option gravity="0 0 -9.81"/><worldbody>
<body name="a" pos="0 0 0.5"><joint name="j1" axis="0 1 0"/><geom type="capsule" size=".03" fromto="0 0 0 .2 0 0"/>
<body name="b" pos=".2 0 0"><joint name="j2" axis="1 0 0"/><geom type="capsule" size=".03" fromto="0 0 0 .1 0 0"/>
<body name="c" pos=".1 0 .02"><joint name="j3" axis="0 0 1"/>
<inertial pos="0 0 0" mass=".2" diaginertia="1e-4 1e-4 1e-4"/>
<body name="held" pos="0.03 -.02 .05" euler="20 30 40"><site name="ft"/>
<inertial pos="0.02 0.01 0.06" mass="0.7" fullinertia="2e-3 1.5e-3 1e-3 1e-4 -2e-4 3e-5"/></body></body></body></body>
</worldbody><sensor><force site="ft"/><torque site="ft"/></sensor></mujoco>"""


@pytest.fixture(scope="module")
def mujoco_log(tmp_path_factory):
    """Joint states, and what MuJoCo's sensor reads at the link `held`."""
    path = tmp_path_factory.mktemp("arm") / "arm.xml"
    path.write_text(ARM)
    m = mujoco.MjModel.from_xml_string(ARM)
    d = mujoco.MjData(m)
    q, v, a = np.random.default_rng(0).normal(size=(3, 40, 3))
    wrench, rotation, position = np.zeros((40, 6)), np.zeros((40, 3, 3)), np.zeros((40, 3))
    for k in range(40):
        d.qpos, d.qvel, d.qacc = q[k], v[k], a[k]
        mujoco.mj_inverse(m, d)
        mujoco.mj_sensorAcc(m, d)
        wrench[k], rotation[k], position[k] = d.sensordata, d.site_xmat[0].reshape(3, 3), d.site_xpos[0]
    return sy.load(path), {"t": np.arange(40) * 0.01, "q": q, "v": v, "a": a, "wrench": wrench}, rotation, position


def test_an_arm_carries_its_sensor_as_in_mujoco(mujoco_log):
    robot, channels, rotation, position = mujoco_log
    log = carried_log(robot, **channels, frame="held")
    np.testing.assert_allclose(log.rotation, rotation, atol=1e-12)
    np.testing.assert_allclose(log.position, position, atol=1e-12)
    found = identify(log, "ols")
    assert found.mass == pytest.approx(0.7, rel=1e-10)
    np.testing.assert_allclose(found.com, [0.02, 0.01, 0.06], atol=1e-12)
    I = [[2e-3, 1e-4, -2e-4], [1e-4, 1.5e-3, 3e-5], [-2e-4, 3e-5, 1e-3]]
    np.testing.assert_allclose(found.inertia, I, atol=1e-12)
    other = identify(carried_log(robot, **channels, frame="c"), "ols")  # the wrong frame does not fit
    assert np.abs(other.inertia - I).max() > 1e-4


def test_files_of_joint_states(mujoco_log, tmp_path):
    robot, channels, _, _ = mujoco_log
    np.savez(tmp_path / "log.npz", **channels)
    names = ["t", "fx", "fy", "fz", "tx", "ty", "tz", *(f"{key}_j{i}" for key in "qva" for i in (1, 2, 3))]
    table = np.column_stack([channels[key] for key in ("t", "wrench", "q", "v", "a")])
    np.savetxt(tmp_path / "log.csv", table, delimiter=",", header=",".join(names), comments="", fmt="%.17g")
    for name in ("log.npz", "log.csv"):
        log = read_wrench_log(tmp_path / name, robot, frame="held")
        assert identify(log, "ols").mass == pytest.approx(0.7, rel=1e-9)
    with pytest.raises(OptionError, match=r"no link 'hand'; it has .*held"):
        read_wrench_log(tmp_path / "log.npz", robot, frame="hand")
    with pytest.raises(LogError, match="cannot move"):
        read_wrench_log(tmp_path / "log.npz", robot, frame="world")


def test_files_of_poses(tmp_path):
    from scipy.spatial.transform import Rotation

    log = swing()
    quaternion = Rotation.from_matrix(log.rotation).as_quat()
    signals = {"t": log.t, "twist": log.twist, "acceleration": log.acceleration}
    np.savez(tmp_path / "a.npz", wrench=log.wrench, rotation=log.rotation, **signals)
    pose = np.concatenate([np.zeros((len(log), 3)), quaternion], axis=1)
    np.savez(tmp_path / "b.npz", force=log.wrench[:, :3], torque=log.wrench[:, 3:], pose=pose, **signals)
    np.savez(tmp_path / "c.npz", wrench=-log.wrench, quaternion=quaternion, **signals)
    header = "t,fx,fy,fz,nx,ny,nz,qx,qy,qz,qw,vx,vy,vz,wx,wy,wz,ax,ay,az,alx,aly,alz"
    table = np.column_stack([log.t, log.wrench, quaternion, log.twist, log.acceleration])
    np.savetxt(tmp_path / "d.csv", table, delimiter=",", header=header, comments="", fmt="%.17g")
    for name, negate in (("a.npz", False), ("b.npz", False), ("c.npz", True), ("d.csv", False)):
        read = read_wrench_log(tmp_path / name, negate=negate)
        np.testing.assert_allclose(identify(read, "ols").theta, THETA, atol=1e-9)
    np.savez(tmp_path / "e.npz", wrench=log.wrench, rotation=log.rotation, t=log.t)
    assert not read_wrench_log(tmp_path / "e.npz").moving


@pytest.mark.parametrize(
    ("arrays", "words"),
    [
        ({"t": np.arange(3.0)}, "has no wrench"),
        ({"t": np.arange(3.0), "wrench": np.zeros((3, 6))}, "how the sensor was turned"),
        ({"wrench": np.zeros((3, 6)), "rotation": np.zeros((3, 3, 3))}, "no time stamps"),
    ],
)
def test_files_that_lack_something(tmp_path, arrays, words):
    np.savez(tmp_path / "log.npz", **arrays)
    with pytest.raises(LogError, match=words):
        read_wrench_log(tmp_path / "log.npz")


def test_tables_as_controllers_write_them(mujoco_log, tmp_path):
    """Semicolons, decimal commas, units, other words, time since 1970."""
    robot, channels, _, _ = mujoco_log
    names = ["Timestamp [ms]", *(f"Force_{x} [N]" for x in "XYZ"), *(f"Torque_{x} [mNm]" for x in "XYZ")]
    names += [f"{joint} actual position [deg]" for joint in ("j1", "j2", "j3")]
    wrench = channels["wrench"] * [1, 1, 1, 1e3, 1e3, 1e3]
    table = np.column_stack([channels["t"] * 1e3 + 1.7637e12, wrench, np.degrees(channels["q"])])
    lines = [";".join(names)] + [";".join(f"{x:.17g}".replace(".", ",") for x in row) for row in table]
    (tmp_path / "log.csv").write_bytes(("\r\n".join(lines) + "\r\n").encode("cp1252"))
    log = read_wrench_log(tmp_path / "log.csv", robot, frame="held")
    np.testing.assert_allclose(log.wrench, channels["wrench"][2:-2], rtol=1e-12)  # less the ends of smoothed motion
    np.testing.assert_allclose(np.diff(log.t), 0.01, atol=1e-6)
    held = carried_log(robot, **{key: channels[key] for key in ("t", "q", "v", "a", "wrench")}, frame="held")
    assert log.rotation.shape == held.rotation[2:-2].shape and log.moving


def test_columns_with_the_unit_of_an_angle_are_positions(mujoco_log, tmp_path):
    """`J1 [deg]` beside `ForceX [N]` and `TorqueX [Nm]`, as vendors write them."""
    robot, channels, _, _ = mujoco_log
    names = ["Timestamp [s]", "J1 [deg]", "J2 [deg]", "J3 [deg]", *(f"Force{x} [N]" for x in "XYZ")]
    names += [f"Torque{x} [Nm]" for x in "XYZ"]
    table = np.column_stack([channels["t"], np.degrees(channels["q"]), channels["wrench"]])
    np.savetxt(tmp_path / "log.csv", table, delimiter=";", header=";".join(names), comments="", fmt="%.17g")
    plain = ["t", "q1", "q2", "q3", "fx", "fy", "fz", "nx", "ny", "nz"]
    table = np.column_stack([channels["t"], channels["q"], channels["wrench"]])
    np.savetxt(tmp_path / "plain.csv", table, delimiter=",", header=",".join(plain), comments="", fmt="%.17g")
    log, expected = (read_wrench_log(tmp_path / f"{name}.csv", robot, frame="held") for name in ("log", "plain"))
    np.testing.assert_allclose(log.rotation, expected.rotation, atol=1e-9)
    np.testing.assert_allclose(log.wrench, expected.wrench, rtol=1e-12)


def test_a_sensor_that_never_turns_is_no_crash(tmp_path):
    """Its angular acceleration is exactly zero, which no smoother needs to look at."""
    t = np.arange(200) * 0.01
    wrench = np.tile([0, 0, 9.81, 0, 0.1, 0], (200, 1)) + np.random.default_rng(0).normal(size=(200, 6)) * 0.01
    position = np.stack([0.1 * np.sin(3 * t), 0.1 * np.cos(2 * t), 0.1 * np.sin(5 * t)], axis=1)
    turned = np.tile([0.0, 0, 0, 1], (200, 1))
    names = "t,fx,fy,fz,nx,ny,nz,qx,qy,qz,qw,px,py,pz"
    np.savetxt(tmp_path / "log.csv", np.c_[t, wrench, turned, position], delimiter=",", header=names, comments="")
    found = identify(read_wrench_log(tmp_path / "log.csv"))
    assert found.status.name == "WEAK"


def test_files_that_are_none(tmp_path):
    (tmp_path / "log.npz").write_bytes(b"no archive")
    (tmp_path / "log.csv").write_text("t,fx\n1,two\n")
    for name, words in (
        ("log.npz", "not a whole .npz archive"),
        (
            "log.csv",
            "no wrench: expected columns fx, fy, .*, found t, fx. Name them: --channels .* joint torques .* --torques",
        ),
        ("log.bag", "no wrench log"),
    ):
        with pytest.raises(LogError, match=words):
            read_wrench_log(tmp_path / name)


def test_world_axes():
    log = swing()
    classical = np.concatenate([log.origin_acceleration, log.acceleration[:, 3:]], axis=1)
    again = sy.WrenchLog.from_world_axes(
        t=log.t,
        wrench=in_world_axes(log, log.wrench),
        rotation=log.rotation,
        twist=in_world_axes(log, log.twist),
        acceleration=in_world_axes(log, classical),
        gravity=log.gravity,
    )
    for key in ("wrench", "twist", "acceleration"):
        np.testing.assert_allclose(getattr(again, key), getattr(log, key), atol=1e-12)


def test_a_table_in_world_axes(tmp_path):
    """Quaternions, with motion and without."""
    from scipy.spatial.transform import Rotation

    log = swing()
    classical = np.concatenate([log.origin_acceleration, log.acceleration[:, 3:]], axis=1)
    motion = [in_world_axes(log, x) for x in (log.wrench, log.twist, classical)]
    quaternion = Rotation.from_matrix(log.rotation).as_quat()
    names = "t,fx,fy,fz,nx,ny,nz,qx,qy,qz,qw,vx,vy,vz,wx,wy,wz,ax,ay,az,alx,aly,alz"
    table = np.column_stack([log.t, motion[0], quaternion, *motion[1:]])
    for columns in (23, 11):
        path = tmp_path / f"held{columns}.csv"
        np.savetxt(path, table[:, :columns], "%.17g", ",", header=",".join(names.split(",")[:columns]), comments="")
        again = read_wrench_log(path, axes="world", gravity=log.gravity)
        assert again.moving == (columns == 23)
        for key in ("wrench", "twist", "acceleration") if again.moving else ("wrench",):
            np.testing.assert_allclose(getattr(again, key), getattr(log, key), atol=1e-12)
    with pytest.raises(LogError, match="twist has shape"):
        sy.WrenchLog.from_world_axes(
            t=log.t, wrench=motion[0], rotation=quaternion, twist=motion[1].T, acceleration=classical
        )


def _broken(**changes):
    log = static()
    fields = {"t": log.t, "wrench": log.wrench, "rotation": log.rotation} | changes
    return sy.WrenchLog(**fields)


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"wrench": np.zeros((6, 8))}, "pass the transpose"),
        ({"wrench": np.full((8, 6), np.nan)}, "not finite"),
        ({"rotation": np.tile([2.0, 0, 0, 0], (8, 1))}, "norm 2, expected unit quaternions"),
        ({"rotation": np.tile(np.diag([1.0, 1.0, -1.0]), (8, 1, 1))}, "mirror image"),
        ({"rotation": np.tile(1.2 * np.eye(3), (8, 1, 1))}, "off orthonormal"),
        ({"t": np.array([0, 1, 2, 2, 3, 4, 5, 6.0])}, "time goes from 2 to 2 s at sample 3"),
        ({"twist": np.zeros((8, 6))}, "acceleration is missing"),
        ({"gravity": "down"}, "array of numbers"),
    ],
)
def test_refused(changes, words):
    with pytest.raises(LogError, match=words):
        _broken(**changes)


def test_rounded_quaternions_are_normalised_and_said():
    quaternion = np.tile([0.0, 0.0, 0.0, 1.001], (8, 1))
    log = _broken(rotation=quaternion)
    np.testing.assert_allclose(log.rotation, np.tile(np.eye(3), (8, 1, 1)))
    assert "normalised" in log.notes[0]
    mended = _broken(rotation=np.tile(np.eye(3) * 1.001, (8, 1, 1)))
    np.testing.assert_allclose(mended.rotation[0], np.eye(3))
    assert "orthonormal" in mended.notes[0]


def test_information_adds_and_forgets():
    log = swing(noise=(0.1, 0.005, 0.0, 0.0))
    whole, parts = accumulate(log), accumulate(log[:70]) + accumulate(log[70:])
    for one, other, half in zip(whole.factors, parts.factors, whole.discounted(0.5).factors, strict=True):
        np.testing.assert_allclose(one.T @ one, other.T @ other, atol=1e-9)
        np.testing.assert_allclose(half.T @ half, 0.5 * one.T @ one, atol=1e-9)
    with pytest.raises(FitError, match="different columns"):  # each drift counts from its own start
        accumulate(log[:70], bias="drift") + accumulate(log[70:], bias="drift")
    with pytest.raises(LogError, match="empty"):
        accumulate(log[:0])


def test_samples_that_are_left_out(tmp_path):
    """As of `--leave-out`: times of this log, or of one that is named."""
    log = swing(duration=2.0)
    np.savez(tmp_path / "held.npz", t=log.t, wrench=log.wrench, rotation=log.rotation)
    part = read_wrench_log(tmp_path / "held.npz", corrections=Corrections(leave_out=("0.5:1.0", "empty=0:1")))
    assert not ((part.t >= 0.5) & (part.t <= 1.0)).any() and len(log) - len(part) == 51
    assert "0.5:1.0 s left out, 25.5% of the samples" in part.notes
    with pytest.raises(OptionError, match="log 'held' has no sample there"):
        read_wrench_log(tmp_path / "held.npz", corrections=Corrections(leave_out=("5:6",)))
