"""A payload felt by the joints of a simulated Panda: mass within 2 %, centre within 5 mm, intervals that cover."""

import re
from dataclasses import replace

import numpy as np
import pytest

import steelyard as sy
from robots import urdf
from steelyard import simulate
from steelyard.errors import FitError, LogError
from steelyard.inertia import parameters
from steelyard.information import accumulate
from steelyard.payload import Status, errors, identify_from_torques, solid_of
from steelyard.payload.from_torques import carried_information

pytestmark = pytest.mark.claim(
    "payload.torques", "a payload from joint torques alone: mass within 2 %, centre within 5 mm, intervals cover"
)

COM = np.array([0.03, -0.02, 0.08])
THETA = parameters.from_com_inertia(1.5, COM, np.diag([4e-3, 5e-3, 3e-3]))
FRAME = "panda_link7"


@pytest.fixture(scope="module")
def panda(tmp_path_factory):
    text = re.sub(r"<mimic[^>]*/>", "", urdf("panda").read_text().replace('type="prismatic"', 'type="fixed"'))
    path = tmp_path_factory.mktemp("panda") / "panda.urdf"
    path.write_text(text)
    return sy.load(path)


def recorded(arm, theta, seed):
    inertias = arm.inertias.copy()
    inertias[arm.body_names.index(FRAME)] += theta
    sensors = simulate.Sensors(rate=250.0, torque_noise=0.02)
    log = simulate.record(arm.with_inertias(inertias), duration=8.0, seed=seed, sensors=sensors).log
    return sy.filters.differentiate(log, cutoff=10.0)


@pytest.fixture(scope="module")
def logs(panda):
    return [recorded(panda, THETA, seed) for seed in range(3)]


def test_mass_centre_and_intervals(panda, logs, record_property):
    for log in logs:
        found = identify_from_torques(panda, log, frame=FRAME)
        record_property("mass, %", float(100 * abs(found.mass / 1.5 - 1)))
        record_property("centre, mm", float(1000 * np.linalg.norm(found.com - COM)))
        assert found.mass == pytest.approx(1.5, rel=0.005) and found.status is Status.OK
        assert np.abs(found.com - COM).max() < 1e-3
        assert abs(found.mass - 1.5) < 4 * found.mass_deviation < 0.02
        assert (np.abs(found.com - COM) < 4 * found.com_deviation).all() and found.com_deviation.max() < 1e-3
        assert "joint by joint" in found.summary()


def test_the_two_informations_of_an_arm_that_is_not_quite_known(panda, logs):
    """An arm whose last link is 0.3 kg heavier than its model: the empty run takes that off."""
    wrong = panda.inertias.copy()
    wrong[panda.body_names.index(FRAME)] -= 0.2 * wrong[panda.body_names.index(FRAME)]
    model = panda.with_inertias(wrong)
    empty = recorded(panda, np.zeros(10), 7)
    alone = identify_from_torques(model, logs[0], frame=FRAME)
    both = identify_from_torques(
        model,
        carried_information(model, logs[0]),
        without=carried_information(model, empty),
        frame=FRAME,
    )
    assert abs(both.mass - 1.5) < 0.01 < 0.03 < abs(alone.mass - 1.5)
    assert np.abs(both.com - COM).max() < 2e-3


def test_a_light_load_takes_a_pair_of_runs():
    """0.1 kg at the wrist of an arm whose model lacks friction near standstill and by posture, as a cable makes it."""
    arm, com = sy.library.puma560(), np.array([0.0, 0.0, 0.06])
    held = parameters.from_com_inertia(0.1, com, 1e-5 * np.eye(3))
    size, rng = np.array([1.5, 2.0, 1.5, 0.3, 0.3, 0.3]), np.random.default_rng(0)

    def run(theta, seed):
        inertias = arm.inertias.copy()
        inertias[-1] += theta
        sensors = simulate.Sensors(rate=250.0, torque_noise=0.02)
        log = simulate.record(arm.with_inertias(inertias), duration=8.0, seed=seed, sensors=sensors).log
        v = np.gradient(log.q, log.t, axis=0)
        lacking = size * (0.6 * np.tanh(v / 0.01) - 0.5 * np.tanh(v / 0.3) + 0.5 * np.sin(log.q))
        tau = log.tau + lacking + 0.01 * rng.normal(size=log.tau.shape)
        return sy.filters.differentiate(log.replace(tau=tau), cutoff=10.0)

    loaded, empty = run(held, 3), run(0 * held, 3)
    alone = identify_from_torques(arm, loaded)
    assert np.linalg.norm(alone.com - com) > 0.03 and abs(alone.mass / 0.1 - 1) > 0.04
    for shifted in (empty, empty[25:].replace(t=empty.t[25:] - 0.7)):
        both = identify_from_torques(arm, loaded, without=shifted)
        assert abs(both.mass - 0.1) < 5e-4 and np.abs(both.com - com).max() < 1e-3
        assert both.status is Status.WEAK and any("sample by sample" in note for note in both.notes)
    other = identify_from_torques(arm, loaded, without=run(0 * held, 4))
    assert not any("sample by sample" in note for note in other.notes)


