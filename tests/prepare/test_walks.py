"""Logs of a quadruped that walks, slips, sinks and lies: what its flags of contact have wrong is named."""

from dataclasses import replace

import mujoco
import numpy as np
import pinocchio as pin
import pytest

import pinocchio_adapter as adapter
import steelyard as sy
import walks
from steelyard.errors import LogError, ModelError, OptionError
from steelyard.log import filters
from steelyard.log.free_base import convention_of, from_convention
from steelyard.model import mjcf_text
from steelyard.prepare import prepare
from steelyard.prepare.contact_checks import contact_faults
from steelyard.prepare.contact_flags import in_steady_contact, with_contacts
from steelyard.spatial import rotation_from_quaternion

CUTOFF = 20.0
ALL = ("trot", "walk", "bound")
FOUND = ("contact_late", "contact_in_flight", "contact_never", "contact_missing", "contact_slip", "contact_soft")


def walked(gait, duration=8.0, **options):
    return walks.walk(gait, duration=duration, **options)


def faults(walk, log=None):
    """Codes of findings, and what they say."""
    log = filters.differentiate(walk.log if log is None else log, cutoff=CUTOFF)
    return {finding.code: finding.message for finding in contact_faults(walk.nominal, log)}


@pytest.mark.exhaustive(keep=2)
@pytest.mark.parametrize("gait", [*ALL, "stance"])
def test_it_walks_and_obeys_the_equation_of_motion(gait):
    walk = walked(gait)
    q, v, a, tau = walk.exact.require("q", "v", "a", "tau")
    assert rotation_from_quaternion(q[:, 3:7])[:, 2, 2].min() > 0.85 and q[:, 2].min() > 0.2
    assert gait == "stance" or q[-1, 0] > 0.3
    found = sy.inverse_dynamics(walk.true, q, v, a, external=walk.exact.external)
    assert np.abs(found - tau).max() < 1e-3 * walks.WalkNoise().torque
    assert not tau[:, :6].any()
    wrong = {foot: -wrench for foot, wrench in walk.exact.external.items()}
    assert np.abs(sy.inverse_dynamics(walk.true, q, v, a, external=wrong) - tau).max() > 10
    model = adapter.load(walk.true.source.path, floating=True)
    data, E = model.createData(), adapter.velocity_map(model, walk.true)
    model.armature = E @ walk.true.armature
    for k in range(0, len(q), 997):
        there = adapter.configuration(model, walk.true, q[k])
        forces = [pin.Force.Zero() for _ in range(model.njoints)]
        for foot, wrench in walk.exact.external.items():
            frame = model.frames[model.getFrameId(foot)]
            forces[frame.parentJoint] += frame.placement.act(pin.Force(wrench[k]))
        np.testing.assert_allclose(
            E.T @ pin.rnea(model, data, there, E @ v[k], E @ a[k], forces), tau[k], atol=1e-3 * walks.WalkNoise().torque
        )


def test_the_same_seed_gives_the_same_walk():
    one, same, other = (sy.simulate.walk("trot", duration=2.0, seed=seed) for seed in (0, 0, 1))
    np.testing.assert_array_equal(one.log.q, same.log.q)
    assert np.any(other.log.q != one.log.q)


@pytest.mark.exhaustive(keep=2)
@pytest.mark.parametrize("options", [{}, {"seed": 4}, {"slope": 0.1}, {"payload": 4.0}, {"radius": 0.022}])
@pytest.mark.parametrize("gait", ALL)
def test_clean_walks_have_no_findings(gait, options):
    assert faults(walked(gait, **options)) == {}


def test_standing_has_no_findings():
    assert faults(walked("stance")) == {}


@pytest.mark.exhaustive(keep=3)
@pytest.mark.parametrize("samples", [6, 10, 20])
@pytest.mark.parametrize("gait", ALL)
def test_late_flags_are_named_with_their_samples(gait, samples):
    walk = walked(gait)
    found = faults(walk, walks.with_late_flags(walk.log, samples))
    assert set(found) == {"contact_late"}
    said = int(found["contact_late"].split("about ")[1].split()[0])
    assert abs(said - samples) <= 2 and "too late" in found["contact_late"]


def test_early_flags_are_named():
    walk = walked("trot")
    assert "too early" in faults(walk, walks.with_late_flags(walk.log, -12))["contact_late"]


