"""What must hold between two runs of the whole pipeline, whatever the truth is: no reference value takes part.

A model and a log are changed together in a way that mechanics understands, and predictions, estimates and what can be
identified must change with them. One wrong factor in each relation must show.
"""

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

import steelyard as sy
from problems import random_log, scattered
from random_bodies import rotations
from random_robots import urdf_text
from steelyard.information import accumulate

pytestmark = pytest.mark.claim(
    "trust.relations",
    "units, frames, order of links, direction of time and of joints, sums and unions: predictions transform along",
)

KEPT = 1e-9  # share of the torque or of the parameters


@pytest.fixture(scope="module")
def case(tmp_path_factory):
    """A random tree, its URDF text, and a log of another robot of the same kinematics, noisy."""
    rng = np.random.default_rng(5)
    text = urdf_text(rng, links=6, types=("revolute", "prismatic"), mimic=False)
    robot = loaded(tmp_path_factory.mktemp("tree"), text)
    truth = robot.with_inertias(scattered(robot.inertias, rng, 0.1))
    log = random_log(truth, rng, samples=400, noise=0.02, torque=lambda *state: sy.inverse_dynamics(truth, *state))
    return text, robot, log


def loaded(folder: Path, text: str) -> sy.Robot:
    path = folder / "robot.urdf"
    path.write_text(text, encoding="utf-8")
    return sy.load(path)


def estimate(robot, *logs):
    """Base parameters by least squares over the logs, with friction; and the predicted torques of the first."""
    infos = [accumulate(robot, log, friction=("viscous",)) for log in logs]
    fit = sy.fit.least_squares(sum(infos[1:], infos[0]))
    return fit, sy.validate(fit, logs[0]).predicted


def close(found, expected, tolerance=KEPT):
    return np.max(np.abs(np.asarray(found) - expected)) <= tolerance * np.max(np.abs(expected))


def rescaled(text, *, mass, length):
    """URDF in other units: an XML tree edited by lxml, nothing of the package."""
    from lxml import etree

    root = etree.fromstring(text)
    for element in root.iter("origin"):
        if element.get("xyz"):
            element.set("xyz", " ".join(f"{float(x) * length:.17g}" for x in element.get("xyz").split()))
    for element in root.iter("mass"):
        element.set("value", f"{float(element.get('value')) * mass:.17g}")
    for element in root.iter("inertia"):
        for key in list(element.attrib):
            element.set(key, f"{float(element.get(key)) * mass * length**2:.17g}")
    return etree.tostring(root, encoding="unicode")


def powers(robot):
    """Power of length in each degree's coordinate and force: 0 and 2 for angles, 1 and 1 for slides."""
    slides = np.array([joint.kind == "prismatic" for joint in robot.joints])
    return np.where(slides, 1.0, 0.0), np.where(slides, 1.0, 2.0)


@pytest.mark.parametrize("wrong", [False, True])
def test_units(case, tmp_path, wrong):
    """Grams, centimetres, deciseconds: every torque changes by mass length^2 / time^2, or by what its joint has."""
    text, robot, log = case
    m, l, s = 1000.0, 100.0, 10.0
    other = loaded(tmp_path, rescaled(text, mass=m, length=l))
    other = replace(other, gravity=robot.gravity * l / s**2)
    motion, force = powers(robot)
    unit = m * l**force / s**2 * (1.01 if wrong else 1.0)
    changed = log.replace(
        t=log.t * s, q=log.q * l**motion, v=log.v * l**motion / s, a=log.a * l**motion / s**2, tau=log.tau * unit
    )
    _, plain = estimate(robot, log)
    _, scaled = estimate(other, changed)
    assert close(scaled, plain * m * l**force / s**2, 1e-6) == (not wrong)
    exact = sy.inverse_dynamics(other, changed.q, changed.v, changed.a)
    assert close(exact, sy.inverse_dynamics(robot, log.q, log.v, log.a) * m * l**force / s**2)


@pytest.mark.parametrize("wrong", [False, True])
def test_base_turned_with_gravity(case, wrong):
    """The whole scene turned: joints at the base turn, gravity turns, nothing else changes."""
    _, robot, log = case
    R = rotations(3)
    joints = tuple(
        replace(joint, rotation=R @ joint.rotation, position=R @ joint.position) if parent < 0 else joint
        for joint, parent in zip(robot.joints, robot.parents, strict=True)
    )
    turned = replace(robot, joints=joints, gravity=robot.gravity if wrong else R @ robot.gravity)
    (one, plain), (other, again) = estimate(robot, log), estimate(turned, log)
    assert close(again, plain) == (not wrong)
    assert one.basis.count == other.basis.count or wrong


