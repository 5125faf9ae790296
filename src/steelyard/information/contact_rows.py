"""Rows of robots in contact: what unknown forces at known places leave of the equations of joints.

Contacts add `J^T f` with forces f that nobody measured. With row weights W the best forces are eliminated exactly: of
rows `y`, what no force can explain is left,

    y - J^T (J W J^T)^+ J W y = W^-1/2 (1 - Q Q^T) W^1/2 y,      Q an orthonormal basis of the columns of W^1/2 J^T,

still one row a degree and in its unit, so that each keeps a noise of its own. Of `nv` rows `rank J` are lost: a row
counts for its `1 - |Q_i|^2`, which add up to what is left. Weights have to be known here, because rows are mixed.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import lru_cache

import numpy as np

from steelyard.dynamics import coordinate_map, external_rows, external_torque, frame_rows, tree
from steelyard.errors import LogError, OptionError, choices
from steelyard.information.regression_rows import require_finite
from steelyard.information.row_kinds import OF_JOINTS
from steelyard.log import Log
from steelyard.model import WORLD, Robot
from steelyard.namespaces import array_namespace

# Components of the wrench `[f; n]` that a contact can make, in the axes of its frame; a line is along the frame's x.
CONTACT_KINDS = {"point": (0, 1, 2), "line": (0, 1, 2, 4, 5), "flat": (0, 1, 2, 3, 4, 5)}
RANK = 1e-9  # of the largest singular value, below which a direction of contact forces is none
BLOCK = 4096  # samples whose known wrenches are moved at once
SAFE = 1e-5  # of the largest diagonal entry of a triangular factor: above it nothing is near that rank


@dataclass(frozen=True)
class Contacts:
    """Where forces that nobody measured may act: frames, and the kind of contact of each. weights (nv,): of rows."""

    robot: Robot
    frames: tuple[str, ...]
    kinds: tuple[str, ...]
    weights: tuple[float, ...]

    @property
    def degrees(self) -> np.ndarray:
        """Degrees of freedom that forces there can act on."""
        return _degrees(self.robot, self.frames)


def contacts_of(robot: Robot, frames, kinds: str | Mapping[str, str], weights) -> Contacts:
    """Contacts of a robot.

    Args:
        robot: the robot.
        frames: names of links or other frames.
        kinds: of `CONTACT_KINDS`, one for all or by frame (points where it says nothing).
        weights: (nv,) of the rows, positive, None for equal ones.

    Returns:
        The Contacts.

    Raises:
        ModelError: no such frame.
        OptionError: an unknown kind, or weights that are not positive.
    """
    for frame in frames:
        robot.frame(frame)
    named = dict.fromkeys(frames, kinds) if isinstance(kinds, str) else dict(kinds)
    require_contact_kinds(kinds)
    return Contacts(
        robot,
        tuple(frames),
        tuple(named.get(frame, "point") for frame in frames),
        tuple(np.ones(robot.nv) if weights is None else weights),
    )


def require_contact_kinds(kinds: str | Mapping[str, str]) -> None:
    """Refuse kinds of contacts that there are not.

    Args:
        kinds: as of `contacts_of`.

    Raises:
        OptionError: lists the kinds.
    """
    for kind in (kinds,) if isinstance(kinds, str) else kinds.values():
        if kind not in CONTACT_KINDS:
            raise OptionError(f"contacts are any of {choices(CONTACT_KINDS)}, for all or by frame; got {kind!r}.")


def flags_of(log: Log) -> np.ndarray:
    """Flags of the contacts of a log.

    Args:
        log: with contacts.

    Returns:
        (n, c) bool, in the order of `log.contacts`; whatever is not zero touches.
    """
    if not log.contacts:
        return np.zeros((len(log), 0), dtype=bool)
    return np.stack([np.asarray(each) != 0 for each in log.contacts.values()], axis=1)


def require_usable(robot: Robot, kinds: tuple[str, ...], log: Log) -> np.ndarray:
    """Refuse a log whose contacts or wrenches rows of these kinds have no place for.

    Args:
        robot: the robot.
        kinds: of rows.
        log: the log.

    Returns:
        Its flags, as of `flags_of`.

    Raises:
        LogError: with what to do.
    """
    flags, about = flags_of(log), f"Log '{log.name}' has"
    if flags.any() and (kinds != ("joints",) or robot.loops):
        raise LogError(
            f"{about} contacts, whose unknown forces are in rows of {choices(kinds)}"
            + (", and the robot has closed loops" if robot.loops else "")
            + ". Use rows of joints, of a robot without loops, or samples without contacts."
        )
    if log.external and (not set(kinds) <= set(OF_JOINTS) or robot.loops):
        raise LogError(
            f"{about} wrenches from outside ({choices(log.external)}), which go with rows of joints of a robot without "
            f"closed loops, not with {choices(kinds)}. Leave them out of the log, or these rows out of the fit."
        )
    return flags


def explained_torque(robot: Robot, log: Log, q, tau):
    """What motion has to explain: measured torques, and what known wrenches on the robot add to them.

    Args:
        robot: the robot.
        log: whose wrenches are added.
        q: (n, nq) of the log.
        tau: (n, nv) of the log.

    Returns:
        (n, nv).

    Raises:
        LogError: a wrench that is not finite.
        ModelError: one on a frame that the robot does not have.
    """
    if not log.external:
        return tau
    parts = []
    for name, wrench in log.external.items():
        require_finite(log, f"external wrench on {name}", wrench)
    for start in range(0, len(q), BLOCK):
        part = slice(start, start + BLOCK)
        here, at = {name: wrench[part] for name, wrench in log.external.items()}, np.asarray(q[part]).T
        parts.append(external_torque(robot, at, external_rows(robot, at.shape[1:], here, at)).T)
    return tau + array_namespace(tau).asarray(np.concatenate(parts), dtype=tau.dtype)


def contact_sets(flags: np.ndarray) -> Iterator[tuple[np.ndarray, np.ndarray]]:
    """Samples by what touches there.

    Args:
        flags: (n, c) of the contacts.

    Returns:
        An iterator of indices of contacts (none in flight) and indices of samples.
    """
    sets, which = np.unique(flags, axis=0, return_inverse=True)
    order = np.argsort(which.ravel(), kind="stable")
    edges = np.searchsorted(which.ravel()[order], np.arange(len(sets) + 1))
    for touching, start, stop in zip(sets, edges[:-1], edges[1:], strict=True):
        yield np.flatnonzero(touching), order[start:stop]


def force_directions(contacts: Contacts, touching, q, roots) -> np.ndarray:
    """Orthonormal directions of rows that contact forces reach.

    Args:
        contacts: of the robot.
        touching: (c,) indices of those that touch.
        q: (nq, n).
        roots: (n, d) square roots of the weights of `contacts.degrees`.

    Returns:
        (n, d, m), with columns of zeros where the rank is lower.
    """
    names = tuple(contacts.frames[i] for i in touching)
    columns = []
    for (rows, R), i in zip(frame_rows(contacts.robot, q, names), touching, strict=True):
        turned = np.einsum("jin,jkn->nki", R, rows[:3]), np.einsum("jin,jkn->nki", R, rows[3:])
        columns.append(np.concatenate(turned, axis=2)[:, :, CONTACT_KINDS[contacts.kinds[i]]])
    return orthonormal(np.concatenate(columns, axis=2)[:, contacts.degrees] * roots[:, :, None])


def orthonormal(A) -> np.ndarray:
    """Orthonormal bases of the columns of matrices.

    Args:
        A: (n, d, m).

    Returns:
        (n, d, min(d, m)), with columns of zeros where the rank is lower.
    """
    if A.shape[2] > A.shape[1]:
        return _by_singular_values(A)
    Q, R = np.linalg.qr(A)
    size = np.abs(np.diagonal(R, axis1=1, axis2=2))
    poor = size.min(axis=1) <= SAFE * size.max(axis=1)
    if poor.any():
        Q[poor] = _by_singular_values(A[poor])
    return Q


def _by_singular_values(A) -> np.ndarray:
    U, singular, _ = np.linalg.svd(A, full_matrices=False)
    return U * (singular > RANK * singular[:, :1])[:, None]


def projected_rows(rows, Q, roots) -> np.ndarray:
    """What no contact force explains of rows.

    Args:
        rows: (n, d, k) of the degrees that contacts reach; changed.
        Q: (n, d, m) of `force_directions`.
        roots: (n, d) square roots of the weights.

    Returns:
        (n, d, k), weighed by the roots.
    """
    rows *= roots[:, :, None]
    rows -= Q @ (Q.mT @ rows)
    return rows


def unexplained(contacts: Contacts, flags, q, torque) -> np.ndarray:
    """Torques that no contact force explains.

    Args:
        contacts: of the log.
        flags: (n, c) bool.
        q: (n, nq).
        torque: (n, nv).

    Returns:
        (n, nv); where nothing touches, the torques themselves.
    """
    left, degrees = np.array(torque, dtype=float), contacts.degrees
    fixed = np.sqrt(np.array(contacts.weights))[degrees]
    for touching, samples in contact_sets(flags):
        for start in range(0, len(samples) if len(touching) else 0, BLOCK):
            part = samples[start : start + BLOCK]
            roots = np.broadcast_to(fixed, (len(part), len(fixed)))
            Q = force_directions(contacts, touching, np.ascontiguousarray(np.asarray(q[part]).T), roots)
            here = np.ix_(part, degrees)
            left[here] = projected_rows(left[here][:, :, None], Q, roots)[:, :, 0] / fixed
    return left


@lru_cache(maxsize=64)
def _degrees(robot: Robot, frames: tuple[str, ...]) -> np.ndarray:
    constants, moved = tree(robot), np.zeros(len(tree(robot).coordinates), dtype=bool)
    for frame in frames:
        body = robot.frame(frame).body
        if body != WORLD:
            moved |= constants.ancestors[robot.body_joints[body]] != 0
    return np.flatnonzero((coordinate_map(robot) != 0) @ moved)