@pytest.mark.exhaustive(keep=1)
@pytest.mark.parametrize("gait", ALL)
def test_flags_that_contradict_the_motion_are_named(gait):
    walk = walked(gait)
    flag = walk.log.contacts["FL_foot"]
    for wrong, code in (
        (1 - flag, "contact_in_flight"),
        (np.ones_like(flag), "contact_in_flight"),
        (np.zeros_like(flag), "contact_never"),
        (None, "contact_missing"),
    ):
        found = faults(walk, walks.with_flag(walk.log, "FL_foot", wrong))
        assert set(found) == {code} and "FL_foot" in found[code] and "FR_foot" not in found[code]


@pytest.mark.exhaustive(keep=1)
@pytest.mark.parametrize("gait", ALL)
def test_slip_and_soft_ground_are_named(gait):
    assert set(faults(walked(gait, friction=0.1))) == {"contact_slip"}
    soft = set(faults(walked(gait, softness=0.1)))
    assert "contact_soft" in soft and soft <= {"contact_soft", "contact_slip"}


def test_samples_in_doubt_are_left_out_and_counted():
    walk = walked("walk", friction=0.1)
    log = filters.differentiate(walk.log, cutoff=30.0)
    kept = in_steady_contact(walk.nominal, log, 30.0)
    assert 0 < len(kept) < len(log)
    assert "left out within 3 samples of a change of flags" in kept.notes[-1]
    for foot, flag in kept.contacts.items():
        v = sy.frame_velocity(walk.nominal, kept.q, kept.v, foot)
        assert np.all(np.linalg.norm(v[flag > 0, :3], axis=1) <= 0.15)
    before = np.stack(list(log.contacts.values())) > 0
    rows = np.searchsorted(log.t, kept.t)
    assert all(np.all(flag[before[i, rows]] > 0) for i, flag in enumerate(kept.contacts.values()))  # none is lost


@pytest.mark.exhaustive(keep=1)
@pytest.mark.parametrize("slope", [0.0, 0.1])
@pytest.mark.parametrize("gait", ALL)
def test_contacts_are_found_from_the_motion(gait, slope):
    walk = walked(gait, slope=slope)
    found = with_contacts(walk.nominal, walk.log.replace(contacts={}), ("auto",))
    assert tuple(found.contacts) == walks.FEET
    assert float(found.notes[-1].split("slopes by ")[1].split()[0]) == pytest.approx(np.degrees(slope), abs=0.3)
    missed = [np.mean((found.contacts[foot] == 0) & (flag > 0)) for foot, flag in walk.log.contacts.items()]
    free = [np.mean((found.contacts[foot] == 0) & (flag == 0)) for foot, flag in walk.log.contacts.items()]
    assert max(missed) < 0.04 and min(free) > 0.05
    steady = in_steady_contact(walk.nominal, found, CUTOFF)
    rows = np.searchsorted(walk.log.t, steady.t)
    assert max(np.mean((steady.contacts[f] == 0) & (walk.log.contacts[f][rows] > 0)) for f in walks.FEET) < 0.03
    high = with_contacts(
        walk.nominal, walk.log.replace(contacts={}, q=walk.log.q + np.eye(19)[2] * 3, v=walk.log.v), ("auto",)
    )
    assert all(np.mean(high.contacts[f] == found.contacts[f]) > 0.999 for f in walks.FEET)  # no height is assumed


@pytest.mark.exhaustive(keep=1)
@pytest.mark.parametrize(
    ("gait", "options"),
    [("trot", {"softness": 0.1}), ("walk", {"softness": 0.1, "seed": 2}), ("walk", {"friction": 0.1})],
)
def test_contacts_that_motion_cannot_show_are_named(gait, options):
    walk = walked(gait, **options)
    log = filters.differentiate(walk.log.replace(contacts={}), cutoff=CUTOFF)
    found = with_contacts(walk.nominal, log, ("auto",))
    assert "contact_unflagged" in {finding.code for finding in contact_faults(walk.nominal, found, found=True)}