def test_the_noise_of_both_runs_counts(panda, logs):
    """Errors over their stated deviations, with the empty runs of a model that is right: about one. Where the empty
    run's noise is left out they are too large."""
    found = [
        identify_from_torques(panda, log, without=recorded(panda, np.zeros(10), 20 + k), frame=FRAME)
        for k, log in enumerate(logs)
    ]
    alone = identify_from_torques(panda, logs[0], frame=FRAME)
    off = np.array([(each.com - COM) / each.com_deviation for each in found])
    assert np.sqrt(np.mean(off**2)) < 2
    assert 1.2 < found[0].com_deviation.max() / alone.com_deviation.max() < 2.2  # two runs of the same length: sqrt(2)


def test_a_shape_sharpens_the_inertia(panda, logs):
    solid = solid_of(COM + np.array(np.meshgrid([-0.1, 0.1], [-0.08, 0.08], [-0.1, 0.1])).reshape(3, -1).T)
    found = identify_from_torques(panda, logs[0], frame=FRAME, shape=solid)
    assert found.method == "density" and found.consistent
    assert errors(found.theta, THETA, solid.sides).com < 1.0


def test_another_link_is_another_frame(panda, logs):
    hand = identify_from_torques(panda, logs[0], frame="panda_hand")
    link = next(link for link in panda.links if link.name == "panda_hand")
    np.testing.assert_allclose(link.rotation @ hand.com + link.position, COM, atol=1e-3)


def test_refused(panda, logs):
    with pytest.raises(FitError, match="Is anything held"):
        light = recorded(panda, -0.3 * THETA / 1.5, 3)
        identify_from_torques(panda, light, frame=FRAME)
    with pytest.raises(LogError, match="carried_information"):
        identify_from_torques(panda, accumulate(panda, logs[0]), frame=FRAME)


@pytest.mark.exhaustive(keep=1)
@pytest.mark.parametrize("seed", range(30, 34))
def test_an_empty_hand_weighs_nothing_within_its_interval(panda, seed):
    found = identify_from_torques(panda, recorded(panda, 0 * THETA, seed), frame=FRAME)
    assert found.status in (Status.FAINT, Status.NOT_EXPLAINED) and not found.status.usable
    assert abs(found.mass) < 4 * np.sqrt(found.covariance[0, 0]) and abs(found.mass) < 0.1


def test_a_base_that_leans_is_named(panda, logs):
    """Gravity pulls at the arm, too; the remedy is the truth."""
    a = np.radians(20)
    arm = replace(panda, gravity=9.81 * np.array([np.sin(a), 0.0, -np.cos(a)]))
    found = identify_from_torques(arm, logs[0], frame=FRAME)
    assert found.status is Status.SUSPECT and not found.status.usable
    assert "gravity points 20 degrees away from what was given" in found.findings[0]


def test_a_torque_of_the_wrong_sign_is_no_result(panda, logs):
    tau = logs[0].tau.copy()
    tau[:, 1] *= -1
    found = identify_from_torques(panda, logs[0].replace(tau=tau), frame=FRAME)
    assert found.status is Status.NOT_EXPLAINED and not found.status.usable
    assert "of the torque that the arm's model does not explain" in found.findings[0]


def test_torques_of_another_scale_are_named(panda, logs):
    found = identify_from_torques(panda, logs[0].replace(tau=1.5 * logs[0].tau), frame=FRAME)
    assert found.status is Status.SUSPECT and "torques are 1.5 times" in found.findings[0], found.findings


def test_torques_of_another_time_show_no_mass(panda, logs):
    with pytest.raises(FitError, match="Is anything held"):
        late = logs[0].replace(tau=np.roll(logs[0].tau, -125, axis=0))
        identify_from_torques(panda, late, frame=FRAME)


def test_a_mass_that_turns_about_a_fixed_point_is_undetermined(tmp_path):
    """Of a load on two axes that meet in its frame's origin, joint torques show no mass."""
    import pinocchio

    inertial = '<inertial><mass value="1"/><inertia ixx=".01" iyy=".01" izz=".01" ixy="0" ixz="0" iyz="0"/></inertial>'
    joint = '<joint name="j{0}" type="revolute"><parent link="{1}"/><child link="{2}"/><axis xyz="{3}"/>'
    joint += '<limit lower="-3" upper="3" effort="50" velocity="5"/></joint>'
    links = f'<link name="base"/><link name="a">{inertial}</link><link name="b">{inertial}</link>'
    joints = joint.format(1, "base", "a", "0 0 1") + joint.format(2, "a", "b", "0 1 0")
    (tmp_path / "gimbal.urdf").write_text(f'<robot name="gimbal">{links}{joints}</robot>')
    model = pinocchio.buildModelFromUrdf(str(tmp_path / "gimbal.urdf"))
    model.inertias[2] += pinocchio.Inertia(0.8, np.array([0.03, 0.02, 0.15]), 2e-3 * np.eye(3))
    t = np.arange(0.0, 10.0, 0.01)
    phase = np.stack([1.3 * t, 1.7 * t + 0.4], axis=1)
    q, v, a = np.sin(phase), [1.3, 1.7] * np.cos(phase), -np.square([1.3, 1.7]) * np.sin(phase)
    tau = np.array([pinocchio.rnea(model, model.createData(), *state) for state in zip(q, v, a, strict=True)])
    tau += 0.02 * np.random.default_rng(0).normal(size=tau.shape)
    log = sy.Log(t=t, q=q, v=v, a=a, tau=tau, joint_names=("j1", "j2"))
    with pytest.raises(FitError, match="the mass of a load on b is not identifiable from these torques"):
        identify_from_torques(sy.load(tmp_path / "gimbal.urdf"), log)
