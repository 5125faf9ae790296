"""Shapes of the model hold mass unless the data says that they do not: logs by MuJoCo of an arm whose file draws a link
too small."""

from dataclasses import replace
from types import SimpleNamespace

import numpy as np
import pytest

import steelyard as sy
from robots import urdf
from steelyard.errors import FitError
from steelyard.fit import consistent_within_geometry, model_geometry
from steelyard.fit.model_geometry import Trials
from steelyard.fit.thresholds import THRESHOLDS
from steelyard.inertia import is_realizable
from steelyard.information import accumulate
from steelyard.log.filters import differentiate
from steelyard.model import bounding_ellipsoids
from steelyard.simulate import Sensors, record, rich_motion

ALL = {"all": "geometry"}


@pytest.fixture(scope="module")
def arm():
    """UR5, whose file has inertias that no mass inside its meshes has, and a good log of it."""
    robot = sy.load(urdf("ur5_robot"))
    log = record(robot, rich_motion(robot, duration=10.0, seed=1), seed=1, sensors=Sensors(torque_noise=0.01)).log
    return robot, accumulate(robot, differentiate(log))


@pytest.fixture(scope="module")
def free(arm):
    return sy.fit.consistent(arm[1], within="consistent")


@pytest.fixture(scope="module")
def found(arm):
    return consistent_within_geometry(arm[1], within=ALL)


def error(info, estimate):
    return np.sqrt(info.base.residual_energy(estimate.base).sum() / info.energy.sum())


def test_a_good_log_is_believed_rather_than_the_drawing(arm, free, found):
    robot, info = arm
    bound = sy.fit.consistent(info, within="geometry")
    assert error(info, bound) > 2 * error(info, free)  # the known-wrong variant
    assert error(info, found) < 1.1 * error(info, free)
    (note,) = (note for note in found.notes if note.startswith("The data contradicts"))
    shapes = bounding_ellipsoids(robot)[0]
    outside = [name for name in shapes if not is_realizable(robot.inertias[robot.body_names.index(name)], shapes[name])]
    named = {name for name in shapes if f" {name}" in note.replace(":", " ").replace(",", " ")}
    assert named and named <= set(outside)


def test_little_is_no_contradiction_however_long_the_log(arm, free):
    """A residual that is 5 % larger at every joint is not clearly worse, though no chance in 5,000 samples."""
    _, info = arm
    free = free.parameters
    tried = model_geometry._Tried(SimpleNamespace(seen=info), ALL, [])
    tried.__dict__["free"] = free
    for most, contradicts in ((1.05, False), (1.3, True)):
        low, high = 0.0, 1.0
        for _ in range(50):
            middle = (low + high) / 2
            small = model_geometry._ratios(info, (1 + middle) * free, free).max() < most
            low, high = (middle, high) if small else (low, middle)
        worse = (1 + low) * free
        assert info.n * np.log(model_geometry._ratios(info, worse, free)).sum() > 2 * THRESHOLDS.shape_evidence
        assert tried._contradicts(worse) == contradicts


def test_only_links_outside_their_shape_are_tried(arm, free, monkeypatch):
    """Half of the links of this file are outside; the search makes no fit that frees one of the others."""
    robot, info = arm
    shapes = bounding_ellipsoids(robot)[0]
    outside = {name for name in shapes if not is_realizable(free.theta[robot.body_names.index(name)], shapes[name])}
    freed, nearest = [], Trials.nearest

    def watched(trials, within, **options):
        freed.append({name for name, each in within.items() if each == "consistent"})
        return nearest(trials, within, **options)

    monkeypatch.setattr(Trials, "nearest", watched)
    found = consistent_within_geometry(info, within=ALL)
    assert 0 < len(outside) < len(shapes) and freed[0] == set(shapes) and freed[1] == set()
    assert len(freed) > 3 and all(each <= outside for each in freed[1:])
    alone = sy.fit.consistent(info, within={**ALL, **dict.fromkeys(outside, "consistent")})
    np.testing.assert_allclose(alone.base, free.base, atol=1e-5 * np.abs(free.base).max())
    assert error(info, found) < 1.1 * error(info, free)


