"""The next motion with a payload, from what an earlier one left open of it."""

from dataclasses import replace

import numpy as np
import pytest

import steelyard as sy
from robots import urdf
from steelyard.errors import OptionError
from steelyard.inertia import from_com_inertia, transform_matrix
from steelyard.payload import carried_log, identify, predicted_wrench

HELD = from_com_inertia(1.5, np.array([0.05, 0.02, 0.08]), np.diag([0.004, 0.005, 0.003]))
NOISE = (0.1, 0.005)
FRAME = "ee_link"  # fixed to the last body and turned against it
LIMITS = sy.excite.Limits(collisions=False)
OPTIONS = {"focus": "payload", "rows": f"wrench:{FRAME}", "limits": LIMITS, "harmonics": 2}


@pytest.fixture(scope="module")
def arm():
    return sy.load(urdf("ur5_robot"))


def recorded(arm, evaluate, duration, seed=0):
    t = np.arange(0, duration, 0.01)
    q, v, a = evaluate(t)
    log = carried_log(arm, t=t, q=q, v=v, a=a, wrench=np.zeros((len(t), 6)), frame=FRAME)
    noise = np.random.default_rng(seed).normal(size=(len(t), 6)) * np.repeat(NOISE, 3)
    return replace(log, wrench=predicted_wrench(HELD, log) + noise)


def slow(t):
    rate, size, phase = np.array([1.0, 1.2, 1.5, 1.0, 1.9, 1.1]), np.array([0.1, 0.1, 0.1, 0.8, 0.8, 0.8]), np.arange(6)
    x = rate * t[:, None] + phase
    return size * np.sin(x), size * rate * np.cos(x), -size * rate**2 * np.sin(x)


@pytest.fixture(scope="module")
def first(arm):
    """What a slow motion shows: mass and centre of mass, the inertia hardly."""
    return identify(recorded(arm, slow, 2.0), noise=NOISE)


def afterwards(first, arm, evaluate, duration):
    """(10, 10) covariance with the samples of another motion, in the sensor frame."""
    log = recorded(arm, evaluate, duration)
    rows = np.stack([predicted_wrench(unit, log) for unit in np.eye(10)], axis=-1) / np.repeat(NOISE, 3)[:, None]
    return np.linalg.inv(np.linalg.inv(first.covariance) + np.einsum("nij,nik->jk", rows, rows))


def test_what_is_open_becomes_known(arm, first):
    """The promise is the covariance that samples of the motion give, which is smaller than after other motions; and the
    payload found then is nearer to the truth."""
    made = sy.excite.design(arm, 4.0, after=first, **OPTIONS)
    found = afterwards(first, arm, made.evaluate, 4.0)
    frame = arm.frame(FRAME)
    to_body = transform_matrix(frame.rotation, frame.position)
    promised = np.linalg.inv(to_body) @ made.covariance @ np.linalg.inv(to_body).T
    np.testing.assert_allclose(np.diag(promised), np.diag(found), rtol=0.02)

    whole = sy.excite.design(arm, 4.0, limits=LIMITS, harmonics=2)  # for the arm's own parameters
    others = [whole.evaluate, *(sy.simulate.rich_motion(arm, duration=4.0, seed=k).evaluate for k in range(3))]
    volumes = [np.linalg.slogdet(afterwards(first, arm, each, 4.0))[1] for each in others]
    assert np.linalg.slogdet(found)[1] < min(volumes)
    again = identify(recorded(arm, made.evaluate, 4.0, seed=1), noise=NOISE, prior=first)
    assert np.sqrt(np.diag(found))[4:].max() < 0.2 * np.sqrt(np.diag(first.covariance))[4:].max()
    assert np.abs(again.theta - HELD)[4:].max() < 0.5 * np.abs(first.theta - HELD)[4:].max()


def test_what_does_not_fit_is_refused(arm, first):
    for wrong in ({"focus": None}, {"rows": ("joints", f"wrench:{FRAME}")}, {"rows": "base"}):
        with pytest.raises(OptionError, match="focus='payload', and for rows of the sensor"):
            sy.excite.design(arm, 4.0, after=first, **(OPTIONS | wrong))
