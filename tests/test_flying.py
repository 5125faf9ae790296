"""A body that flies, all joints of which are its free base: identified from the wrench that moves it, by Pinocchio."""

import numpy as np
import pytest
from conformance.motion import motion

import pinocchio_adapter as adapter
import steelyard as sy
from robots import urdf
from steelyard.errors import ModelError

NOISE = 0.01  # of the wrench


def test_a_quadrotor_from_files_to_files(tmp_path):
    model, rate = urdf("iris_simple"), 100.0
    with pytest.raises(ModelError, match="wrench of all thrusts"):
        sy.load(model)
    robot = sy.load(model, floating=True)
    truth = robot.with_inertias(1.3 * robot.inertias)
    moved = tmp_path / "heavier.urdf"
    sy.save(truth, moved)
    engine = adapter.load(moved, True)
    data, t = engine.createData(), np.arange(600) / rate
    q, v, a = motion(robot, duration=6.0, seed=1).evaluate(t)
    wrench = np.array([adapter.inverse_dynamics(engine, data, robot, *state) for state in zip(q, v, a, strict=True)])
    noise = np.random.default_rng(0).normal(size=wrench.shape) * np.sqrt(np.mean(wrench**2, axis=0))
    log = sy.Log(t=t, q=q, v=v, a=a, tau=wrench + NOISE * noise, joint_names=robot.dof_names)
    result = sy.identify(
        model, sy.write_npz(log, tmp_path / "log.npz"), floating=True, cutoff=0.0, out=tmp_path / "out"
    )
    assert result.after.relative_error < 1.2 * NOISE < result.before.relative_error
    written = sy.load(tmp_path / "out" / "iris_simple_identified.urdf", floating=True)
    np.testing.assert_allclose(written.inertias[0, [0, 4, 6, 9]], truth.inertias[0, [0, 4, 6, 9]], rtol=0.02)
