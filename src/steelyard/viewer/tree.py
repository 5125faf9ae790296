"""The joint tree as JSON: what a page needs to place every body at any q (docs/view.md has the fields)."""

import numpy as np

from steelyard.model import Joint, Robot


def joint_tree(robot: Robot) -> list[dict]:
    """One entry a joint, parents first. frame: (12,) pose of the child in the parent at zero, `[R | p]` in row order;
    subspace: (nv, 6) columns of Phi, `[v; w]` in child axes; start: where it reads q, of length `count`.
    """
    return [
        {
            "name": joint.name,
            "kind": joint.kind,
            "parent": int(robot.parents[i]),
            "frame": frame(joint.rotation, joint.position),
            "subspace": joint.subspace.T.tolist(),
            "start": robot.q_slices[i].start,
            "count": joint.nq,
            "ratio": joint.ratio,
            "offset": joint.offset,
            "mimics": joint.mimics,
            "limits": _limits(joint),
        }
        for i, joint in enumerate(robot.joints)
    ]


def frame(rotation, position) -> list[float]:
    """(12,) `[R | p]` in row order."""
    return np.column_stack([rotation, position]).ravel().tolist()


def _limits(joint: Joint) -> list[float] | None:
    """Lower and upper limit of a joint of one coordinate, None where it has none."""
    ends = [float(joint.lower[0]), float(joint.upper[0])]
    return ends if joint.nq == 1 and np.isfinite(ends).all() and ends[0] < ends[1] else None


def start_pose(robot: Robot) -> np.ndarray:
    """(nq,) the neutral pose, each joint moved to the middle of its range where zero lies outside."""
    q = robot.neutral
    outside = (q < robot.lower) | (q > robot.upper)
    finite = np.isfinite(robot.lower) & np.isfinite(robot.upper)
    middle = 0.5 * (np.where(finite, robot.lower, 0.0) + np.where(finite, robot.upper, 0.0))
    return np.where(outside, np.where(finite, middle, np.clip(q, robot.lower, robot.upper)), q)
