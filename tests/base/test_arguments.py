"""The usual mistakes of arguments are refused in words that say what to do; none gives numbers silently."""

from functools import cached_property

import numpy as np
import pytest

import steelyard as sy
from steelyard.arguments import require_type
from steelyard.information import accumulate, accumulate_blocks


class Given:
    """What the calls below are made of, once."""

    robot = sy.library.puma560()
    zeros = np.zeros((5, 6))

    @cached_property
    def raw(self):
        return sy.simulate.record(self.robot, duration=2.0).log

    @cached_property
    def log(self):
        return sy.filters.differentiate(self.raw)

    @cached_property
    def info(self):
        return accumulate(self.robot, self.log)

    @cached_property
    def estimate(self):
        return sy.fit.least_squares(self.info)

    def arrays(self, **changed):
        return {"t": self.raw.t, "q": self.raw.q, "tau": self.raw.tau, "joint_names": self.raw.joint_names} | changed


G = Given()
ROBOT = r"steelyard\.load\(path\) makes one"
LOG = r"steelyard\.read_log\(path, robot\) makes one"
DYNAMICS = ("inverse_dynamics", "regressor", "power_regressor", "base_wrench_regressor")
REFUSED = {
    "an option of another name": (lambda: sy.identify(G.robot, G.raw, cut_off=5), "no option cut_off. Did you mean c"),
    "an option of the command line": (lambda: sy.identify(G.robot, G.raw, mass={"l": 1}), "Did you mean masses?"),
    "a log and a model": (lambda: sy.identify(G.raw, G.robot), "the model comes first"),
    "a log and a path": (lambda: sy.identify(G.raw, "arm.urdf"), "the model comes first"),
    "no model": (lambda: sy.identify(None, G.raw), "model is a Robot or str or PathLike; found None"),
    "no log": (lambda: sy.identify(G.robot, None), "A log is a path, a Log, a data frame, or arrays by name"),
    "no logs": (lambda: sy.identify(G.robot, []), "At least one log is needed"),
    "a bare array": (lambda: sy.identify(G.robot, G.raw.q), r"found something of type ndarray of shape \("),
    "a number": (lambda: sy.identify(G.robot, 5), "found 5"),
    "words for a frequency": (lambda: sy.identify(G.robot, G.raw, cutoff="fast"), "cutoff is a.*found 'fast'"),
    "a negative frequency": (lambda: sy.identify(G.robot, G.raw, cutoff=-3), "must lie above 0"),
    "degrees": (lambda: sy.identify(G.robot, G.arrays(q=np.degrees(G.raw.q))), "looks like degrees"),
    "milliseconds": (lambda: sy.identify(G.robot, G.arrays(t=1000 * G.raw.t)), "stamps look like ms"),
    "five torques": (lambda: sy.identify(G.robot, G.arrays(tau=G.raw.tau[:, :5])), "tau has 5 columns"),
    "a NaN": (lambda: sy.identify(G.robot, G.arrays(q=G.raw.q + np.eye(len(G.raw), 6) * np.nan)), "is nan at sample"),
    "a fraction of 3": (lambda: sy.identify(G.robot, G.raw, validation=3), "between 0 and 1"),
    "a folder": (lambda: sy.load("."), "is a folder; give a model file"),
    "a Robot to load": (lambda: sy.load(G.robot), "path is a str or PathLike; found something of type Robot"),
    "bytes to load": (lambda: sy.load(b"arm.urdf"), "found something of type bytes"),
    "gravity as a number": (lambda: sy.load("arm.urdf", gravity=9.81), "is missing|finite vector of 3"),
    "a path for the robot of a log": (lambda: sy.read_log("run.csv", "arm.urdf"), "robot is a Robot; found 'arm.urdf'"),
    "a robot for a log": (lambda: sy.read_log(G.robot), "A log is a path"),
    "transposed channels": (lambda: sy.Log(t=G.raw.t, q=G.raw.q.T), "pass the transpose"),
    "columns of unequal length": (lambda: sy.Log(t=G.raw.t, q=[G.raw.t[:9], *G.raw.q.T[1:]]), "array of numbers"),
    "a time step for the time": (lambda: sy.Log(t=0.002, q=G.raw.q), r"expected \(n,\)"),
    "five names of six": (lambda: sy.Log(**G.arrays(joint_names=G.raw.joint_names[:5])), "joint_names has 5 names"),
    "the same name twice": (lambda: sy.Log(**G.arrays(joint_names=("a",) * 6)), "must differ"),
    "samples in columns": (lambda: sy.inverse_dynamics(G.robot, *[np.zeros((6, 9))] * 3), "pass the transpose"),
    "rows of unequal length": (lambda: sy.inverse_dynamics(G.robot, [[0] * 6, [0]], G.zeros, G.zeros), "equally long"),
    "other samples": (lambda: sy.inverse_dynamics(G.robot, G.zeros, G.zeros[:4], G.zeros), "the same samples"),
    "no velocity": (lambda: sy.inverse_dynamics(G.robot, G.zeros, None, None), "v is an array.*found None"),
    "a log for arrays": (lambda: sy.inverse_dynamics(G.robot, *[G.log] * 3), "q is an array.*of type Log"),
    "complex numbers": (lambda: sy.inverse_dynamics(G.robot, *[G.zeros * 1j] * 3), "real numbers"),
    "a number for a pose": (lambda: sy.inverse_dynamics(G.robot, 0.0, 0.0, 0.0), "joints ordered joint1, joint2"),
    "a path and a log": (lambda: accumulate("arm.urdf", G.log), ROBOT),
    "log before robot": (lambda: accumulate(G.log, G.robot), ROBOT),
    "a path to sum": (lambda: accumulate(G.robot, "run.csv"), LOG),
    "arrays to sum": (lambda: accumulate(G.robot, G.arrays()), LOG),
    "paths to sum": (lambda: accumulate(G.robot, ["run.csv"]), LOG),
    "a log as recorded": (lambda: accumulate(G.robot, G.raw), "filters.differentiate fills"),
    "blocks of a path": (lambda: accumulate_blocks(G.robot, "run.csv"), LOG),
    "weights of a path": (lambda: sy.reversal_weights("arm.urdf", G.log), ROBOT),
    "a path to filter": (lambda: sy.filters.differentiate("run.csv"), LOG),
    "a path to split": (lambda: sy.split_blocks("run.csv"), LOG),
    "what a path can reveal": (lambda: sy.identifiability("arm.urdf"), ROBOT),
    "a fit of a log": (lambda: sy.fit.least_squares(G.log), r"accumulate\(robot, log\) makes one"),
    "a consistent fit of a log": (lambda: sy.fit.consistent(G.log), r"accumulate\(robot, log\) makes one"),
    "a path as prior": (lambda: sy.fit.consistent(G.info, prior="arm.urdf"), "prior is.*found 'arm.urdf'"),
    "intervals of one sum": (lambda: sy.fit.uncertainty(G.estimate, G.info), "blocks is a Sequence"),
    "log before model": (lambda: sy.validate(G.log, G.estimate), "first argument is a Log: the model comes first"),
    "a path to nothing": (lambda: sy.validate(G.estimate, "run.csv"), "no log at run.csv"),
    "joints in another order": (lambda: sy.validate(G.robot, G.log.select(G.log.joint_names[::-1])), "order them"),
    "path before robot": (lambda: sy.save("out.urdf", G.robot), ROBOT),
    "an Estimate to save": (lambda: sy.save(G.estimate, "out.urdf"), ROBOT),
    "inertias of five bodies": (lambda: G.robot.with_inertias(np.zeros((5, 10))), r"shape \(6, 10\)"),
    "path before log": (lambda: sy.write_csv("a.csv", G.raw), LOG),
    "a log of joints for a payload": (lambda: sy.payload.identify(G.log), "read_wrench_log"),
    "a motion of a path": (lambda: sy.excite.design("arm.urdf"), ROBOT),
    "a simulation of a path": (lambda: sy.simulate.record("arm.urdf"), ROBOT),
    "a calibration of a path": (lambda: sy.calibrate("arm.urdf", G.log), ROBOT),
    "a Robot to check": (lambda: sy.check.run(G.robot), "found something of type Robot"),
    "path before sums": (lambda: sy.save_information("sums.npz", G.info), r"accumulate\(robot, log\) makes one"),
}
REFUSED |= {f"{name} of five joints": (
    lambda name=name: getattr(sy, name)(G.robot, *[G.zeros[:, :5]] * 3), "joints ordered joint1, joint2"
) for name in DYNAMICS}  # fmt: skip
REFUSED |= {
    f"{name} of a path": (lambda name=name: getattr(sy, name)("arm.urdf", *[G.zeros] * 3), ROBOT) for name in DYNAMICS
}


