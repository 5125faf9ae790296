"""Identification from real logs (Panda, TX40, UR10, KUKA): held-out errors, physical links, files others load, faults.

The logs belong to their authors and are not part of the project; the tests skip where they are absent.
"""

import runpy
from functools import partial
from pathlib import Path

import mujoco
import numpy as np
import pinocchio as pin
import pytest

import steelyard as sy
from recordings_of_arms import diagnosis_of, scaled
from robots import SHARED_DATA, urdf
from steelyard.inertia import is_realizable, pseudo
from steelyard.information import accumulate
from steelyard.log import filters, folds, split_blocks
from steelyard.model import save
from steelyard.model.bounding import bounding_ellipsoids
from steelyard.pipeline import Job
from steelyard.pipeline.identification import run
from steelyard.prepare.prepared import with_motion

EXAMPLE = Path(__file__).parents[2] / "examples" / "02_models_from_dh.py"
pytestmark = [
    pytest.mark.skipif(not SHARED_DATA.is_dir(), reason="the measured logs are not part of the project"),
    pytest.mark.claim(
        "fit.measured", "every estimator on four measured robots; the KUKA's model class is called wrong"
    ),
]


@pytest.fixture(scope="module")
def models(tmp_path_factory):
    folder = tmp_path_factory.mktemp("models")
    make = runpy.run_path(str(EXAMPLE))["urdf_from_table"]
    paths = {}
    for name in ("panda", "tx40", "ur10", "kuka_kr300"):
        paths[name] = folder / f"{name}.urdf"
        paths[name].write_text(make(SHARED_DATA / "models.json", name))
    return paths


@pytest.mark.claim(
    "pipeline.measured",
    "measured logs: Panda below 3 % held out, TX40 below 15 % without coupling, physical links that others load",
    pages=("docs/fitting.md",),
    limits="errors are of torques filtered like the motion; on unfiltered Panda torques 3.6 %",
)
def test_panda_held_out_error(models, tmp_path, record_property):
    job = Job(model=str(models["panda"]), logs=(str(SHARED_DATA / "panda_unisa_30Hz.npz"),), validation=0.3)
    result = run(job)
    record_property("Panda, %", float(100 * result.after.relative_error))
    assert result.after.relative_error < 0.03
    assert result.before.relative_error > 10 * result.after.relative_error
    save(result.robot, tmp_path / "panda.urdf")
    assert_loadable(result.robot, tmp_path / "panda.urdf")


@pytest.mark.claim("pipeline.measured")
def test_tx40_blocked_cross_validation(models, tmp_path, record_property):
    robot = sy.load(models["tx40"])
    log = with_motion(sy.read_log(SHARED_DATA / "tx40_100Hz.npz", robot), None)
    error, signal = 0.0, 0.0
    for train, test in folds(log, 3):
        estimate = sy.fit.consistent(accumulate(robot, train, armature=True))
        assert estimate.smallest_eigenvalues.min() > 0
        validation = sy.validate(estimate, test)
        error, signal = error + (validation.error**2).sum(), signal + (validation.measured**2).sum()
    record_property("TX40, %", float(100 * np.sqrt(error / signal)))
    assert np.sqrt(error / signal) < 0.15
    save(estimate.robot, tmp_path / "tx40.urdf")
    assert_loadable(estimate.robot, tmp_path / "tx40.urdf")


def test_ur10_mass_inside_its_meshes():
    """The bound costs no accuracy on held-out samples of a real arm, and rules out what cannot be."""
    robot = sy.load(urdf("ur10_robot"))
    train, test = split_blocks(
        with_motion(sy.read_log(SHARED_DATA / "ur10_unisa_125Hz.npz", robot), None), validation=0.3
    )
    info = accumulate(robot, train, armature=True)
    free, held = (sy.fit.consistent(info, within=within) for within in ("consistent", "geometry"))
    errors = [sy.validate(estimate, test).relative_error for estimate in (free, held)]
    assert errors[1] < 1.03 * errors[0] < 0.1
    ellipsoids = bounding_ellipsoids(robot)[0]
    inside = [[bool(is_realizable(e.theta[i], ellipsoids[n])) for i, n in enumerate(ellipsoids)] for e in (free, held)]
    assert len(inside[1]) == 6 and all(inside[1]) and not all(inside[0])


@pytest.mark.claim("information.coupled", "TX40 with a coupled wrist: rank 61, at most 9.5 %")
@pytest.mark.exhaustive(keep=1)
@pytest.mark.parametrize("fit", [sy.fit.consistent, sy.fit.least_squares])
def test_tx40_coupled_wrist(models, fit, record_property):
    """40 base parameters, 18 of friction and offset, 3 of the motor that joints 5 and 6 share."""
    robot = sy.load(models["tx40"])
    raw = sy.read_log(SHARED_DATA / "tx40_100Hz.npz", robot)
    errors = []
    for coupling in (
        (),
        "joint5+joint6",
    ):  # the filter passes the shared motor's direction, too, or knows nothing of it
        log = with_motion(raw, None, coupling=coupling)
        error, signal = 0.0, 0.0
        for train, test in folds(log, 3):
            info = accumulate(robot, train, armature=True, coupling="joint5+joint6")
            assert info.basis.count == 61
            validation = sy.validate(fit(info), test)
            error, signal = error + (validation.error**2).sum(axis=0), signal + (validation.measured**2).sum(axis=0)
        whole = np.sqrt(error.sum() / signal.sum())
        record_property("TX40 with coupling, %", float(100 * whole))
        assert whole < 0.09
        errors.append(np.sqrt(error / signal))
    unfiltered, filtered = errors
    assert (filtered[4:] < 0.99 * unfiltered[4:]).all()


