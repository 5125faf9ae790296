import pickle

import numpy as np
import pytest

from steelyard.errors import LogError
from steelyard.log import Log

T = np.arange(5.0)
Q = np.arange(15.0).reshape(5, 3)


@pytest.mark.parametrize("kind", [list, np.float32, np.int64, "readonly", "fortran", "strided"])
def test_takes_what_a_user_has_and_never_changes_it(kind):
    given = {
        list: lambda: Q.tolist(),
        np.float32: lambda: Q.astype(np.float32),
        np.int64: lambda: Q.astype(np.int64),
        "readonly": lambda: np.broadcast_to(Q, Q.shape),
        "fortran": lambda: np.asfortranarray(Q),
        "strided": lambda: np.repeat(Q, 2, axis=0)[::2],
    }[kind]()
    log = Log(t=T, q=given)
    assert log.q.dtype == np.float64 and not log.q.flags.writeable
    np.testing.assert_array_equal(log.q, Q)
    with pytest.raises(ValueError):
        log.q[0, 0] = 1
    if isinstance(given, np.ndarray) and given.flags.writeable:
        given[0, 0] = 99  # still the caller's to write, and not the log's
        assert log.q[0, 0] == 0


def test_one_joint_and_column_time():
    log = Log(t=T[:, None], q=T)
    assert log.t.shape == (5,) and log.q.shape == (5, 1) and log.nv == 1


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"q": Q[:4]}, r"t has 5 samples, but q has shape \(4, 3\)"),
        ({"q": Q.T}, "pass the transpose"),
        ({"tau": Q[:, :2], "v": Q}, r"v has shape \(5, 3\), tau has shape \(5, 2\)"),
        ({"tau": Q, "joint_names": ["a", "b"]}, r"tau has shape \(5, 3\), joint_names has 2 names"),
        ({"q": np.zeros((5, 3, 1))}, r"q has shape \(5, 3, 1\), expected \(n, columns\)"),
        ({"t": Q}, r"t has shape \(5, 3\), expected \(n,\)"),
        ({"q": None}, "q must be an array of numbers, found NoneType"),
        ({"q": [["a"]] * 5}, "q must be an array of numbers"),
        ({"q": [[1.0], [1.0, 2.0]]}, "q must be an array of numbers"),
        ({"joint_names": ["a", "b", "a"]}, "more than once: a"),
        ({"units": {"q": "furlong"}}, "'furlong' is not a unit of q; expected one of"),
        ({"units": {"torque": "Nm"}}, "no channel torque; known: t, q, v, a, tau"),
    ],
)
def test_refuses_by_name_and_shape(changes, message):
    with pytest.raises(LogError, match=message):
        Log(**({"t": T, "q": Q} | changes))


def test_units_are_converted_once_and_noted():
    log = Log(t=T, q=np.full((5, 1), 180.0), tau=np.ones((5, 1)), units={"t": "ms", "q": "deg", "tau": "mN m"})
    np.testing.assert_allclose(log.q, np.pi)
    np.testing.assert_allclose(log.t, T / 1000)
    np.testing.assert_allclose(log.tau, 1e-3)
    assert len(log.notes) == 3 and log.units["q"] == "rad or m"
    again = log.replace(name="again").replace(tau=[[2.0]] * 5)
    np.testing.assert_array_equal(again.q, log.q)
    with pytest.raises(LogError, match="without new values"):
        log.replace(units={"q": "deg"})


def test_slices_masks_and_indices(motion):
    log = motion()
    assert len(log[10:20]) == 10
    np.testing.assert_array_equal(log[10:20].tau, log.tau[10:20])
    mask = log.q[:, 0] > 0
    np.testing.assert_array_equal(log[mask].t, log.t[mask])
    np.testing.assert_array_equal(log[[1, 5, 9]].v, log.v[[1, 5, 9]])
    assert len(log[0:0]) == 0 and log[0:0].duration == 0
    for wrong in (slice(None, None, -1), [3, 2], [2, 2], 4):
        with pytest.raises(LogError, match="order is kept"):
            log[wrong]


def test_figures(motion):
    log = motion()
    assert log.rate == pytest.approx(100) and log.duration == pytest.approx(9.99)
    assert log.missing == () and Log(t=T, q=Q).missing == ("v", "a", "tau")
    assert Log(t=T, q=Q).labels == ("column 1", "column 2", "column 3")
    assert Log(t=T, q=np.zeros((5, 7)), v=np.zeros((5, 6))).nv == 6
    with pytest.raises(LogError, match="needs at least 2"):
        _ = log[:1].rate


def test_select_and_replace(motion):
    log = motion()
    part = log.select(["wrist", 0])
    assert part.joint_names == ("wrist", "shoulder") and "elbow" in part.notes[-1]
    np.testing.assert_array_equal(part.tau, log.tau[:, [2, 0]])
    with pytest.raises(LogError, match="no joint 'hand'; it has shoulder, elbow, wrist"):
        log.select(["hand"])
    with pytest.raises(LogError, match="no field velocity"):
        log.replace(velocity=1)
    assert log.noted("x").notes == ("x",)


def test_survives_pickling(motion):
    copy = pickle.loads(pickle.dumps(motion()))
    np.testing.assert_array_equal(copy.q, motion().q)


def test_what_was_clipped_goes_with_its_torques():
    """A new tau no longer tells which torques a drive had clipped."""
    side = np.zeros((4, 2))
    side[1, 0], side[3, 1] = 1, -1
    log = Log(t=np.arange(4.0), q=np.zeros((4, 2)), tau=np.ones((4, 2)), clipped=side, joint_names=("a", "b"))
    np.testing.assert_array_equal(log[1:].clipped, side[1:])
    np.testing.assert_array_equal(log.select(["b"]).clipped, side[:, [1]])
    np.testing.assert_array_equal(log.replace(q=log.q + 1).clipped, side)
    assert log.replace(tau=2 * log.tau).clipped is None
    with pytest.raises(LogError, match="clipped has shape"):
        log.replace(clipped=side[:2])
