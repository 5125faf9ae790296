"""Payload logs as controllers and bags have them: one motion, one truth, whatever the names, axes and units."""

import numpy as np
import pytest
from scipy.spatial.transform import Rotation

import log_files
import steelyard as sy
from payload_logs import THETA, in_world_axes, swing
from steelyard.corrections import Corrections
from steelyard.errors import LogError
from steelyard.payload import carried_log, diagnose, identify, read_wrench_log

LOG = swing(duration=4.0)
TURN = Rotation.from_matrix(LOG.rotation)
REACTION = -in_world_axes(LOG, LOG.wrench)  # what the world exerts on the robot, in axes of its base
POSE = np.tile(np.eye(4), (len(LOG), 1, 1))
POSE[:, :3, :3], POSE[:, :3, 3] = LOG.rotation, LOG.position


def table(path, *parts):
    """CSV of t and (names, numbers)."""
    header = ",".join(["t", *(names for names, _ in parts)])
    numbers = np.column_stack([LOG.t, *(values for _, values in parts)])
    np.savetxt(path, numbers, "%.15g", ",", header=header, comments="")
    return path


def numbered(stem, count):
    return ",".join(f"{stem}_{i}" for i in range(count))


FORCES, PLACE = ("fx,fy,fz,nx,ny,nz", LOG.wrench), ("px,py,pz", LOG.position)
SOURCES = {
    "rotation vectors": (FORCES, PLACE, ("rx,ry,rz", TURN.as_rotvec())),
    "roll, pitch and yaw": (FORCES, PLACE, ("roll,pitch,yaw", TURN.as_euler("xyz"))),
    "degrees": (FORCES, PLACE, ("roll [deg],pitch [deg],yaw [deg]", TURN.as_euler("xyz", degrees=True))),
    "UR RTDE": (
        (numbered("actual_TCP_pose", 6), np.hstack([LOG.position, TURN.as_rotvec()])),
        (numbered("actual_TCP_force", 6), REACTION),
    ),
    "libfranka": (
        (numbered("O_T_EE", 16), POSE.swapaxes(1, 2).reshape(-1, 16)),
        (numbered("K_F_ext_hat_K", 6), -LOG.wrench),
    ),
}


def assert_true(log):
    found = identify(log)
    assert found.mass == pytest.approx(THETA[0], rel=5e-3)
    np.testing.assert_allclose(found.com, THETA[1:4] / THETA[0], atol=1e-3)


@pytest.mark.parametrize("name", SOURCES)
def test_tables(name, tmp_path):
    assert_true(read_wrench_log(table(tmp_path / "log.csv", *SOURCES[name])))


@pytest.mark.parametrize(
    "pose",
    [
        {"pose": np.hstack([LOG.position, TURN.as_rotvec()])},
        {"rotvec": TURN.as_rotvec(), "position": LOG.position},
        {"rpy": TURN.as_euler("xyz"), "position": LOG.position},
    ],
)
def test_arrays(pose, tmp_path):
    np.savez(tmp_path / "log.npz", t=LOG.t, wrench=LOG.wrench, **pose)
    assert_true(read_wrench_log(tmp_path / "log.npz"))


def test_arrays_of_a_controller(tmp_path):
    columns = POSE.swapaxes(1, 2).reshape(-1, 16)
    np.savez(tmp_path / "log.npz", t=LOG.t, K_F_ext_hat_K=-LOG.wrench, O_T_EE=columns)
    assert_true(read_wrench_log(tmp_path / "log.npz"))


@pytest.mark.parametrize("kind", ["PoseStamped", "TransformStamped"])
def test_bags_of_a_sensor_and_a_pose(kind, tmp_path):
    """At 500 and 125 Hz, with clocks that do not meet."""
    path = bag(tmp_path, kind)
    assert_true(read_wrench_log(path))
    two = bag(tmp_path, kind, wrenches=("/ft", "/raw"))
    with pytest.raises(LogError, match=r"several topics may be the wrench: /ft, /raw\. Name one: --channels"):
        read_wrench_log(two)
    assert_true(read_wrench_log(two, channels={"wrench": "/ft"}))
    with pytest.raises(LogError, match=r"no pose of a sensor .* topics are /ft"):
        read_wrench_log(bag(tmp_path, None))


