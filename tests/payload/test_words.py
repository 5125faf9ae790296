"""Metrics, observability and exports: closed forms, Appendix A, and each controller's convention read back."""

import re
import xml.etree.ElementTree as ET

import mujoco
import numpy as np
import pytest
from evidence.draws.payload_jobs import felt
from hypothesis import given
from hypothesis import strategies as st
from scipy.spatial.transform import Rotation

from payload_logs import THETA, static, swing
from properties import tried
from random_bodies import bodies, rotations
from steelyard.errors import InertiaError, OptionError
from steelyard.inertia import parameters, transform
from steelyard.payload import errors, export, identify, observability
from steelyard.payload.controller_formats import FORMATS

MASS, COM, INERTIA = parameters.to_com_inertia(THETA)


def test_errors_by_hand():
    """(10)-(12): mass by mass, centre by side, diagonal by the two other sides, off-diagonal by its own two."""
    sides = np.array([0.1, 0.2, 0.3])
    wrong = INERTIA + np.array([[1e-4, 2e-4, 0], [2e-4, 0, -3e-4], [0, -3e-4, 5e-4]])
    theta = parameters.from_com_inertia(1.1 * MASS, COM + np.array([0.01, -0.02, 0.03]), wrong)
    found = errors(theta, THETA, sides)
    assert found.mass == pytest.approx(10.0) and found.com == pytest.approx(10.0)
    expected = [1e-4 / (0.04 + 0.09), 2e-4 / 0.02, 0, 0, 3e-4 / 0.06, 5e-4 / (0.01 + 0.04)]
    assert found.inertia == pytest.approx(100 * np.mean(expected) / (MASS / 12))
    assert 0 < found.geodesic < np.inf
    exact = errors(THETA, THETA, sides)
    assert exact.percent == pytest.approx([0, 0, 0], abs=1e-9) and exact.geodesic == pytest.approx(0, abs=1e-6)
    assert errors(-THETA, THETA, sides).geodesic == np.inf
    with pytest.raises(OptionError, match="three positive lengths"):
        errors(THETA, THETA, [1, 2])
    with pytest.raises(InertiaError, match="true mass"):
        errors(THETA, np.zeros(10), sides)


@tried(25)
@given(st.floats(0.1, 10.0), st.floats(0.2, 5.0), st.integers(0, 1000))
def test_errors_do_not_depend_on_mass_or_size(mass, size, seed):
    theta, truth = bodies(seed), bodies(seed + 1)
    scale = mass * np.array([1.0] + [size] * 3 + [size**2] * 6)
    sides = np.array([0.3, 0.4, 0.5])
    one, other = errors(theta, truth, sides), errors(scale * theta, scale * truth, size * sides)
    np.testing.assert_allclose(one.percent, other.percent, rtol=1e-7)
    assert one.geodesic == pytest.approx(other.geodesic, rel=1e-6)


def test_gravity_alone_has_rank_four():
    """Appendix A, on poses and on motion: the reduced model shows mass and centre of mass, never the inertia."""
    for log in (static(), swing()):
        found = observability(log, reduced=True)
        assert found.rank == 4 and found.known == ("mass", "centre of mass")
        assert "never shows the inertia" in found.text
    full = observability(swing())
    assert full.rank == 10 and full.known == ("mass", "centre of mass", "inertia")
    assert observability(static()).rank == 4
    one_pose = static(poses=6)
    one_pose = one_pose.replace(rotation=one_pose.rotation[[0] * 6])
    assert observability(one_pose).rank == 3 and "two axes" in observability(one_pose).text
    assert observability(static(poses=8), bias=True).known == ("mass", "centre of mass")
    spun = swing()
    planar = spun.replace(
        rotation=np.array(Rotation.from_euler("z", spun.t[:, None]).as_matrix()),
        twist=np.tile([0, 0, 0, 0, 0, 1.0], (len(spun), 1)),
        acceleration=np.zeros((len(spun), 6)),
    )
    found = observability(planar)
    assert found.rank < 10 and "inertia" not in found.known


def test_share_of_gravity_and_condition_number():
    """Against Newton and Euler written out, with and without gravity, and NumPy's condition number of those columns."""
    log = swing(noise=(0.01, 0.0005, 0.0, 0.0), speed=3.0)
    found = observability(log)
    still = log.replace(gravity=np.zeros(3))
    whole, moving = felt(log, THETA), felt(still, THETA)
    parts = [[np.mean(x[:, part] ** 2) for part in (slice(3), slice(3, 6))] for x in (whole - moving, moving)]
    np.testing.assert_allclose(found.gravity, np.divide(parts[0], np.sum(parts, axis=0)), atol=2e-3)
    assert found.gravity[0] > found.gravity[1] > 0.5  # gravity dominates (E, III-A)
    columns = np.stack([_column(log, k) for k in range(10)])
    scaled = columns.T / np.linalg.norm(columns, axis=1)
    assert found.condition == pytest.approx(np.linalg.cond(scaled), rel=1e-6)
    resting = observability(static())
    assert resting.gravity == pytest.approx((1.0, 1.0)) and resting.condition < 10


