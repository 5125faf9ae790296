"""Identification from real logs (Panda, Staubli TX40): held-out errors, physical links, files that other engines load.

The logs belong to their authors and are not part of the project; the tests skip where they are absent.
"""

import runpy
from pathlib import Path

import mujoco
import numpy as np
import pinocchio as pin
import pytest

import steelyard as sy
from robots import SHARED_DATA
from steelyard.inertia import pseudo
from steelyard.log import folds
from steelyard.model.save import save
from steelyard.pipeline import Job, prepared, run

EXAMPLE = Path(__file__).parents[2] / "examples" / "02_models_from_dh.py"
pytestmark = pytest.mark.skipif(not SHARED_DATA.is_dir(), reason="the measured logs are not part of the project")


@pytest.fixture(scope="module")
def models(tmp_path_factory):
    folder = tmp_path_factory.mktemp("models")
    make = runpy.run_path(str(EXAMPLE))["urdf_from_table"]
    paths = {}
    for name in ("panda", "tx40"):
        paths[name] = folder / f"{name}.urdf"
        paths[name].write_text(make(SHARED_DATA / "models.json", name))
    return paths


def test_panda_held_out_error(models, tmp_path):
    job = Job(model=str(models["panda"]), logs=(str(SHARED_DATA / "panda_unisa_30Hz.npz"),), validation=0.3)
    result = run(job)
    assert result.after.relative_error < 0.03
    assert result.before.relative_error > 10 * result.after.relative_error
    save(result.robot, tmp_path / "panda.urdf")
    assert_loadable(result.robot, tmp_path / "panda.urdf")


def test_tx40_blocked_cross_validation(models, tmp_path):
    robot = sy.load(models["tx40"])
    log = prepared(sy.read_log(SHARED_DATA / "tx40_100Hz.npz", robot), None)
    error, signal = 0.0, 0.0
    for train, test in folds(log, 3):
        estimate = sy.fit.consistent(sy.accumulate(robot, train, armature=True))
        assert estimate.smallest_eigenvalues.min() > 0
        validation = sy.validate(estimate, test)
        error, signal = error + (validation.error**2).sum(), signal + (validation.measured**2).sum()
    assert np.sqrt(error / signal) < 0.15
    save(estimate.robot, tmp_path / "tx40.urdf")
    assert_loadable(estimate.robot, tmp_path / "tx40.urdf")


@pytest.mark.parametrize("fit", [sy.fit.consistent, sy.fit.least_squares])
def test_tx40_coupled_wrist(models, fit):
    """40 base parameters, 18 of friction and offset, 3 of the motor that joints 5 and 6 share."""
    robot = sy.load(models["tx40"])
    raw = sy.read_log(SHARED_DATA / "tx40_100Hz.npz", robot)
    errors = []
    for coupling in (
        (),
        "joint5+joint6",
    ):  # the filter passes the shared motor's direction, too, or knows nothing of it
        log = prepared(raw, None, coupling=coupling)
        error, signal = 0.0, 0.0
        for train, test in folds(log, 3):
            info = sy.accumulate(robot, train, armature=True, coupling="joint5+joint6")
            assert info.basis.count == 61
            validation = sy.validate(fit(info), test)
            error, signal = error + (validation.error**2).sum(axis=0), signal + (validation.measured**2).sum(axis=0)
        assert np.sqrt(error.sum() / signal.sum()) < 0.09
        errors.append(np.sqrt(error / signal))
    unfiltered, filtered = errors
    assert (filtered[4:] < 0.99 * unfiltered[4:]).all()


def assert_loadable(robot, path):
    """Every link is physical, and Pinocchio and MuJoCo read the same inertias from the file."""
    assert np.linalg.eigvalsh(pseudo.to_matrix(robot.inertias)).min() > 0
    model = pin.buildModelFromUrdf(str(path))
    mj = mujoco.MjModel.from_xml_path(str(path))
    for theta, joint, body in zip(robot.inertias, robot.joint_names, robot.body_names, strict=True):
        theirs = model.inertias[model.getJointId(joint)].toDynamicParameters()
        np.testing.assert_allclose(theirs, theta, rtol=1e-9, atol=1e-12)
        assert mj.body(body).mass[0] == pytest.approx(theta[0], rel=1e-9)
