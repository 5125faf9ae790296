"""Names of a log that are not those of its robot: never taken by their order, also of robots with a free base."""

import numpy as np
import pytest

from steelyard.errors import LogError
from steelyard.log import Log, read_log, write_npz
from steelyard.model import library

BASE = ["x", "y", "z", "qx", "qy", "qz", "qw"]
TWIST = ["vx", "vy", "vz", "wx", "wy", "wz"]
LEG = ["abad", "hip", "knee"]


def table(path, q, v):
    """A CSV file with columns named q_NAME, v_NAME and tau_NAME; and its numbers."""
    rng = np.random.default_rng(0)
    values = {key: rng.normal(size=(30, len(names))) for key, names in (("q", q), ("v", v), ("tau", v))}
    header = ["t", *(f"{key}_{name}" for key, names in (("q", q), ("v", v), ("tau", v)) for name in names)]
    data = np.column_stack([np.arange(30) / 100, *values.values()])
    np.savetxt(path, data, delimiter=",", header=",".join(header), comments="")
    return values


def test_joints_of_a_legged_robot_are_met_by_name(tmp_path):
    robot, swapped = library.cheetah3_leg(floating=True), ["knee", "abad", "hip"]
    values = table(tmp_path / "run.csv", [*BASE, *swapped], [*swapped, *TWIST])
    log = read_log(tmp_path / "run.csv", robot)
    np.testing.assert_allclose(log.q, values["q"][:, [0, 1, 2, 3, 4, 5, 6, 8, 9, 7]], atol=1e-15)
    np.testing.assert_allclose(log.tau, values["tau"][:, [3, 4, 5, 6, 7, 8, 1, 2, 0]], atol=1e-15)
    assert any("v: columns vx, vy, vz, wx, wy, wz taken in their order" in note for note in log.notes)


@pytest.mark.parametrize("names", [["hip_x", "hip_y", "knee"], ["fl_abad", "fl_hip", "fl_knee"], ["ABAD", "a", "b"]])
def test_names_that_a_legged_robot_does_not_have(tmp_path, names):
    table(tmp_path / "run.csv", [*BASE, *names], [*TWIST, *names])
    with pytest.raises(LogError, match="abad") as error:
        read_log(tmp_path / "run.csv", library.cheetah3_leg(floating=True))
    assert names[0] in str(error.value) and "--channels" in str(error.value)


def test_degrees_of_freedom_by_their_own_names(tmp_path):
    robot, rng = library.cheetah3_leg(floating=True), np.random.default_rng(1)
    order = rng.permutation(9)
    values = rng.normal(size=(30, 9))
    log = Log(
        t=np.arange(30) / 100,
        q=rng.normal(size=(30, 10)),
        v=values[:, order],
        tau=values[:, order],
        joint_names=[robot.dof_names[k] for k in order],
    )
    found = read_log(write_npz(log, tmp_path / "run.npz"), robot)
    np.testing.assert_array_equal(found.v, values)
    np.testing.assert_array_equal(found.q, log.q)


def test_axes_are_counted_as_the_robot_counts_them(fake_robot, tmp_path):
    """A2 is the robot's joint_2, wherever its model has it."""
    path = tmp_path / "run.csv"
    table(path, ["A1", "A2", "A3"], ["A1", "A2", "A3"])
    straight = read_log(path, fake_robot(joint_names=("joint_1", "joint_2", "joint_3")))
    turned = read_log(path, fake_robot(joint_names=("joint_3", "joint_1", "joint_2")))
    np.testing.assert_array_equal(turned.q, straight.q[:, [2, 0, 1]])
