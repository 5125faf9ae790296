"""How motion is spread over a log, of motions whose spread is known."""

import numpy as np
import pytest

from steelyard.log import Log
from steelyard.pipeline import inspect
from steelyard.pipeline.inspection import idle_ends, shares


def moving(start, stop, n=2000):
    """Two joints at 100 Hz that move between two times only."""
    t = np.arange(n) / 100
    window = np.where((t >= start) & (t <= stop), np.sin(np.pi * (t - start) / (stop - start)) ** 2, 0.0)
    q = window[:, None] * np.sin(2 * np.pi * t[:, None] * [0.5, 0.8])
    return Log(t=t, q=q, v=np.gradient(q, t, axis=0), tau=q)


def test_shares_of_each_tenth():
    v = np.repeat([0.0, 2.0], [900, 100])[:, None] * [1.0, 0.0]
    found = shares(v)
    assert found.shape == (10, 2)
    assert np.allclose(found[:, 0], [0.0] * 9 + [np.sqrt(10)]) and not found[:, 1].any()
    assert np.allclose(np.mean(shares(np.random.default_rng(0).normal(size=(1000, 3))) ** 2, axis=0), 1.0)


@pytest.mark.parametrize(
    ("span", "codes"),
    [
        ((0.0, 20.0), []),
        ((3.0, 20.0), ["idle_start"]),
        ((0.0, 15.0), ["idle_end"]),
        ((2.0, 15.0), ["idle_start", "idle_end"]),
    ],
)
def test_idle_ends_are_named_with_their_times(span, codes):
    log = moving(*span)
    found = list(idle_ends(log))
    assert [finding.code for finding in found] == codes
    assert [each.code for each in inspect(log).findings if each.code.startswith("idle")] == codes
    for finding in found:  # the remedy is one that can be pasted, and that helps
        cut = eval(finding.message[finding.message.index("log[") : finding.message.rindex("]") + 1], {"log": log})
        end = {"idle_start": 0, "idle_end": -1}[finding.code]
        assert abs(cut.t[end] - span[end]) < 1.5
        assert not list(idle_ends(cut))


def test_a_robot_at_rest_has_no_idle_end():
    log = moving(0.0, 20.0)
    assert not list(idle_ends(log.replace(q=np.zeros_like(log.q), v=np.zeros_like(log.q))))