@pytest.mark.parametrize("mistake", REFUSED)
def test_refused(mistake):
    call, words = REFUSED[mistake]
    with pytest.raises((sy.SteelyardError, TypeError) if "an option" in mistake else sy.SteelyardError, match=words):
        call()


@pytest.mark.parametrize("name", [*DYNAMICS, "inverse_dynamics_derivatives"])
def test_lists_and_integers(name):
    """Integers once cut inertias off to whole numbers: 9 N m where a PUMA 560 holds 37."""
    function, whole = getattr(sy, name), np.array([0, 1, 0, 1, 0, 1])
    expected = function(G.robot, *[whole.astype(float)] * 3)
    for given in (whole, whole.tolist(), tuple(whole), whole.astype(np.int8)):
        found = function(G.robot, *[given] * 3)
        if name.endswith("derivatives"):
            np.testing.assert_allclose(found.dtau_dq, expected.dtau_dq, atol=1e-12)
        else:
            np.testing.assert_allclose(found, expected)


def test_predictions_of_integers():
    """Damping and friction too were cut off."""
    robot = G.robot.with_joint_properties(damping=np.full(6, 0.4), frictionloss=np.full(6, 0.7))
    whole = np.ones((2, 6), dtype=int)
    expected = sy.inverse_dynamics(robot, *[1.0 * whole] * 3) + 0.4 + 0.7 * np.tanh(1 / 0.01)
    width = np.abs(sy.fit.predict(robot, *[whole] * 3) - sy.fit.predict(robot, *[1.0 * whole] * 3)).max()
    assert width == 0
    np.testing.assert_allclose(sy.fit.predict(robot, *[whole] * 3), expected, rtol=1e-2)


def test_validation_refuses_what_is_not_finite():
    log = G.log.replace(tau=np.where(np.arange(len(G.log))[:, None] == 3, np.nan, G.log.tau))
    with pytest.raises(sy.errors.LogError, match=r"tau of column 0 is not finite .* \(sample 3\)"):
        sy.validate(G.robot, log)


def test_one_of_several_types():
    require_type(int | None, count=None)
    with pytest.raises(sy.errors.OptionError, match="count is an int or NoneType; found text of 500 characters"):
        require_type(int | None, count="x" * 500)


def test_a_misspelt_option_of_a_record_names_the_one_that_is_meant():
    robot = sy.library.scara()
    log = sy.simulate.record(robot, duration=3.0).log
    info = sy.accumulate(robot, log)
    with pytest.raises(TypeError, match=r"consistent\(\) has no option weigth\. Did you mean weight"):
        sy.fit.consistent(info, weigth=3)
    with pytest.raises(TypeError, match=r"build\(\) has no option massses\. Did you mean masses"):
        sy.fit.build(info, massses={})
    with pytest.raises(TypeError, match=r"accumulate\(\) has no option frction\. Did you mean friction"):
        sy.accumulate(robot, log, frction=())
