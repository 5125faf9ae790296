"""Torques of a joint that depend on its own motion only: friction and armature.

Coulomb friction is smoothed around standstill, `tanh(v / width)`: near zero speed the sign of a measured speed is
noise, and a bare sign puts that noise into the regression (it biases real logs by tens of percent).
"""

from array_api_compat import array_namespace

# rad/s or m/s. Blocked cross-validation on real logs (Panda, UR10, TX40) is best between 0.02 and 0.1 and flat there.
COULOMB_WIDTH = 0.05


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
