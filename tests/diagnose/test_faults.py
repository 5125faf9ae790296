"""Deliberate mistakes are named, with the figures that were put in; recordings without one raise no finding."""

import numpy as np
import pytest

import steelyard as sy
from recordings_of_arms import ARMS, PAYLOAD, arm, diagnosis_of, late, recorded, scaled, with_gravity
from steelyard.log.filters import differentiate
from steelyard.simulate import Sensors, record, rich_motion

pytestmark = pytest.mark.claim(
    "fit.faults",
    "deliberate faults are diagnosed by name",
    pages=("docs/diagnosis.md",),
    short="not found: one wrist joint late on UR10 and Panda, and a scale where a joint feels friction only",
)

LATE = 0.015  # s


def named(diagnosis):
    return [(fault.code, fault.joint) for fault in diagnosis.faults]


@pytest.mark.exhaustive(keep=1)
@pytest.mark.parametrize("seed", [0, 1, 2])
@pytest.mark.parametrize("name", ARMS)
def test_clean_recordings_raise_no_finding(name, seed):
    robot, rng = arm(name), np.random.default_rng(seed)
    given = robot.with_inertias(robot.inertias * rng.uniform(0.8, 1.25, size=(robot.nb, 1)))
    for model in (robot, given):
        diagnosis = diagnosis_of(model, recorded(name, seed=seed))
        assert named(diagnosis) == [] and diagnosis.hints == ()


@pytest.mark.exhaustive(keep=1)
@pytest.mark.parametrize("name", ARMS)
def test_gravity_upside_down(name):
    (fault,) = diagnosis_of(with_gravity(arm(name), [0, 0, 9.81]), recorded(name)).faults
    assert fault.code == "gravity" and "--gravity 0 0 -9.81" in fault.message and "wrong sign" in fault.message
    assert fault.evidence["relative_error"] > 5 * fault.evidence["relative_error_undone"]


@pytest.mark.exhaustive(keep=1)
@pytest.mark.parametrize(("name", "seed"), [("puma560", 1), ("panda", 2)])
def test_gravity_along_another_axis(name, seed):
    (fault,) = diagnosis_of(with_gravity(arm(name), [9.81, 0, 0]), recorded(name, seed=seed)).faults
    assert fault.code == "gravity" and "--gravity 0 0 -9.81" in fault.message and "another axis" in fault.message


@pytest.mark.exhaustive(keep=1)
@pytest.mark.parametrize(("name", "seed"), [("puma560", 2), ("panda", 1)])
def test_all_torques_late(name, seed):
    (fault,) = diagnosis_of(arm(name), recorded(name, seed=seed, delay=LATE)).faults
    assert (fault.code, fault.joint) == ("delay", None) and "later" in fault.message
    assert fault.evidence["delay_ms"] == pytest.approx(1000 * LATE, abs=0.7)


@pytest.mark.exhaustive(keep=1)
@pytest.mark.parametrize(("name", "joint", "delay"), [("puma560", 1, LATE), ("panda", 1, -LATE), ("panda", 3, 0.03)])
def test_torque_of_one_joint_late_or_early(name, joint, delay):
    (fault,) = diagnosis_of(arm(name), late(recorded(name), joint, delay)).faults
    assert (fault.code, fault.joint) == ("delay", arm(name).dof_names[joint])
    assert fault.evidence["delay_ms"] == pytest.approx(1000 * delay, abs=1.0)


@pytest.mark.exhaustive(keep=1)
@pytest.mark.parametrize(
    ("name", "joint", "seed"), [("puma560", 0, 0), ("panda", 1, 1), ("puma560", 5, 2), ("panda", 6, 0)]
)
def test_torque_sign_of_one_joint(name, joint, seed):
    diagnosis = diagnosis_of(arm(name), scaled(recorded(name, seed=seed), tau={joint: -1.0}))
    assert named(diagnosis) == [("torque_sign", arm(name).dof_names[joint])]


@pytest.mark.exhaustive(keep=1)
@pytest.mark.parametrize("name", ARMS)
def test_every_torque_sign(name):
    log = recorded(name)
    assert named(diagnosis_of(arm(name), log.replace(tau=-log.tau))) == [("torque_sign_all", None)]


@pytest.mark.exhaustive(keep=1)
@pytest.mark.parametrize(("name", "joint"), [("puma560", 1), ("panda", 3)])
def test_position_sign_and_direction_of_a_joint(name, joint):
    flipped = scaled(recorded(name, seed=1), q={joint: -1.0})
    assert named(diagnosis_of(arm(name), flipped)) == [("position_sign", arm(name).dof_names[joint])]
    turned = scaled(flipped, tau={joint: -1.0})
    assert named(diagnosis_of(arm(name), turned)) == [("joint_direction", arm(name).dof_names[joint])]


@pytest.mark.exhaustive(keep=1)
@pytest.mark.parametrize(("name", "seed"), [("puma560", 0), ("puma560", 3), ("panda", 1)])
def test_payload_that_the_model_does_not_have(name, seed):
    robot = arm(name)
    (fault,) = diagnosis_of(robot, recorded(name, seed=seed, payload=True)).faults
    assert fault.code == "payload" and robot.body_names[-1] in fault.message
    assert fault.evidence["mass_kg"] == pytest.approx(2.0, rel=0.02)
    centre = [fault.evidence[key] for key in ("x_m", "y_m", "z_m")]
    np.testing.assert_allclose(centre, [0.0, 0.02, 0.1], atol=0.005)


