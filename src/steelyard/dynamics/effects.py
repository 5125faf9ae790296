"""Torques of a joint that depend on its own motion only: friction and armature.

Coulomb friction is smoothed around standstill, `tanh(v / width)`. Behind a low-pass filter the measured torque jumps no
faster than the filter lets it, and so must the column: a filtered log carries its filtered direction of motion.
"""

from array_api_compat import array_namespace

from steelyard.parameters import COULOMB_WIDTH


def effect_column(term: str, v, a, *, direction=None, coulomb_width: float = COULOMB_WIDTH):
    """Torque per unit of one parameter: viscous, coulomb, offset or armature.

    v, a: arrays of one shape. direction: the same shape, smoothed sign of v; `tanh(v / coulomb_width)` by default.
    Returns that shape.
    """
    xp = array_namespace(v, a)
    if term == "viscous":
        return v
    if term == "coulomb":
        return xp.tanh(v / coulomb_width) if direction is None else direction
    return a if term == "armature" else xp.ones_like(v)


def friction_torque(robot, v, *, direction=None, coulomb_width: float = COULOMB_WIDTH):
    """Friction a robot's model states: damping and frictionloss. v, direction: (..., nv). Returns (..., nv)."""
    xp = array_namespace(v)
    damping, loss = (xp.asarray(x, dtype=v.dtype) for x in (robot.damping, robot.frictionloss))
    return damping * v + loss * effect_column("coulomb", v, v, direction=direction, coulomb_width=coulomb_width)
