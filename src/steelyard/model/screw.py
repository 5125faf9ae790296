"""Axis, anchor and pitch of a joint of one degree of freedom, as file formats write it."""

import numpy as np

from steelyard.model.joint import Joint


def screw(joint: Joint):
    """Unit axis (3,), the point of it nearest to the child origin (3,) [m] and pitch [m/rad] of a revolute joint.

    A prismatic joint has its direction as axis, no anchor and no pitch. All in child axes.
    """
    v, w = joint.subspace[:3, 0], joint.subspace[3:, 0]
    if not w.any():
        return v, np.zeros(3), 0.0
    anchor = np.cross(w, v)
    return w, np.where(np.abs(anchor) > 1e-15, anchor, 0.0), float(w @ v)