LOGS = {
    "panda": "panda_unisa_30Hz",
    "tx40": "tx40_100Hz",
    "ur10": "ur10_unisa_125Hz",
    "kuka_kr300": "kuka_kr300_A",
}
FOUND = {
    "panda": [],
    "tx40": [("coupled_joints", "joint5")],  # joints 5 and 6 share a motor
    "ur10": [],
    "kuka_kr300": [("model_class", None)],  # a gravity compensator and drive-side torques that the model lacks
}


@pytest.mark.exhaustive(keep=1)
@pytest.mark.parametrize("name", LOGS)
def test_faults_of_measured_logs_are_those_they_have(name, models):
    result = run(Job(model=str(models[name]), logs=(str(SHARED_DATA / f"{LOGS[name]}.npz"),)))
    assert [(fault.code, fault.joint) for fault in result.diagnosis.faults] == FOUND[name]
    if name == "tx40":
        assert "joint6" in result.diagnosis.faults[0].message


MISTAKES = {
    "gravity": lambda log: log,
    "torque_sign": lambda log: scaled(log, tau={1: -1.0}),
    "position_sign": lambda log: scaled(log, q={1: -1.0}),
    "torque_sign_all": lambda log: log.replace(tau=-log.tau),
    "torque_scale": lambda log: scaled(log, tau={2: 1.3}),
    "delay": lambda log: log.replace(tau=np.stack([np.interp(log.t - 0.015, log.t, tau) for tau in log.tau.T], axis=1)),
    "degrees": lambda log: log.replace(q=np.degrees(log.q), v=None),
}


@pytest.mark.exhaustive(keep=2)
@pytest.mark.parametrize(("name", "code"), [*(("ur10", c) for c in MISTAKES), ("panda", "delay"), ("tx40", "gravity")])
def test_mistakes_made_with_measured_logs_are_named(name, code, models):
    robot = sy.load(models[name], gravity=(0, 0, 9.81) if code == "gravity" else None)
    log = sy.read_log(SHARED_DATA / f"{LOGS[name]}.npz", robot)
    log = MISTAKES[code](filters.restamp(log) if name == "panda" else log)
    fault = diagnosis_of(robot, log.replace(v=None)).faults[0]
    assert fault.code == code
    if code in ("torque_sign", "position_sign", "torque_scale"):
        # of joints 2 and 3 these motions do not tell whose torque is in another unit: both are named
        assert f"joint{3 if code == 'torque_scale' else 2}" in fault.message
    if code == "delay":
        assert fault.joint is None and fault.evidence["delay_ms"] == pytest.approx(15, abs=2)


@pytest.mark.exhaustive(keep=1)
@pytest.mark.parametrize(
    ("name", "file", "columns"),
    [
        ("panda", "panda_unisa_30Hz", {}),
        ("tx40", "tx40_100Hz", {"coupling": (("joint5", "joint6"),)}),
        ("ur10", "ur10_unisa_125Hz", {}),
    ],
)
def test_samples_near_standstill_are_worth_less(models, name, file, columns):
    """Why `identify` gives them less weight: blocked cross-validation of the consistent fit."""
    robot = sy.load(models[name])
    log = with_motion(sy.read_log(SHARED_DATA / f"{file}.npz", robot), None)
    energy = {None: 0.0, partial(sy.reversal_weights, robot): 0.0}
    for train, test in folds(log, 3):
        for weights in energy:
            info = accumulate(robot, train, armature=True, sample_weights=weights, **columns)
            energy[weights] += np.sum(sy.validate(sy.fit.consistent(info), test).error ** 2)
    alike, less = energy.values()
    assert less < alike


@pytest.mark.exhaustive
def test_ur10_friction_grows_with_load(models):
    robot = sy.load(models["ur10"])
    log = with_motion(sy.read_log(SHARED_DATA / "ur10_unisa_125Hz.npz", robot), None)
    friction = ("viscous", "coulomb", "offset")
    plain, load = (sy.accumulate(robot, log, friction=each, nuisances=()) for each in (friction, (*friction, "load")))
    found = sy.fit.posterior(load)
    assert found.evidence > sy.fit.posterior(plain).evidence + 10
    shares = {each.name: x for each, x in zip(found.layout.extras, found.extras, strict=True)}
    assert 0.03 < shares["joint2.load"] < 0.08 and 0.01 < shares["joint3.load"] < 0.04


def assert_loadable(robot, path):
    """Every link is physical, and Pinocchio and MuJoCo read the same inertias from the file."""
    assert np.linalg.eigvalsh(pseudo.to_matrix(robot.inertias)).min() > 0
    model = pin.buildModelFromUrdf(str(path))
    mj = mujoco.MjModel.from_xml_path(str(path))
    for theta, joint, body in zip(robot.inertias, robot.joint_names, robot.body_names, strict=True):
        theirs = model.inertias[model.getJointId(joint)].toDynamicParameters()
        np.testing.assert_allclose(theirs, theta, rtol=1e-9, atol=1e-12)
        assert mj.body(body).mass[0] == pytest.approx(theta[0], rel=1e-9)