def bag(folder, kind, wrenches=("/ft",)):
    from mcap_ros2.writer import Writer

    vector, header = "float64 x\nfloat64 y\nfloat64 z\n", "std_msgs/Header header\n"
    beside = "\n".join(
        f"{'=' * 80}\nMSG: {name}\n{text}"
        for name, text in (
            ("std_msgs/Header", "builtin_interfaces/Time stamp\nstring frame_id\n"),
            ("builtin_interfaces/Time", "int32 sec\nuint32 nanosec\n"),
            ("geometry_msgs/Vector3", vector),
            ("geometry_msgs/Point", vector),
            ("geometry_msgs/Quaternion", vector + "float64 w\n"),
            ("geometry_msgs/Wrench", "geometry_msgs/Vector3 force\ngeometry_msgs/Vector3 torque\n"),
            ("geometry_msgs/Pose", "geometry_msgs/Point position\ngeometry_msgs/Quaternion orientation\n"),
            ("geometry_msgs/Transform", "geometry_msgs/Vector3 translation\ngeometry_msgs/Quaternion rotation\n"),
        )
    )
    fields = {
        "PoseStamped": ("geometry_msgs/Pose pose\n", "pose", "position", "orientation"),
        "TransformStamped": (
            "string child_frame_id\ngeometry_msgs/Transform transform\n",
            "transform",
            "translation",
            "rotation",
        ),
    }
    path = folder / f"{kind}{len(wrenches)}.mcap"
    with path.open("wb") as file:
        writer = Writer(file)
        force = writer.register_msgdef(
            "geometry_msgs/msg/WrenchStamped", f"{header}geometry_msgs/Wrench wrench\n{beside}"
        )
        quaternions = TURN.as_quat()
        if kind is not None:
            text, outer, place, turn = fields[kind]
            pose = writer.register_msgdef(f"geometry_msgs/msg/{kind}", f"{header}{text}{beside}")
        for i, t in enumerate(LOG.t):
            tick = round(1e9 * (t + 100))
            f, n = (named("xyz", half) for half in (LOG.wrench[i, :3], LOG.wrench[i, 3:]))
            for topic in wrenches:
                message = {"header": head(tick), "wrench": {"force": f, "torque": n}}
                writer.write_message(topic, force, message, tick)
            if kind is not None and i % 2 == 0:
                body = {place: named("xyz", LOG.position[i]), turn: named("xyzw", quaternions[i])}
                message = {"header": head(tick), outer: body}
                message |= {"child_frame_id": "tool"} if outer == "transform" else {}
                writer.write_message("/pose", pose, message, tick)
        writer.finish()
    return path


def named(axes, values):
    return {axis: float(x) for axis, x in zip(axes, values, strict=True)}


def head(tick):
    return {"stamp": {"sec": tick // 10**9, "nanosec": tick % 10**9}, "frame_id": "tool"}


@pytest.mark.exhaustive(keep=1)
@pytest.mark.parametrize(("unit", "scale"), [("mm", 1e3), ("cm", 1e2)])
def test_places_in_other_units_are_named(unit, scale, tmp_path):
    """Controllers of KUKA, ABB, Fanuc and Kawasaki report millimetres."""
    rng = np.random.default_rng(0)
    noisy = LOG.wrench + rng.normal(size=LOG.wrench.shape) * np.repeat([0.1, 0.005], 3)
    parts = (FORCES[0], noisy), (PLACE[0], scale * LOG.position), ("qx,qy,qz,qw", TURN.as_quat())
    path = table(tmp_path / "log.csv", *parts)
    assert any(f"--unit position={unit}" in each for each in diagnose(read_wrench_log(path)))
    log = read_wrench_log(path, corrections=Corrections(unit=(f"position={unit}",)))
    assert_true(log)
    assert not any("unit" in each for each in diagnose(log))


def test_a_bag_of_an_arm_with_its_sensor(tmp_path):
    """Joint states are the motion where the arm is known."""
    joints = "".join(
        f'<link name="l{i}"><inertial><mass value="1"/><inertia ixx=".1" iyy=".1" izz=".1" ixy="0" ixz="0" iyz="0"/>'
        f'</inertial></link><joint name="{name}" type="continuous"><parent link="l{i - 1}"/><child link="l{i}"/>'
        f'<origin xyz="0 0 .2"/><axis xyz="{axis}"/></joint>'
        for i, (name, axis) in enumerate(zip(log_files.NAMES, ("0 0 1", "0 1 0", "1 0 0"), strict=True), start=1)
    )
    (tmp_path / "arm.urdf").write_text(f'<robot name="arm"><link name="l0"/>{joints}</robot>')
    arm = sy.load(tmp_path / "arm.urdf")
    t = np.arange(0, 4, 0.004)
    q = np.stack([np.sin(1.1 * t), np.sin(1.7 * t + 1), np.sin(2.3 * t + 2)], axis=1)
    log = sy.Log(t=t, q=q, v=np.gradient(q, t, axis=0), tau=np.cos(q))
    read = read_wrench_log(log_files.mcap(log, tmp_path), arm, frame="l3")
    zero = np.zeros_like(q)
    held = carried_log(arm, t=t, q=q, v=zero, a=zero, wrench=log_files.wrench_of(log), frame="l3")
    kept = np.searchsorted(held.t - held.t[0], read.t - held.t[0] - 1e-6)
    np.testing.assert_allclose(read.wrench, held.wrench[kept], atol=1e-9)
    np.testing.assert_allclose(read.rotation, held.rotation[kept], atol=1e-3)
    assert read.moving
