"""Contents that slide, cables that pull, and a sensor turned behind a bias: named with their cause. Forces are written
out here by Newton's law."""

import numpy as np
import pytest
from scipy.spatial.transform import Rotation

from payload_logs import THETA, static, swing
from steelyard.payload import Status, identify
from steelyard.payload.wrench_sums import wrench_regressor

NOISE = (0.05, 0.002, 0.01, 0.05)


def tied(log, stiffness, force, point=(0.0, 0.0, 0.05)):
    """The wrench with a cable's pull on the payload at a point of the sensor frame, which the hand takes."""
    pull = force + stiffness * (np.array([0.3, 0.2, 1.2]) - log.position)
    felt = -np.einsum("nji,nj->ni", log.rotation, pull)
    return log.replace(wrench=log.wrench + np.concatenate([felt, np.cross(point, felt)], axis=1))


@pytest.mark.parametrize(("stiffness", "force"), [(15.0, [0.0, 0.0, 0.0]), (0.0, [2.0, 1.0, -2.0])])
def test_a_cable_that_pulls(stiffness, force):
    found = identify(tied(swing(speed=3.0, duration=4.0, noise=NOISE), stiffness, np.array(force)))
    assert found.findings[0].startswith("a force from the base of about") and not found.status.usable


def test_contents_that_slide():
    """0.3 kg that gravity moves by up to 30 mm inside; the mass stands, the result is used with care."""
    poses = static(poses=200, sigma=(0.05, 0.002))
    weight = -0.3 * poses.gravity_in_sensor
    place = np.array([0.0, 0.02, 0.1]) + 0.03 * np.tanh(poses.gravity_in_sensor / 3) * [1, 0, 0]
    loose = poses.replace(wrench=poses.wrench + np.concatenate([weight, np.cross(place, weight)], axis=1))
    found = identify(loose)
    assert "the centre of mass follows gravity by about" in found.findings[0] and found.status.usable
    assert found.mass == pytest.approx(1.0, abs=4 * found.mass_deviation)
    fixed = np.concatenate([weight, np.cross([0.0, 0.02, 0.1], weight)], axis=1)
    assert identify(poses.replace(wrench=poses.wrench + fixed)).findings == ()


def test_a_turned_sensor_that_was_not_tared():
    log = swing(noise=NOISE)
    R = Rotation.from_rotvec([0, 0, np.pi / 2]).as_matrix()
    wrench = np.concatenate([log.wrench[:, :3] @ R, log.wrench[:, 3:] @ R], axis=1)
    offset = np.array([2.0, -3.0, 4.0, 0.05, -0.1, 0.02])
    found = identify(log.replace(wrench=wrench + offset))
    assert found.status is Status.SUSPECT
    assert "not tared" in found.findings[0] and "turned by 90 degrees about" in found.findings[0]


def test_each_mistake_of_a_sensor_is_named():
    log = swing(speed=3.0, duration=4.0, noise=NOISE)
    f, n = log.wrench[:, :3], log.wrench[:, 3:]
    set_before = wrench_regressor(log, reduced=True) @ (0.4 * THETA)
    cases = {
        "the controller takes off the weight of a payload that it believes in": log.wrench - set_before,
        "the payload's mass changes steadily, from 0.7": log.wrench * (1 - 0.1 * log.t)[:, None],
        "fy is 1.28 times what it should be": log.wrench * [1, 1.3, 1, 1, 1, 1],
        "% of fy shows in fx": log.wrench + 0.1 * f[:, [1]] * [1, 0, 0, 0, 0, 0],
        "from the origin of the sensor's frame": np.hstack([f, n + np.cross([0.0, 0.05, 0.0], f)]),
        "forces and moments are exchanged": np.hstack([n, f]),
    }
    for words, wrench in cases.items():
        found = identify(log.replace(wrench=wrench))
        assert words in found.findings[0], found.findings
