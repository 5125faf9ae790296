"""Logs of which some joints have motor currents and the others torques, under `--drive-gains`."""

import numpy as np

import steelyard as sy


def test_joints_in_newton_metres_stay_as_they_are():
    rng = np.random.default_rng(0)
    robot = sy.library.puma560()
    truth = robot.with_inertias(robot.inertias * np.exp(0.1 * rng.normal(size=(robot.nb, 1))))
    log = sy.simulate.record(truth, duration=20.0).log
    units = np.array([1.0, 12.0, 1.0, 1.0, 30.0, 1.0])
    result = sy.identify(robot, log.replace(tau=log.tau / units), drive_gains=True)
    said = next(each.what for each in result.decided if "are in N m" in each.what)
    assert not any(name in said for name in np.array(robot.dof_names)[units > 1])
    shown = [name for name, unit in zip(robot.dof_names, units, strict=True) if unit == 1 and name in said]
    assert len(shown) >= 2

    def error(model):
        q, v, a = (scale * np.random.default_rng(1).uniform(-1, 1, (400, robot.nv)) for scale in (2.0, 1.5, 4.0))
        tau, expected = (sy.inverse_dynamics(each, q, v, a) for each in (model, truth))
        return np.sqrt(np.sum((tau - expected) ** 2) / np.sum(expected**2))

    assert error(result.robot) < 0.5 * error(robot)
