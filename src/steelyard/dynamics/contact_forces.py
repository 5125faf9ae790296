"""Contacts: which forces a frame that touches something at rest can take, and where they reach the robot.

A point takes three forces and no moment, a line no moment about itself (the x axis of its frame), a flat face all six.
"""

from collections.abc import Mapping, Sequence

import numpy as np

from steelyard.dynamics.frames import frame_rows
from steelyard.errors import OptionError, choices
from steelyard.model import Robot
from steelyard.numbers import NEGLIGIBLE, SAME

# Components of the wrench `[f; n]`, in the axes of the frame.
CONTACT_KINDS = {"point": (0, 1, 2), "line": (0, 1, 2, 4, 5), "flat": (0, 1, 2, 3, 4, 5)}


def require_contact_kinds(kinds: str | Mapping[str, str]) -> None:
    """Raise OptionError for kinds of contacts, one for all or by frame, that there are not."""
    for kind in (kinds,) if isinstance(kinds, str) else kinds.values():
        if kind not in CONTACT_KINDS:
            raise OptionError(f"contacts are any of {choices(CONTACT_KINDS)}, for all or by frame; got {kind!r}.")


def contact_jacobian(robot: Robot, q, frames: Sequence[str], kinds: Sequence[str]) -> np.ndarray:
    """(n, nv, m) Jacobians along which contacts hold their frames, turned over: what their forces ask of the joints.

    q: (nq, n). kinds: of `CONTACT_KINDS`, one a frame.
    """
    columns = []
    for (rows, R), kind in zip(frame_rows(robot, q, tuple(frames)), kinds, strict=True):
        if kind == "line":  # of three forces, and of three moments, the axes do not matter
            rows = np.concatenate([rows[:3], np.einsum("jin,jkn->ikn", R, rows[3:])])
        columns += [rows[component] for component in CONTACT_KINDS[kind]]
    return (
        np.ascontiguousarray(np.stack(columns).transpose(2, 1, 0)) if columns else np.zeros((q.shape[1], robot.nv, 0))
    )


def orthonormal(A) -> np.ndarray:
    """(n, d, min(d, m)) orthonormal bases of the columns of A (n, d, m), with zeros where the rank is lower."""
    if A.shape[2] > A.shape[1]:
        return _by_singular_values(A)
    Q, R = np.linalg.qr(A)
    size = np.abs(np.diagonal(R, axis1=1, axis2=2))
    poor = size.min(axis=1, initial=np.inf) <= SAME * size.max(axis=1, initial=0.0)
    if poor.any():
        Q[poor] = _by_singular_values(A[poor])
    return Q


def _by_singular_values(A) -> np.ndarray:
    U, singular, _ = np.linalg.svd(A, full_matrices=False)
    return U * (singular > NEGLIGIBLE * singular[:, :1])[:, None]
