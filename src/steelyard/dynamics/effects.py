"""Torques of a joint that depend on its own motion only: friction and armature, as regression columns and as known torques.

Coulomb friction is smoothed around standstill, `tanh(v / width)`: near zero speed the sign of a measured speed is
noise, and a bare sign puts that noise into the regression (it biases real logs by tens of percent).
"""

from array_api_compat import array_namespace

COULOMB_WIDTH = 0.02  # rad/s or m/s: a few times the speed noise of common encoders, small against working speeds


def effect_columns(terms, v, a, *, coulomb_width: float = COULOMB_WIDTH):
    """Columns of one degree of freedom.

    terms: names; v, a: (n,) its speed and acceleration. Returns a list of (n,) arrays.
    """
    return [effect_column(term, v, a, coulomb_width=coulomb_width) for term in terms]


def effect_column(term: str, v, a, *, coulomb_width: float = COULOMB_WIDTH):
    """Torque per unit of one parameter: viscous, coulomb, offset or armature.

    v, a: arrays of one shape. Returns that shape.
    """
    xp = array_namespace(v, a)
    if term == "viscous":
        return v
    if term == "coulomb":
        return xp.tanh(v / coulomb_width)
    return a if term == "armature" else xp.ones_like(v)


def friction_torque(robot, v, *, coulomb_width: float = COULOMB_WIDTH):
    """Friction a robot's model states: damping and frictionloss. v: (..., nv). Returns (..., nv)."""
    xp = array_namespace(v)
    damping, loss = (xp.asarray(x, dtype=v.dtype) for x in (robot.damping, robot.frictionloss))
    return damping * v + loss * xp.tanh(v / coulomb_width)
