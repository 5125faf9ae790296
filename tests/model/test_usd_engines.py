"""USD beside other programs: public converters write what is read, Newton reads what is written.

They need another environment: `STEELYARD_ENGINES` is the path of its Python.
"""

import json
import os
import subprocess
from pathlib import Path

import numpy as np
import pytest

from robots import EXAMPLE_ROBOTS, package_folder
from steelyard.dynamics import inverse_dynamics
from steelyard.inertia import to_com_inertia
from steelyard.model import load, save
from steelyard.model.compare import relative_difference

ENGINES = os.environ.get("STEELYARD_ENGINES", "")
pytestmark = pytest.mark.skipif(not Path(ENGINES).is_file(), reason="STEELYARD_ENGINES names no Python")
SINGLE = 1e-5

CONVERT = """
import sys
if sys.argv[1].endswith(".urdf"):
    from urdf_usd_converter import Converter
    packages = [{"name": "example-robot-data", "path": sys.argv[3]}]
    made = Converter(ros_packages=packages).convert(sys.argv[1], sys.argv[2])
else:
    from mujoco_usd_converter import Converter
    made = Converter().convert(sys.argv[1], sys.argv[2])
print("written", made.path)
"""
NEWTON = """
import json, sys
import numpy as np, warp as wp
import newton
builder = newton.ModelBuilder()
with wp.ScopedDevice("cpu"):
    builder.add_usd(sys.argv[1], skip_mesh_approximation=True)
    m = builder.finalize(device="cpu")
    state, names = m.state(), [each.split("/")[-1] for each in m.joint_label]
    starts, ends = m.joint_q_start.numpy(), m.joint_qd_start.numpy()
    q = np.zeros(m.joint_coord_count, dtype=np.float32)
    for name, value in json.loads(sys.argv[2]).items():
        q[starts[names.index(name)]] = value
    newton.eval_fk(m, wp.array(q, dtype=float, device="cpu"), m.joint_qd, state)
    H = newton.eval_mass_matrix(m, state).numpy()[0]
bodies = zip(m.body_label, m.body_mass.numpy(), m.body_com.numpy(), m.body_inertia.numpy())
told = {
    "bodies": {l.split("/")[-1]: [float(M), c.tolist(), np.array(I).tolist()] for l, M, c, I in bodies},
    "degrees": {name: int(ends[i]) for i, name in enumerate(names)},
    "armature": m.joint_armature.numpy().tolist(),
    "H": H.tolist(),
}
print("told", json.dumps(told))
"""


def run(program: str, *arguments) -> str:
    done = subprocess.run([ENGINES, "-c", program, *map(str, arguments)], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr[-2000:]
    return done.stdout


@pytest.mark.exhaustive(keep=2)
@pytest.mark.parametrize(
    "name",
    [
        "panda_description/urdf/panda.urdf",  # principal axes that are turned, a mimic joint
        "z1_description/urdf/z1.urdf",
        "solo_description/robots/solo12.urdf",
        "double_pendulum_description/urdf/double_pendulum.urdf",
        "allegro_hand_description/urdf/allegro_right_hand.urdf",
    ],
)
def test_a_converted_urdf_is_the_same_robot(name, tmp_path):
    source = EXAMPLE_ROBOTS / name
    made = run(CONVERT, source, tmp_path / "out", EXAMPLE_ROBOTS.parent).rpartition("written ")[2].strip()
    robot, found = load(source), load(made)
    assert set(found.joint_names) == set(robot.joint_names) and set(found.body_names) == set(robot.body_names)
    for body, theta in zip(robot.body_names, robot.inertias, strict=True):
        assert relative_difference(found.inertias[found.body_index(body)], theta) <= SINGLE, body
    for field in ("damping", "frictionloss", "upper", "velocity_limits", "effort_limits"):
        theirs = dict(zip(found.joint_names, getattr(found, field), strict=True))
        for joint, expected in zip(robot.joint_names, getattr(robot, field), strict=True):
            assert theirs[joint] == pytest.approx(expected, rel=SINGLE), (field, joint)
    assert {j.name: (j.mimics, j.ratio) for j in found.joints} == {j.name: (j.mimics, j.ratio) for j in robot.joints}


@pytest.mark.exhaustive(keep=1)
@pytest.mark.parametrize("name", ["humanoid", "reacher", "manipulator"])
def test_a_converted_mjcf_is_the_same_robot(name, tmp_path):
    """Of bodies that the articulation holds; the converter leaves out ellipsoids, and balls that fly are none of it."""
    source = package_folder("dm_control") / "suite" / f"{name}.xml"
    made = run(CONVERT, source, tmp_path / "out").rpartition("written ")[2].strip()
    robot, found = load(source), load(made)
    for body in found.body_names:
        error = relative_difference(found.inertias[found.body_index(body)], robot.inertias[robot.body_index(body)])
        assert error <= SINGLE, body
    for field in ("armature", "damping", "frictionloss"):
        theirs = dict(zip(found.dof_names, getattr(found, field), strict=True))
        for joint, expected in zip(robot.dof_names, getattr(robot, field), strict=True):
            assert theirs.get(joint, expected) == pytest.approx(expected, rel=SINGLE), (field, joint)
    for joint, drive in found.drives.items():
        assert not drive.differing(robot.drives[joint], SINGLE)


@pytest.mark.exhaustive(keep=1)
@pytest.mark.parametrize("name", ["solo_description/robots/solo12.urdf", "z1_description/urdf/z1.urdf"])
def test_newton_reads_a_new_file_as_the_robot(name, tmp_path):
    robot = load(EXAMPLE_ROBOTS / name)
    robot = robot.with_joint_properties(armature=np.linspace(0.01, 0.02, robot.nv))
    q = np.random.default_rng(0).uniform(-0.8, 0.8, size=robot.nv)
    path = save(robot, tmp_path / "r.usda").path
    out = run(NEWTON, path, json.dumps(dict(zip(robot.joint_names, q.tolist(), strict=True))))
    told = json.loads(out.rpartition("told ")[2])
    for body, theta in zip(robot.body_names, robot.inertias, strict=True):
        mass, com, tensor = to_com_inertia(theta)
        theirs = told["bodies"][body]
        assert theirs[0] == pytest.approx(mass, rel=SINGLE)
        assert theirs[1] == pytest.approx(com.tolist(), abs=SINGLE)
        assert np.array(theirs[2]) == pytest.approx(tensor, abs=SINGLE * np.abs(tensor).max())
    columns = [told["degrees"][joint] for joint in robot.joint_names]
    assert np.array(told["armature"])[columns] == pytest.approx(robot.armature, rel=SINGLE)
    still = np.zeros(robot.nv)
    bias = inverse_dynamics(robot, q, still, still)
    H = np.array([inverse_dynamics(robot, q, still, each) - bias for each in np.eye(robot.nv)]).T
    theirs = np.array(told["H"])[np.ix_(columns, columns)]
    assert np.abs(theirs - H).max() <= SINGLE * np.abs(H).max()  # armature is in it
