"""What the first screen says of a model whose meshes are elsewhere."""

import numpy as np

import steelyard as sy
from robots import urdf
from steelyard.pipeline.verdicts import verdict


def test_meshes_that_were_not_found_are_the_first_reason(tmp_path):
    given = urdf("so101")
    lost = tmp_path / "arm.urdf"
    lost.write_text(given.read_text("utf-8").replace("package://", "elsewhere/"), encoding="utf-8")
    robot = sy.load(given)
    rng, t = np.random.default_rng(0), np.arange(0, 8, 0.01)
    middle, reach = 0.5 * (robot.lower + robot.upper), 0.2 * (robot.upper - robot.lower)
    w = rng.uniform(1, 4, (3, robot.nv))
    q = middle + sum(reach * np.sin(t[:, None] * each + k) for k, each in enumerate(w)) / 3
    v = sum(reach * each * np.cos(t[:, None] * each + k) for k, each in enumerate(w)) / 3
    a = -sum(reach * each**2 * np.sin(t[:, None] * each + k) for k, each in enumerate(w)) / 3
    tau = sy.inverse_dynamics(robot, q, v, a) + 0.01 * rng.normal(size=q.shape)
    log = sy.Log(t=t, q=q, v=v, a=a, tau=tau, joint_names=robot.dof_names)
    found = {path: verdict(sy.identify(path, log, within="geometry")).words for path in (given, lost)}
    assert not any("Meshes of" in reason for reason in found[given])
    assert found[lost][0].startswith("Meshes of") and "--folder DIR" in found[lost][0]