def test_fits_that_stop_where_the_answer_is_clear_free_the_same_links(arm, monkeypatch):
    """Fits within some of the constraints decide; with all of them the answer is the same."""
    _, info = arm
    nearest, stopped = Trials.nearest, []

    def watched(trials, within, *, enough=None):
        wrapped = enough and (lambda parameters: stopped.append(enough(parameters)) or stopped[-1])
        return nearest(trials, within, enough=wrapped)

    monkeypatch.setattr(Trials, "nearest", watched)
    found = consistent_within_geometry(info, within=ALL)
    assert any(stopped)
    monkeypatch.setattr(model_geometry, "CLEAR", np.inf)
    stopped.clear()
    whole = consistent_within_geometry(info, within=ALL)
    assert stopped and not any(stopped)
    assert found.notes == whole.notes
    np.testing.assert_array_equal(found.parameters, whole.parameters)


def test_many_doubted_bodies_are_freed_in_groups(arm, free, monkeypatch):
    robot, info = arm
    monkeypatch.setattr(model_geometry, "GROUPS", 1)
    found = consistent_within_geometry(info, within=ALL)
    shapes = bounding_ellipsoids(robot)[0]
    outside = [name for name in shapes if not is_realizable(free.theta[robot.body_names.index(name)], shapes[name])]
    assert all(f" {name}" in found.notes[-1].replace(":", " ").replace(",", " ") for name in outside)


def test_shapes_that_hold_the_truth_stay(arm):
    robot, _ = arm
    theta = robot.inertias.copy()
    for name, ellipsoid in bounding_ellipsoids(robot)[0].items():
        i = robot.body_names.index(name)
        second = theta[i, 0] * (np.outer(ellipsoid.center, ellipsoid.center) + ellipsoid.Q / 10)
        theta[i, 1:4] = theta[i, 0] * ellipsoid.center
        inertia = np.trace(second) * np.eye(3) - second
        theta[i, 4:] = inertia[[0, 0, 1, 0, 1, 2], [0, 1, 1, 2, 2, 2]]
    truth = robot.with_inertias(theta)
    log = record(truth, rich_motion(truth, duration=10.0, seed=1), seed=1, sensors=Sensors(torque_noise=0.01)).log
    info = accumulate(robot, differentiate(log))
    found = consistent_within_geometry(info, within=ALL)
    assert not any(note.startswith("The data contradicts") for note in found.notes)
    np.testing.assert_array_equal(found.parameters, sy.fit.consistent(info, within="geometry").parameters)


def test_shapes_asked_for_by_name_are_kept(arm):
    robot, info = arm
    named = dict.fromkeys(robot.body_names, "geometry")
    found = consistent_within_geometry(info, within=named)
    np.testing.assert_array_equal(found.parameters, sy.fit.consistent(info, within=named).parameters)


def test_shapes_with_which_nothing_is_found_are_contradicted(arm, free, monkeypatch):
    robot, info = arm
    shapes = bounding_ellipsoids(robot)[0]

    def refused(within):
        if isinstance(within, dict) and all(within.get(name, "geometry") == "geometry" for name in shapes):
            raise FitError("The cone solver found no solution.")
        return within

    nearest = Trials.nearest
    monkeypatch.setattr(Trials, "nearest", lambda self, within, **options: nearest(self, refused(within), **options))
    told = model_geometry.as_told
    monkeypatch.setattr(
        model_geometry, "as_told", lambda info, known: told(info, replace(known, within=refused(known.within)))
    )
    found = consistent_within_geometry(info, within=ALL)
    assert error(info, found) < 1.1 * error(info, free)
    (note,) = (note for note in found.notes if note.startswith("The data contradicts"))
    assert "no model explains the torques" in note
    with pytest.raises(FitError, match="no solution"):
        consistent_within_geometry(info, within=dict.fromkeys(robot.body_names, "geometry"))
