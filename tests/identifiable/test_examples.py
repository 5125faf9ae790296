"""The examples of structural identifiability run; the locked-torso experiment shows what the paper's Table 6 does."""

import runpy
from pathlib import Path

import numpy as np
import pinocchio as pin
import pytest

import steelyard as sy
from pinocchio_trees import Twin

pytestmark = pytest.mark.claim("identifiability.published")

EXAMPLES = Path(__file__).parents[2] / "examples"


def test_table_of_a_robot(capsys):
    main = runpy.run_path(str(EXAMPLES / "20_identifiability.py"), run_name="example")["main"]
    main([])
    shown = capsys.readouterr().out
    assert "18 identifiable combinations" in shown and "a base that moves freely: 31 combinations" in shown
    main(["--floating"])
    assert "34 identifiable combinations" in capsys.readouterr().out


def test_leg_identified_on_a_locked_torso():
    """Wrong on exactly the joints that the theory names: ab/ad and hip, never the knee (paper C, Table 6)."""
    result = runpy.run_path(str(EXAMPLES / "21_locked_torso.py"), run_name="example")["run"]()
    assert result["theory"] == ("abad", "hip")
    assert result["counts"] == {"gallop": 10 + 4 * 24, "no forces": 10 + 4 * 24, "locked": 18}
    for identified in ("gallop", "no forces"):
        for validated in ("locked", "gallop"):
            assert np.abs(result[identified, validated]).max() < 1e-6
    published = np.array([1.35, 2.39, 0.0, 7.40, 20.24, 4.71, 16.31, 12.40, 61.73])
    felt = published > 0
    for norm, near in (("locked", True), ("locked, scaled", False)):
        assert np.abs(result[norm, "locked"]).max() < 1e-8
        found = result[norm, "gallop"]
        assert found[2] < 1e-8 and (found[felt] > 0.01).all()
        ratio = published[felt] / found[felt]  # of another gallop: 1.0 to 1.5 by the pseudo-inverse
        assert (ratio.min() > 0.9 and ratio.max() < 1.5) == near


def test_gallop_is_that_of_the_robot_with_its_rotors():
    """Pinocchio's bodies, rotors among them on joints of their own, need the torques and forces of the record."""
    robot = sy.library.cheetah3()
    exact = sy.simulate.walk("gallop", robot=robot, duration=0.5).exact
    q, v, a, tau = exact.require("q", "v", "a", "tau")
    twin = Twin(robot, motors=True)
    symmetric = [rotor.reading @ rotor.theta for rotor in robot.rotors]
    for k in range(0, len(q), 10):
        at = np.r_[q[k, :7], twin.E[6:, 6:] @ q[k, 7:]]
        Y = pin.computeJointTorqueRegressor(twin.model, twin.data, at, twin.E @ v[k], twin.E @ a[k])
        Y = (twin.E.T @ Y).reshape(robot.nv, -1, 10)
        parameters = zip(twin.columns, [*robot.inertias, *symmetric], strict=True)
        needed = sum(Y[:, i - 1] @ to_ours @ theta for (i, to_ours), theta in parameters)
        for foot, wrench in exact.external.items():
            frame = robot.frame(foot)
            shank = twin.ids[robot.body_joints[frame.body]]
            J = pin.computeJointJacobian(twin.model, twin.data, at, shank)
            J = pin.SE3(frame.rotation, frame.position).inverse().action @ J
            needed = needed - twin.E.T @ J.T @ wrench[k]
        np.testing.assert_allclose(needed, tau[k], atol=1e-7)


def test_flight_alone():
    """Free fall hides one combination from the wrench of the base, the common scale; joint torques show it (paper C,
    remark 10)."""
    robot = sy.library.cheetah3_leg(floating=True)
    rng = np.random.default_rng(0)
    q = rng.uniform(-1.5, 1.5, size=(300, robot.nq))
    q[:, 3:7] /= np.linalg.norm(q[:, 3:7], axis=1, keepdims=True)
    v, a = rng.normal(size=(2, 300, robot.nv)) * [[[3.0]], [[15.0]]]
    a[:, :6] = 0.0
    M = sy.inverse_dynamics_derivatives(robot, q, v, a).dtau_da
    a[:, :6] = -np.linalg.solve(M[:, :6, :6], sy.inverse_dynamics(robot, q, v, a)[:, :6, None])[..., 0]
    Y = sy.regressor(robot, q, v, a)
    most = sy.identifiability(robot).count
    assert rank(Y[:, :6]) == most - 1 and rank(Y) == most
    assert np.abs(Y[:, :6] @ robot.inertias.ravel()).max() < 1e-9


def rank(rows):
    rows = rows.reshape(-1, rows.shape[-1])
    size = np.linalg.norm(rows, axis=0)
    return np.linalg.matrix_rank(rows / np.where(size > 0, size, 1.0), tol=1e-8 * np.sqrt(len(rows)))
