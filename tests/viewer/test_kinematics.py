"""The page's own kinematics, in the browser's language, against MuJoCo and Pinocchio."""

import json
import shutil
import subprocess
from importlib.resources import files

import mujoco
import numpy as np
import pinocchio as pin
import pytest

import pinocchio_adapter
from random_robots import urdf_text
from robots import random_state
from steelyard import load
from steelyard.model import to_mujoco
from steelyard.viewer.scene import joint_tree

NODE = shutil.which("node") or shutil.which("nodejs")
pytestmark = pytest.mark.skipif(NODE is None, reason="no node on this machine: JavaScript is not run")
RUN = """
const lines = JSON.parse(require("fs").readFileSync(0, "utf8"));
console.log(JSON.stringify(lines.map(([joints, poses]) => poses.map((q) => Kinematics.worldPoses(joints, q)))));
"""
COMPOUND = """<mujoco><worldbody><body name="base" pos="0 0 1"><freejoint name="free"/><geom size=".1"/>
<body name="arm" pos="0.2 0 0.1" quat="0.9 0.1 0.3 0.2"><joint name="ball" type="ball" pos="0.02 -0.1 0.05"/>
<geom size=".1"/><body name="hand" pos="0.3 0 0"><joint name="a" axis="0 1 0" pos="0 0.1 0.2" ref="0.3"/>
<joint name="b" type="slide" axis="1 1 0"/><joint name="c" axis="1 0 2" pos="0.1 0 0"/><geom size=".1"/></body>
</body></body></worldbody></mujoco>"""


def script_poses(cases) -> list[np.ndarray]:
    """World poses (n, nj, 3, 4) of each case, a robot and q (n, nq), as the page computes them."""
    code = files("steelyard.viewer").joinpath("data", "kinematics.js").read_text("utf-8") + RUN
    text = json.dumps([[joint_tree(robot), q.tolist()] for robot, q in cases])
    done = subprocess.run([NODE, "-e", code], input=text, capture_output=True, text=True, timeout=60, check=True)
    return [
        np.array(found).reshape(len(q), -1, 3, 4) for found, (_, q) in zip(json.loads(done.stdout), cases, strict=True)
    ]


def test_trees_of_every_urdf_joint_agree_with_pinocchio(tmp_path):
    rng = np.random.default_rng(5)
    cases, models = [], []
    for k in range(8):
        path = tmp_path / f"random{k}.urdf"
        path.write_text(urdf_text(rng, links=14), "utf-8")
        robot = load(path)
        cases.append((robot, random_state(robot, rng, (3,))[0]))
        models.append(pin.buildModelFromUrdf(str(path)))
    assert {joint.kind for robot, _ in cases for joint in robot.joints} >= {"revolute", "prismatic", "planar", "free"}
    assert any(robot.mimic_names for robot, _ in cases)
    for (robot, q), model, found in zip(cases, models, script_poses(cases), strict=True):
        data = model.createData()
        for sample in range(len(q)):
            pin.forwardKinematics(model, data, pinocchio_adapter.configuration(model, robot, q[sample]))
            for i, joint in enumerate(robot.joints):
                placed = data.oMi[model.getJointId(joint.name)]
                np.testing.assert_allclose(
                    found[sample, i], np.column_stack([placed.rotation, placed.translation]), atol=1e-12
                )


def test_compound_joints_agree_with_mujoco(tmp_path):
    path = tmp_path / "compound.xml"
    path.write_text(COMPOUND, "utf-8")
    robot = load(path)
    m = mujoco.MjModel.from_xml_path(str(path))
    d = mujoco.MjData(m)
    q, v, a = random_state(robot, np.random.default_rng(1), (4,))
    qpos = to_mujoco(m, robot, q, v, a)[0]
    (found,) = script_poses([(robot, q)])
    for k in range(len(q)):
        d.qpos[:] = qpos[k]
        mujoco.mj_kinematics(m, d)
        for name, joint in zip(robot.body_names, robot.body_joints, strict=True):
            np.testing.assert_allclose(found[k, joint, :, 3], d.body(name).xpos, atol=1e-12)
            np.testing.assert_allclose(found[k, joint, :, :3].ravel(), d.body(name).xmat, atol=1e-12)