def test_payload_beside_a_given_model_that_is_ten_percent_off():
    rng = np.random.default_rng(5)
    given = arm("panda").with_inertias(arm("panda").inertias * rng.uniform(0.9, 1.1, size=(7, 1)))
    (fault,) = diagnosis_of(given, recorded("panda", seed=1, payload=True)).faults
    assert fault.code == "payload" and fault.evidence["mass_kg"] == pytest.approx(2.0, rel=0.15)


@pytest.mark.exhaustive(keep=1)
@pytest.mark.parametrize("name", ARMS)
def test_a_part_of_the_model_that_the_robot_does_not_have(name):
    log = recorded(name)
    theta = arm(name).inertias.copy()
    theta[-1] += PAYLOAD
    (fault,) = diagnosis_of(arm(name).with_inertias(theta), log).faults
    assert fault.code == "missing_mass" and fault.evidence["mass_kg"] == pytest.approx(-2.0, rel=0.02)


@pytest.mark.exhaustive(keep=1)
@pytest.mark.parametrize("name", ARMS)
def test_degrees(name):
    log = recorded(name)
    faults = diagnosis_of(arm(name), log.replace(q=np.degrees(log.q))).faults
    assert faults[0].code == "degrees" and 'units={"q": "deg"}' in faults[0].message


@pytest.mark.exhaustive(keep=1)
@pytest.mark.parametrize("name", ARMS)
def test_newton_millimetres(name):
    log = recorded(name)
    (fault,) = diagnosis_of(arm(name), log.replace(tau=1000 * log.tau)).faults
    assert fault.code == "torque_unit" and fault.evidence["factor"] == pytest.approx(1000, rel=0.01)


@pytest.mark.exhaustive(keep=1)
@pytest.mark.parametrize(("name", "one", "other", "ratio"), [("puma560", 4, 5, 1.0), ("panda", 5, 6, -1.0)])
def test_coupled_joints(name, one, other, ratio):
    robot, log = arm(name), recorded(name)
    v = np.gradient(log.q, log.t, axis=0)
    speed = v[:, one] + ratio * v[:, other]
    shared = 0.4 * speed + 0.5 * np.tanh(speed / 0.05)
    tau = log.tau.copy()
    tau[:, one] += shared
    tau[:, other] += ratio * shared
    log = log.replace(tau=tau)
    (fault,) = diagnosis_of(robot, log).faults
    names = robot.dof_names[one], robot.dof_names[other]
    assert (fault.code, fault.joint) == ("coupled_joints", names[0]) and names[1] in fault.message
    assert fault.evidence["ratio"] == ratio
    assert diagnosis_of(robot, log, coupling=({names[0]: 1.0, names[1]: ratio},)).faults == ()


@pytest.mark.exhaustive
def test_two_mistakes_at_once_are_both_named():
    log = late(scaled(recorded("panda"), tau={1: -1.0}), 2, 0.02)
    faults = diagnosis_of(arm("panda"), log).faults
    assert [(f.code, f.joint) for f in faults] == [("torque_sign", "panda_joint2"), ("delay", "panda_joint3")]
    assert faults[1].evidence["delay_ms"] == pytest.approx(20.0, abs=1.0)


def test_a_spring_that_no_column_has_is_no_rigid_body():
    """A nonlinear spring has no name here: the physics that is missing is reported, with what the residual follows."""
    log = recorded("puma560", seed=2)
    tau = log.tau.copy()
    tau[:, 1] += 40 * np.sin(3 * log.q[:, 1])
    diagnosis = diagnosis_of(arm("puma560"), log.replace(tau=tau))
    (fault,) = diagnosis.faults
    assert fault.code in ("model_class", "not_physical")
    assert fault.evidence["relative_error"] > 3 * fault.evidence["relative_error_free"]
    assert "of the residual variance of joint2 correlates with its position" in fault.message
    assert max(diagnosis.residuals[1].depends.items(), key=lambda item: item[1].share)[0] == "position"


GRIPPER = """<mujoco><worldbody>{}</worldbody></mujoco>"""
FINGER = """<body name="{0}"><inertial pos="0 0 0" mass="0.03" diaginertia="1e-5 1e-5 1e-5"/>
<joint name="{0}" type="slide" axis="0 1 0" range="-0.02 0.02" damping="100" armature="1" frictionloss="1"/></body>"""


def test_drives_that_outweigh_their_links_are_no_other_unit(tmp_path):
    """A gripper: its torques say nothing of fingers, whose mass by any factor explains them as well."""
    (tmp_path / "gripper.xml").write_text(GRIPPER.format(FINGER.format("left") + FINGER.format("right")))
    robot = sy.load(tmp_path / "gripper.xml")
    log = differentiate(
        record(robot, rich_motion(robot, duration=10.0, seed=1), sensors=Sensors(torque_noise=0.01)).log
    )
    assert "torque_unit" not in [code for code, _ in named(diagnosis_of(robot, log))]
