"""Shapes whose pose is uncertain, and poses found from payloads, against poses that are known."""

from dataclasses import replace

import numpy as np
import pytest
from evidence.bench.tray_experiment import test_object

from payload_logs import MODERATE, swing
from steelyard.errors import InertiaError, OptionError
from steelyard.inertia import parameters
from steelyard.payload import errors, identify, locate, solid_of
from steelyard.payload.density import ERRORS, error_columns, moved
from steelyard.payload.payload_estimate import Payload, Status
from steelyard.payload.solid_shape import small_boxes
from steelyard.spatial import rotation_from_vector, rotation_vector, skew

STD = (np.radians(5.0), 0.01)  # rad, m
CENTER = np.array([0.05, 0.0, 0.06])


def box(*sides, center=CENTER):
    return center + np.array(sides) * np.array(
        [[i, j, k] for i in (-0.5, 0.5) for j in (-0.5, 0.5) for k in (-0.5, 0.5)]
    )


def test_a_pose_moves_a_body_as_a_whole():
    solid, each = replace(test_object("hammer").solid, pose_std=STD), np.eye(ERRORS)
    np.testing.assert_allclose(moved(solid, each[1]).points, solid.points + np.array([0, 0.01, 0]), atol=1e-12)
    turned = moved(solid, np.arange(6.0) / 5 @ each[:6]).homogeneous
    for body in (turned, solid.homogeneous):  # principal moments stay
        assert np.linalg.eigvalsh(parameters.to_com_inertia(body)[2]) == pytest.approx(
            np.linalg.eigvalsh(parameters.to_com_inertia(solid.homogeneous)[2]), rel=1e-12
        )
    # paper D, 30-34: the rows of a frame change, an independent form of the first six columns
    D, center = parameters.transform_derivative(solid.homogeneous), solid.homogeneous[1:4]
    turn, shift = solid.pose_std
    expected = np.concatenate([shift * D[:, :3], turn * (D[:, 3:] + D[:, :3] @ skew(center))], axis=1)
    np.testing.assert_allclose(error_columns(solid)[:, :6], expected, atol=1e-15)
    assert not error_columns(solid)[:, 6:].any()


def test_an_exact_pose_changes_nothing_and_options_are_checked():
    solid = test_object("tee").solid
    assert solid_of(solid, pose_std=STD).pose_std == STD
    log = swing(test_object("tee").theta, noise=MODERATE)
    exact, same = (identify(log, shape=each) for each in (solid, solid_of(solid, pose_std=(0.0, 0.0))))
    np.testing.assert_array_equal(exact.theta, same.theta)
    assert any("takes the shape" in note for note in identify(log, "hull", shape=solid_of(solid, pose_std=STD)).notes)
    with pytest.raises(OptionError, match="two standard deviations"):
        solid_of(solid, pose_std=(0.1, -1.0))


@pytest.mark.exhaustive(keep=1)
@pytest.mark.parametrize("seeds", [5, 30])
def test_coverage_under_misplacement(seeds, record_property):
    """Rods of 12 mm, whose shape is given 10 mm and 5 degrees off: intervals that know of it hold the truth, and the
    estimate is not forced into the misplaced shape."""
    sides = np.array([0.25, 0.012, 0.012])
    truth = 0.6 * small_boxes(CENTER[None], sides)[:, 0]
    mass, com, inertia = parameters.to_com_inertia(truth)
    inside, error = {}, {}
    for seed in range(seeds):
        rng = np.random.default_rng(seed)
        log = swing(truth, noise=(0.1, 0.005, 0.0, 0.0), seed=seed, speed=1.5, duration=1.5)
        R, shift = rotation_from_vector(STD[0] * rng.normal(size=3)), STD[1] * rng.normal(size=3)
        shape = (box(*sides) - CENTER) @ R.T + CENTER + shift
        for std in ((0.0, 0.0), STD):
            found = identify(log, shape=solid_of(shape, pose_std=std))
            off = np.concatenate(
                [
                    [(found.mass - mass) / found.mass_deviation],
                    (found.com - com) / found.com_deviation,
                    ((found.inertia - inertia) / found.inertia_deviation)[np.triu_indices(3)],
                ]
            )
            inside.setdefault(std, []).append(np.abs(off) < 1.96)
            error.setdefault(std, []).append(errors(found.theta, truth, sides).percent)
    exact, known = (np.mean(inside[std]) for std in inside)
    wrong, right = (np.mean(error[std], axis=0) for std in error)
    record_property("coverage", (float(exact), float(known)))
    record_property("errors, %", (wrong.tolist(), right.tolist()))
    assert known > 0.93
    assert (right < 0.8 * wrong).all()