@pytest.mark.parametrize("wrong", [False, True])
def test_links_in_another_order(case, tmp_path, wrong):
    """The order of elements in a file is no statement about the robot."""
    from lxml import etree

    text, robot, log = case
    root = etree.fromstring(text)
    for element in list(root)[::-1]:
        root.append(element)
    if wrong:
        root.find("link[@name='l3']/inertial/mass").set("value", "50")
    other = loaded(tmp_path, etree.tostring(root, encoding="unicode"))
    assert set(other.joint_names) == set(robot.joint_names)
    order = [robot.joint_names.index(name) for name in other.joint_names]
    picked = {key: getattr(log, key)[:, order] for key in ("q", "v", "a", "tau")}
    changed = log.replace(**picked, joint_names=other.joint_names)
    (one, plain), (two, again) = estimate(robot, log), estimate(other, changed)
    assert close(again, plain[:, order]) and one.basis.count == two.basis.count
    exact = sy.inverse_dynamics(other, changed.q, changed.v, changed.a)
    assert close(exact, sy.inverse_dynamics(robot, log.q, log.v, log.a)[:, order]) == (not wrong)


@pytest.mark.parametrize("wrong", [False, True])
def test_a_joint_counted_the_other_way(case, tmp_path, wrong):
    """Axis, q, v, a and torque of one joint change sign; bodies stay as they are."""
    from lxml import etree

    text, robot, log = case
    root = etree.fromstring(text)
    axis = root.find("joint[@name='j2']/axis")
    axis.set("xyz", " ".join(f"{-float(x):.17g}" for x in axis.get("xyz").split()))
    other = loaded(tmp_path, etree.tostring(root, encoding="unicode"))
    sign = np.where(np.array(robot.joint_names) == "j2", -1.0, 1.0)
    keys = ("q", "v", "a") if wrong else ("q", "v", "a", "tau")
    changed = log.replace(**{key: getattr(log, key) * sign for key in keys})
    (one, plain), (two, again) = estimate(robot, log), estimate(other, changed)
    assert close(again, plain * sign) == (not wrong)
    if not wrong:
        assert close(two.base, one.base, 1e-7)


@pytest.mark.parametrize("wrong", [False, True])
def test_time_reversed(case, wrong):
    """Without friction mechanics does not know which way time runs: v changes sign, torques stay."""
    _, robot, log = case
    backward = log.replace(
        t=log.t[-1] - log.t[::-1],
        q=log.q[::-1],
        v=-log.v[::-1],
        a=log.a[::-1] * (-1.0 if wrong else 1.0),
        tau=log.tau[::-1],
    )
    fits = [sy.fit.least_squares(accumulate(robot, each, friction=())) for each in (log, backward)]
    assert close(fits[1].base, fits[0].base, 1e-7) == (not wrong)


@pytest.mark.parametrize("wrong", [False, True])
def test_split_summed_permuted_repeated(case, wrong):
    """Information adds, and has no order; a log twice tells the same and counts twice."""
    _, robot, log = case
    options = {"friction": ("viscous",)}
    whole = accumulate(robot, log, **options)
    cut = 150 if not wrong else 160
    parts = accumulate(robot, log[:150], **options) + accumulate(robot, log[cut:], **options)
    assert close(parts.gram, whole.gram) == (not wrong) and (parts.n == whole.n) == (not wrong)
    order = np.random.default_rng(0).permutation(len(log))
    arrays = {key: getattr(log, key)[order] for key in ("q", "v", "a", "tau")}
    shuffled = accumulate(robot, log.replace(**arrays), **options)
    assert close(shuffled.gram, whole.gram) and close(shuffled.moment, whole.moment)
    twice = sy.fit.least_squares(whole + whole)
    once = sy.fit.least_squares(whole)
    assert close(twice.base, once.base, 1e-7)
    assert close(twice.covariance * 2, once.covariance, 1e-2) and not close(twice.covariance, once.covariance, 0.3)


@pytest.mark.parametrize("wrong", [False, True])
def test_two_robots_on_one_base(case, tmp_path, wrong):
    """Two trees on one fixed base know nothing of each other: blocks in the regressor, and counts add."""
    from lxml import etree

    text, robot, log = case
    root = etree.fromstring(text)
    for element in list(etree.fromstring(text)):
        for node in element.iter():
            for key in ("name", "link"):
                if node.get(key):
                    node.set(key, "l0" if node.get(key) == "l0" else f"{node.get(key)}b")
        if element.get("name") != "l0":
            root.append(element)
    if wrong:
        root.find("joint[@name='j1b']/parent").set("link", "l1")
    both = loaded(tmp_path, etree.tostring(root, encoding="unicode"))
    first = [name.endswith("b") for name in both.joint_names]
    a, b = np.flatnonzero(~np.array(first)), np.flatnonzero(first)
    q, v, acc = (np.zeros((50, both.nv)) for _ in range(3))
    for each, own in ((q, log.q), (v, log.v), (acc, log.a)):
        each[:, a], each[:, b] = own[:50], own[50:100]
    tau = sy.inverse_dynamics(both, q, v, acc)
    own = sy.inverse_dynamics(robot, log.q[:100], log.v[:100], log.a[:100])
    assert (close(tau[:, a], own[:50]) and close(tau[:, b], own[50:])) == (not wrong)
    counts = sy.identifiability(both).count, sy.identifiability(robot).count
    assert (counts[0] == 2 * counts[1]) == (not wrong)
