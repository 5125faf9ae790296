"""Base columns of long chains whose frames lie a little off their axes: no multiples grow from joint to joint."""

from dataclasses import replace

import numpy as np
import pytest

import steelyard as sy
from robots import random_state
from steelyard.identifiable import identifiability, null_space
from steelyard.identifiable.thresholds import THRESHOLDS
from steelyard.model import Joint, Robot, revolute_subspace

AXES = {"parallel": ([0, 1.0, 0], [0, 1.0, 0]), "crossed": ([0, 1.0, 0], [0, 0, 1.0])}


def spine(axes, anchor, count=25):
    """Joints 0.1 m apart, whose axes pass the bodies' frames at `anchor`, m."""
    joints = tuple(
        Joint(f"j{i}", "revolute", revolute_subspace(axes[i % 2], anchor=anchor), np.eye(3), np.array([0.1, 0, 0]))
        for i in range(count)
    )
    names, none = tuple(f"b{i}" for i in range(count)), np.zeros(count)
    theta = np.tile([1.0, 0, 0, 0, 0.01, 0, 0.01, 0, 0, 0.01], (count, 1))
    gravity = np.array([0, 0, -9.81])
    return Robot("spine", joints, np.arange(count) - 1, names, np.arange(count), theta, gravity, none, none, none)


@pytest.mark.parametrize("axes", AXES.values(), ids=AXES)
@pytest.mark.parametrize("anchor", [[0.01, 0, 0], [0.003, 0.001, 0.01], [0.05, 0, 0], [0.02, 0, 0.1]], ids=str)
def test_multiples_do_not_grow_along_a_spine(axes, anchor, monkeypatch):
    robot = spine(axes, np.array(anchor))
    found = identifiability(robot)
    assert np.abs(found.basis.regrouping).max() < 100
    Y = sy.regressor(robot, *random_state(robot, np.random.default_rng(0), (20,))).reshape(-1, 10 * robot.nb)
    np.testing.assert_allclose(Y[:, found.basis.columns] @ found.basis.regrouping, Y, atol=1e-9 * np.abs(Y).max())
    monkeypatch.setattr(null_space, "THRESHOLDS", replace(THRESHOLDS, largest_growth=np.inf))  # the paper's choice
    wrong = identifiability(robot)
    assert wrong.count == found.count
    assert np.abs(wrong.basis.regrouping).max() > 1e8