def payload_of(theta, spread=1e-9):
    scale = np.abs(theta[0]) * np.array([1, *[0.1] * 3, *[0.01] * 6])
    return Payload(theta, np.diag((spread * scale) ** 2), "geo", Status.OK, np.ones(2), 100)


@pytest.mark.parametrize("seed", range(5))
def test_pose_of_a_box_is_found_up_to_half_turns(seed):
    rng = np.random.default_rng(seed)
    R, p = rotation_from_vector(rng.normal(size=3)), rng.uniform(-0.1, 0.1, 3)
    shape = box(0.1, 0.2, 0.06, center=np.array([0.02, 0.01, -0.03]))
    body = 0.8 * parameters.transform(solid_of(shape).homogeneous, R, p)
    found = locate(payload_of(body), shape, near=R @ rotation_from_vector(0.3 * rng.normal(size=3)))
    np.testing.assert_allclose(found.rotation, R, atol=1e-6)
    np.testing.assert_allclose(found.position, p, atol=1e-8)
    assert len(found.others) == 3 and found.ambiguous.startswith("4 poses") and not found.notes
    for other, place in found.others:  # every one of them has this payload
        again = 0.8 * parameters.transform(solid_of(shape).homogeneous, other, place)
        np.testing.assert_allclose(again, body, atol=1e-8)
    assert any("uneven" in note for note in locate(payload_of(body), 1.3 * shape).notes)


def test_a_turn_that_does_not_show_is_the_expected_one():
    """Two alike moments: the turn about the third axis is free; three: only the centroid is known."""
    R, p = rotation_from_vector(np.array([0.4, -0.2, 0.7])), np.array([0.01, 0.02, 0.05])
    rod = box(0.2, 0.05, 0.05, center=np.zeros(3))
    body = parameters.transform(solid_of(rod).homogeneous, R, p)
    found = locate(payload_of(body), rod, near=R)
    np.testing.assert_allclose(found.rotation, R, atol=1e-5)
    assert np.isinf(found.turn_deviation[0]) and np.isfinite(found.turn_deviation[1:]).all()
    assert "a turn about axis 0 does not show" in found.ambiguous
    free = locate(payload_of(body), rod)
    np.testing.assert_allclose(np.abs(free.rotation[:, 0] @ R[:, 0]), 1.0, atol=1e-6)
    cube = box(0.1, 0.1, 0.1, center=np.zeros(3))
    lost = locate(payload_of(parameters.transform(solid_of(cube).homogeneous, R, p)), cube, near=R)
    np.testing.assert_allclose(lost.position, p, atol=1e-8)
    assert "only the centroid" in lost.ambiguous
    with pytest.raises(InertiaError, match="rotation matrix"):
        locate(payload_of(body), rod, near=np.zeros((3, 3)))


@pytest.mark.exhaustive(keep=1)
@pytest.mark.parametrize("seeds", [15, 40])
def test_turns_are_within_their_deviations(seeds, record_property):
    shape = box(0.1, 0.2, 0.06, center=np.zeros(3))
    R, p = rotation_from_vector(np.array([0.3, 0.2, -0.4])), np.array([0.0, 0.02, 0.06])
    body = 0.8 * parameters.transform(solid_of(shape).homogeneous, R, p)
    off = []
    for seed in range(seeds):
        log = swing(body, speed=3.0, duration=4.0, noise=(0.05, 0.002, 0.0, 0.0), seed=seed)
        found = locate(identify(log), shape, near=R)
        turn = found.axes.T @ rotation_vector(R.T @ found.rotation)
        off.append(np.concatenate([turn / found.turn_deviation, (found.position - p) / found.position_deviation]))
    record_property("spread, deviations", np.std(off, axis=0).tolist())
    assert np.mean(np.abs(off) < 1.96) > 0.88
