"""A body that flies, all joints of which are its free base: identified from the wrench that moves it, by Pinocchio."""

import numpy as np
import pytest
from evidence.stages.motion import motion

import pinocchio_adapter as adapter
import steelyard as sy
from problems import scattered
from robots import random_state, urdf
from steelyard.errors import ModelError
from steelyard.pipeline.verdicts import verdict
from steelyard.report.identification_report import headline

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


def test_a_flight_that_tells_ratios_only_says_so_and_takes_the_total_mass(tmp_path):
    """A leg on a free torso, its motion known to 1 %: the wrench on the base is zero, and says little then."""
    rng = np.random.default_rng(0)
    model = sy.library.cheetah3_leg(floating=True)
    still = {key: np.zeros(model.nv) for key in ("armature", "damping", "frictionloss")}
    model = model.with_joint_properties(**still)
    truth = model.with_inertias(scattered(model.inertias, rng))
    paths = tmp_path / "leg.urdf", tmp_path / "truth.urdf"
    for robot, path in zip((model, truth), paths, strict=True):
        sy.save(robot, path)
    engine = adapter.load(paths[1], True)
    data = engine.createData()

    def torques(q, v, a):
        return np.array([adapter.inverse_dynamics(engine, data, truth, *s) for s in zip(q, v, a, strict=True)])

    q, v, a = random_state(truth, rng, (500,))
    a[:, :6] = 0.0
    wrench = torques(q, v, a)[:, :6]
    mass = np.stack([torques(q, v, a + unit)[:, :6] - wrench for unit in np.eye(model.nv)[:6]], axis=-1)
    a[:, :6] = -np.linalg.solve(mass, wrench[..., None])[..., 0]
    tau = torques(q, v, a)
    tau[:, :6] = 0.0
    v, a, tau = (x * (1 + NOISE * rng.normal(size=x.shape)) for x in (v, a, tau))
    log = sy.Log(t=np.arange(len(q)) / 100.0, q=q, v=v, a=a, tau=tau, joint_names=model.dof_names)
    sy.write_npz(log, tmp_path / "log.npz")
    options = {"floating": True, "cutoff": 0.0, "friction": (), "armature": False, "within": "consistent"}
    lost = sy.identify(paths[0], tmp_path / "log.npz", **options)
    assert lost.estimate.status is sy.fit.Status.LOST_SCALE
    judged = verdict(lost)
    assert judged.level == "keep" and "Better" not in headline(lost, judged)
    assert any("--mass all=KG" in reason for reason in judged.words)
    total = float(truth.inertias[:, 0].sum())
    known = sy.identify(paths[0], tmp_path / "log.npz", masses={"all": total}, **options)
    fresh = random_state(truth, rng, (200,))
    test = sy.Log(t=np.arange(200) / 100.0, **dict(zip("qva", fresh, strict=True)), tau=torques(*fresh))
    test = test.replace(joint_names=model.dof_names)
    assert known.estimate.status is not sy.fit.Status.LOST_SCALE
    assert sy.validate(known.estimate, test).relative_error < 0.1 < sy.validate(model, test).relative_error
