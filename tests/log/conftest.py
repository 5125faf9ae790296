"""A stand-in robot, an analytic log, and the measured logs beside the checkout."""

from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pytest

from steelyard.log import Log

DATA = Path(__file__).parents[2] / ".." / "shared" / "data"


@dataclass(frozen=True)
class FakeRobot:
    """The few attributes of a robot that reading and checking a log uses."""

    joint_names: tuple[str, ...] = ("shoulder", "elbow", "wrist")
    nq: int = 3
    nv: int = 3
    mimic_names: tuple[str, ...] = ()
    lower: object = None
    upper: object = None


@pytest.fixture
def fake_robot():
    return FakeRobot


@pytest.fixture(scope="session")
def motion():
    """motion(t=None, **changes): three joints on sums of sines below 1.5 Hz, exact v and a, a smooth torque."""

    def make(t=None, **changes):
        t = np.arange(0, 10, 0.01) if t is None else t
        w = 2 * np.pi * np.array([[0.31, 0.57, 0.83], [1.1, 1.3, 0.7]])
        size = np.array([[0.8, 0.6, 0.9], [0.1, 0.2, 0.15]])
        phase = w * t[:, None, None] + np.array([0.3, 1.2, 2.1])
        q = np.sum(size * np.sin(phase), axis=1)
        v = np.sum(size * w * np.cos(phase), axis=1)
        a = np.sum(-size * w**2 * np.sin(phase), axis=1)
        tau = 3 * a + 10 * np.cos(q)
        arrays = {"t": t, "q": q, "v": v, "a": a, "tau": tau, "joint_names": ("shoulder", "elbow", "wrist")}
        return Log(**(arrays | changes))

    return make


@pytest.fixture
def measured():
    """Path of a measured log, or skip."""

    def find(name):
        path = DATA / name
        if not path.exists():
            pytest.skip(f"measured log {name} is not beside the checkout")
        return path

    return find