def test_words_of_contacts():
    walk = walked("trot")
    some = with_contacts(walk.nominal, walk.log, ("FL_foot,FR_foot",))
    assert tuple(some.contacts) == ("FL_foot", "FR_foot") and "RL_foot" in some.notes[-1]
    assert with_contacts(walk.nominal, walk.log, ("none",)).contacts == {}
    with pytest.raises(LogError, match=r"no contacts of FL_foot; it has none.*--contacts auto,FL_foot"):
        with_contacts(walk.nominal, walk.log.replace(contacts={}), ("FL_foot",))
    with pytest.raises(OptionError, match="goes with nothing else"):
        with_contacts(walk.nominal, walk.log, ("none", "auto"))
    arm = sy.library.scara()
    with pytest.raises(OptionError, match="base is fixed"):
        with_contacts(arm, sy.Log(t=[0, 1], q=np.zeros((2, 4)), v=np.zeros((2, 4))), ("auto",))


def test_logs_are_prepared_in_contact():
    walk = walked("trot")
    ready = prepare(walk.log, walk.nominal)
    assert set(ready.log.contacts) == set(walks.FEET) and len(ready.log) < len(walk.log)
    for sensor in ({}, walk.log.imu):  # periods of the cutoff that forces smear over, and less where little is left
        kept = prepare(walk.log.replace(imu=sensor), walk.nominal)
        share = len(kept.log) / len(walk.log)
        assert 0.1 < share < 0.5 and f"{1 - share:.0%}"[0] in kept.log.notes[-1]
    late = walks.with_late_flags(walk.log, 10)
    with pytest.raises(LogError, match=r"Flags of contact come about 1\d samples"):
        prepare(late, walk.nominal)
    assert "contact_late" in {each.code for each in prepare(late, walk.nominal, accept=("contact_late",)).findings}
    assert not {each.code for each in prepare(late, walk.nominal, contacts=("auto",)).findings} & set(FOUND)
    again = ready.refilter(ready.raw.replace(tau=2 * ready.raw.tau))
    np.testing.assert_array_equal(again.t, ready.filtered.t)


@pytest.mark.exhaustive(keep=1)
@pytest.mark.parametrize("gait", ["trot", "walk"])
@pytest.mark.parametrize("word", ["wxyz,body,body", "xyzw,world,body", "xyzw,body,world", "mujoco"])
def test_other_conventions_of_the_base_are_named(gait, word):
    walk, convention = walked(gait, turn=0.2), convention_of(word)  # straight on, world and body are much the same
    other = _in_convention(walk.log, convention)
    turned = from_convention(other, convention)
    np.testing.assert_allclose(turned.v, walk.log.v, atol=1e-9)
    codes = {finding.code: finding for finding in sy.log.checks.check(other, walk.nominal)}
    assert codes["base_convention"].options[0] == "--base"
    assert convention_of(codes["base_convention"].options[1]) == convention
    assert "base_convention" not in {finding.code for finding in sy.log.checks.check(walk.log, walk.nominal)}


def _in_convention(log, convention):
    """The log as another program would write it."""
    q, v = log.q.copy(), log.v.copy()
    R = rotation_from_quaternion(log.q[:, 3:7])
    if convention.quaternion == "wxyz":
        q[:, 3:7] = np.roll(q[:, 3:7], 1, axis=1)
    for part, axes in ((slice(0, 3), convention.linear), (slice(3, 6), convention.angular)):
        if axes == "world":
            v[:, part] = np.einsum("nij,nj->ni", R, v[:, part])
    return log.replace(q=q, v=v)


def test_the_sensor_in_the_trunk_feels_what_mujoco_says():
    walk = walked("trot", 2.0, noise=walks.WalkNoise(*[0.0] * 9))
    spec = mujoco.MjSpec.from_string(mjcf_text(walk.true))
    half = np.pi / 4
    site = spec.body("base").add_site(
        name="imu", pos=walk.true.frame("imu").position, quat=[np.cos(half), 0, 0, np.sin(half)]
    )
    for kind in (mujoco.mjtSensor.mjSENS_GYRO, mujoco.mjtSensor.mjSENS_ACCELEROMETER):
        spec.add_sensor(type=kind, objtype=mujoco.mjtObj.mjOBJ_SITE, objname=site.name)
    m = spec.compile()
    d = mujoco.MjData(m)
    q, v, a = walk.exact.require("q", "v", "a")
    R = rotation_from_quaternion(q[:, 3:7])
    for k in range(0, len(q), 37):
        d.qpos[:], d.qvel[:], d.qacc[:] = q[k], v[k], a[k]
        d.qpos[3:7] = np.roll(q[k, 3:7], 1)
        d.qvel[:3], d.qacc[:3] = R[k] @ v[k, :3], R[k] @ (a[k, :3] + np.cross(v[k, 3:6], v[k, :3]))
        mujoco.mj_fwdPosition(m, d)
        mujoco.mj_fwdVelocity(m, d)
        mujoco.mj_sensorVel(m, d)
        mujoco.mj_rnePostConstraint(m, d)
        mujoco.mj_sensorAcc(m, d)
        np.testing.assert_allclose(
            walks.felt(walk.true.frame("imu"), q[k : k + 1], v[k : k + 1], a[k : k + 1])[0], d.sensordata, atol=1e-9
        )


