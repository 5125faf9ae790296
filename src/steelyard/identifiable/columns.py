"""Columns of a Mechanism's regression: where each term stands, its unit there, and what the model states for it."""

import numpy as np

from steelyard.identifiable.mechanism import NO_COLUMN
from steelyard.model import Robot
from steelyard.terms import ParameterLayout, stated_values

BODY_POWERS = np.array([0, 1, 1, 1, 2, 2, 2, 2, 2, 2])  # of length in each inertial parameter


def term_columns(layout: ParameterLayout, term: str, count: int) -> np.ndarray:
    columns = np.full(count, NO_COLUMN)
    if term in layout.terms:
        columns[list(layout.dofs)] = np.arange(layout.size)[layout.term(term)]
    return columns


def column_scale(layout: ParameterLayout, length, size, pull) -> np.ndarray:
    """(p,) unit of each column for masses of one kilogram and lengths of one characteristic length."""
    scale = np.ones(layout.size)
    scale[layout.inertial] = np.tile(length**BODY_POWERS, len(layout.body_names))
    own = size[list(layout.dofs)]
    if "armature" in layout.terms:
        scale[layout.term("armature")] = length**2 * own**2
    if "offset" in layout.terms:
        scale[layout.term("offset")] = length * own * (pull or 1.0)
    return scale


def model_values(robot: Robot, joints, layout: ParameterLayout, names) -> np.ndarray:
    """(p,) the model's own parameters; offsets are zero."""
    values = np.zeros(layout.size)
    values[layout.inertial] = np.concatenate([joint.theta for joint in joints if joint.body is not None])
    index = {name: k for k, name in enumerate(robot.dof_names)}
    kept = [index[names[k]] for k in layout.dofs]
    for term, stated in stated_values(robot).items():
        if term in layout.terms:
            values[layout.term(term)] = stated[kept]
    return values
