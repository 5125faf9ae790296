"""Conventions of free bases, against MuJoCo's own: told by pose and velocity, refused by name, converted if asked."""

from itertools import product

import mujoco
import numpy as np
import pytest

import steelyard as sy
from steelyard.corrections import corrections_from
from steelyard.errors import LogError, OptionError
from steelyard.log import checks
from steelyard.log.free_base import AXES, ORDERS, Convention, convention_of
from steelyard.pipeline import inspect
from steelyard.prepare.undo import corrected

MODEL = """<mujoco><option gravity="0 0 -9.81" timestep="0.001" integrator="RK4"/><worldbody><body name="trunk">
<freejoint/><geom type="box" size="0.2 0.1 0.05" mass="4" pos="0.02 0.01 0"/>
<body name="arm" pos="0.2 0 0"><joint name="arm" axis="0 1 0" damping="0.1"/>
<geom type="capsule" size="0.02" fromto="0 0 0 0 0 -0.3" mass="0.7"/></body></body></worldbody></mujoco>"""


@pytest.fixture(scope="module")
def flight(tmp_path_factory):
    """A body with an arm thrown into the air, driven by its motor and a wrench: the robot, and MuJoCo's own numbers."""
    path = tmp_path_factory.mktemp("flight") / "body.xml"
    path.write_text(MODEL)
    model = mujoco.MjModel.from_xml_string(MODEL)
    data, rows = mujoco.MjData(model), []
    data.qvel[:] = [0.5, -0.3, 4.0, 1.0, -2.0, 1.5, 3.0]
    for k in range(1500):
        t = 0.001 * k
        data.qfrc_applied[:3] = 3 * np.sin(5 * t), 2.0, 40 + np.cos(7 * t)
        data.qfrc_applied[3:] = 0.3 * np.sin(6 * t), 0.2, -0.1, np.sin(9 * t)
        mujoco.mj_forward(model, data)
        rows.append([x.copy() for x in (data.qpos, data.qvel, data.qacc, data.qfrc_applied)])
        mujoco.mj_step(model, data)
    q, v, a, tau = (np.array(column) for column in zip(*rows, strict=True))
    return sy.load(path), sy.Log(t=0.001 * np.arange(len(q)), q=q, v=v, a=a, tau=tau)


def faults(log, robot):
    return {finding.code: finding for finding in checks.check(log, robot)}


def test_mujocos_convention_is_named_and_converted(flight):
    """Torques of the converted motion are the converted torques, by our inverse dynamics."""
    robot, log = flight
    found = faults(log, robot)["base_convention"]
    assert (found.severity, found.options) == ("fatal", ("--base", "mujoco"))
    with pytest.raises(LogError, match="--base mujoco"):
        checks.require_usable(log, robot)
    right = corrected(robot, log, corrections_from({"base": "mujoco"}))
    assert not {"base_convention", "base_velocity"} & set(faults(right, robot)) and right.notes
    predicted = sy.inverse_dynamics(robot, right.q, right.v, right.a)
    predicted[:, 6] += 0.1 * right.v[:, 6]
    np.testing.assert_allclose(predicted, right.tau, atol=1e-6)
    wrong = corrected(robot, log, corrections_from({"base": "wxyz,world,world"}))
    assert np.abs(sy.inverse_dynamics(robot, wrong.q, wrong.v, wrong.a) - wrong.tau).max() > 1


@pytest.mark.parametrize("parts", list(product(ORDERS, AXES, AXES)), ids=",".join)
def test_every_convention_is_told_from_the_others(flight, parts):
    robot, log = flight
    right = corrected(robot, log, corrections_from({"base": "mujoco"}))
    turn = sy.spatial.rotation_from_quaternion(right.q[:, 3:7])
    convention, q, v = Convention(*parts), right.q.copy(), right.v.copy()
    if convention.quaternion == "wxyz":
        q[:, 3:7] = np.roll(q[:, 3:7], 1, axis=1)
    for part, axes in ((slice(0, 3), convention.linear), (slice(3, 6), convention.angular)):
        if axes == "world":
            v[:, part] = np.einsum("nij,nj->ni", turn, v[:, part])
    rng = np.random.default_rng(0)
    seen = right.replace(q=q + 5e-4 * rng.normal(size=q.shape), v=v + 0.02 * rng.normal(size=v.shape))
    found = faults(seen, robot)
    if convention == Convention():
        assert "base_convention" not in found
    else:
        assert convention_of(found["base_convention"].options[1]) == convention
    np.testing.assert_allclose(
        corrected(robot, right.replace(q=q, v=v), corrections_from({"base": convention.word})).v, right.v, atol=1e-12
    )


def test_what_no_convention_explains(flight):
    robot, log = flight
    right = corrected(robot, log, corrections_from({"base": "mujoco"}))
    other = faults(right.replace(v=right.v[::-1].copy()), robot)
    assert other["base_velocity"].severity == "warning"
    assert faults(right.replace(q=right.q * 1.2), robot)["base_quaternion"].severity == "fatal"
    resting = np.broadcast_to(right.q[0], right.q.shape)
    assert not {"base_convention", "base_velocity"} & set(faults(right.replace(q=resting, v=right.v), robot))


def test_a_free_base_without_velocities_is_refused_in_words(flight, tmp_path):
    robot, log = flight
    bare = log.replace(v=None, a=None)
    for model in (robot, None):
        assert [f.code for f in inspect(bare, model).findings if f.severity == "fatal"] == ["no_velocity"]
    with pytest.raises(LogError, match="twist"):
        checks.require_usable(bare, robot)
    with pytest.raises(LogError, match="Give v"):
        sy.filters.differentiate(bare)


def test_words_for_a_base(flight):
    robot, log = flight
    for word in ("drake", "wxyz", "xyzw,world,up"):
        with pytest.raises(OptionError, match="mujoco"):
            corrected(robot, log, corrections_from({"base": word}))
    with pytest.raises(LogError, match="not of a free base"):
        corrected(None, sy.Log(t=log.t, q=log.v, tau=log.tau), corrections_from({"base": "mujoco"}))