def _column(log, k):
    """(6n,) wrench by Newton and Euler of one parameter, as a difference of two bodies."""
    heavy = 10 * np.array([1.0, 0, 0, 0, 1, 0, 1, 0, 0, 1])
    return (felt(log, heavy + np.eye(10)[k]) - felt(log, heavy)).ravel()


def _numbers(text):
    return [float(x) for x in re.findall(r"-?\d+\.?\d*(?:e-?\d+)?", text)]


def test_franka():
    mass, *rest = _numbers(export(THETA, "franka").removeprefix("robot.setLoad"))
    np.testing.assert_allclose(mass, MASS)
    np.testing.assert_allclose(rest[:3], COM, rtol=1e-8)
    np.testing.assert_allclose(np.reshape(rest[3:], (3, 3), order="F"), INERTIA, rtol=1e-8)


def test_universal_robots():
    mass, *rest = _numbers(export(THETA, "ur").removeprefix("set_target_payload"))
    xx, yy, zz, xy, xz, yz = rest[3:]
    np.testing.assert_allclose([mass, *rest[:3]], [MASS, *COM], rtol=1e-8)
    np.testing.assert_allclose([[xx, xy, xz], [xy, yy, yz], [xz, yz, zz]], INERTIA, rtol=1e-8)


@pytest.mark.parametrize("seed", range(5))
def test_kuka(seed):
    """Principal moments in axes turned by A about z, B about the new y, C about the new x."""
    theta = bodies(seed)
    mass, com, inertia = parameters.to_com_inertia(theta)
    m, x, y, z, a, b, c, *moments = _numbers(export(theta, "kuka").removeprefix("LOAD_DATA[1]"))
    R = Rotation.from_euler("ZYX", [a, b, c], degrees=True).as_matrix()
    np.testing.assert_allclose(R @ np.diag(moments) @ R.T, inertia, rtol=1e-6, atol=1e-7 * np.trace(inertia))
    np.testing.assert_allclose([m, x, y, z], [mass, *(1e3 * com)], rtol=1e-7)


def test_ros2_control():
    """Parameters as admittance_controller and control_toolbox's gravity compensation declare them."""
    yaml = pytest.importorskip("yaml")
    found = yaml.safe_load(export(THETA, "ros2_control"))
    weight, tool = found["gravity_compensation"]["CoG"], found["tool"]
    np.testing.assert_allclose([*weight["pos"], weight["force"]], [*COM, 9.81 * MASS], rtol=1e-8)
    np.testing.assert_allclose([*tool["CoG"], tool["mass"]], [*COM, MASS], rtol=1e-8)


def test_ros():
    values = dict(re.findall(r"(\w+): (\S+)", export(THETA, "ros")))
    np.testing.assert_allclose([float(values[k]) for k in ("m", "x", "y", "z")], [MASS, *COM], rtol=1e-8)
    names = (("ixx", 0, 0), ("ixy", 0, 1), ("ixz", 0, 2), ("iyy", 1, 1), ("iyz", 1, 2), ("izz", 2, 2))
    for name, i, j in names:
        assert float(values[name]) == pytest.approx(INERTIA[i, j], rel=1e-8)


def test_model_snippets():
    urdf = ET.fromstring(export(THETA, "urdf"))
    assert float(urdf.find("mass").get("value")) == pytest.approx(MASS)
    body = f"<mujoco><worldbody><body><joint/>{export(THETA, 'mjcf')}</body></worldbody></mujoco>"
    m = mujoco.MjModel.from_xml_string(body)
    assert m.body_mass[1] == pytest.approx(MASS)
    np.testing.assert_allclose(np.sort(m.body_inertia[1]), np.linalg.eigvalsh(INERTIA), rtol=1e-6)


def test_export_refuses_and_moves():
    with pytest.raises(OptionError, match="franka"):
        export(THETA, "fanuc")
    for format in FORMATS:
        with pytest.raises(InertiaError, match="consistent"):
            export(-THETA, format)
    R, p = rotations(3), np.array([0.0, 0.0, 0.04])
    moved = transform(THETA, R, p)
    np.testing.assert_allclose(moved[1:4] / moved[0], R @ COM + p)


def test_summary_and_dictionary():
    import json

    found = identify(swing(noise=(0.05, 0.002, 0, 0)), bias=True)
    text = found.summary()
    assert "kg" in text and "bias" in text and found.status.value in text
    again = json.loads(json.dumps(found.as_dict()))
    assert again["mass"] == found.mass and again["status"] == found.status.name
    np.testing.assert_allclose(again["inertia"], found.inertia)