@pytest.mark.parametrize("bias", [0.0, 0.2])
def test_the_sensor_gives_the_motion_of_the_base(bias):
    """Whatever constant bias it has: accelerations far nearer to the truth than the estimate's derivatives."""
    walk = walked("trot")
    biased = walk.log.imu["imu"] + bias * np.r_[0.05, -0.05, 0.05, 1, -1, 1]
    ready = prepare(walk.log.replace(imu={"imu": biased}), walk.nominal, cutoff=30.0)
    without = prepare(walk.log.replace(imu={}), walk.nominal, cutoff=30.0)
    assert any("inertial sensor imu" in note for note in ready.log.notes)
    wide = filters.lowpass(walk.exact.a[:, :6], walk.exact.t, 30.0)

    def error(log):
        return np.sqrt(np.mean((log.a[:, :3] - wide[np.searchsorted(walk.exact.t, log.t - 1e-9), :3]) ** 2))

    assert error(ready.log) < 0.4 * error(without.log) and error(ready.log) < 0.1


def test_a_sensor_that_contradicts_the_base_is_named():
    walk = walked("trot")
    sensor = walk.log.imu["imu"]
    gravity = walks.felt(walk.true.frame("imu"), walk.log.q, 0 * walk.log.v, 0 * walk.log.v)[:, 3:]
    scale = np.repeat([1, 1 / 9.81], 3)
    for wrong, code, said in (
        (sensor * scale, "imu_gravity", "in units of g"),
        (sensor - np.c_[0 * gravity, gravity], "imu_gravity", "without gravity"),
        (sensor[:, [1, 2, 0, 4, 5, 3]], "imu_axes", "on average 9"),
        (sensor * np.repeat([180 / np.pi, 1], 3), "imu_axes", "rates in rad/s"),
        (sensor * np.r_[-1, -1, 1, 1, 1, 1], "imu_axes", "axes those of imu"),
    ):
        with pytest.raises(LogError, match=said):
            prepare(walk.log.replace(imu={"imu": wrong}), walk.nominal)
        ready = prepare(walk.log.replace(imu={"imu": wrong}), walk.nominal, refuse=False)
        assert code in {finding.code for finding in ready.findings}
    far = prepare(walk.log.replace(imu={"imu": sensor + np.r_[0, 0, 0, 1.0, 0, 0]}), walk.nominal)
    assert [each.code for each in far.findings] == ["imu_bias"]
    assert [each.code for each in prepare(walk.log.replace(imu={}), walk.nominal).findings] == ["imu_missing"]
    foot = prepare(walk.log.replace(imu=walk.log.imu | {"FL_foot": sensor}), walk.nominal)
    assert [each.code for each in foot.findings] == ["imu_unused"] and "FL_foot" in foot.findings[0].message
    assert prepare(walk.log, walk.nominal).findings == ()


def test_what_cannot_walk_is_refused():
    """An arm; one leg shorter than the others; a robot that bears too much."""
    quadruped = sy.library.quadruped()
    odd = list(quadruped.joints)
    knee = next(i for i, joint in enumerate(odd) if joint.name == "RR_calf_joint")
    odd[knee] = replace(odd[knee], position=odd[knee].position + np.array([0, 0, 0.01]))
    for robot in (sy.library.puma560(), replace(quadruped, joints=tuple(odd))):
        with pytest.raises(ModelError, match="FL_foot"):
            sy.simulate.walk(robot=robot, duration=0.1)
    with pytest.raises(OptionError, match="falls after"):
        sy.simulate.walk("gallop", duration=4.0, payload=60.0)
