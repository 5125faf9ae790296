"""The inertial element of a link, ready to paste into a URDF or MJCF file. Numbers are printed so that they read back
exactly.
"""

import numpy as np

from steelyard.errors import InertiaError
from steelyard.inertia import checks, conventions
from steelyard.inertia.realizability import is_consistent


def urdf_inertial(theta) -> str:
    """URDF `<inertial>` element, inertia about the centre of mass in link axes. theta: (10,), consistent (else
    InertiaError).
    """
    mass, xyz, _, inertia = conventions.to_urdf(_one_body(theta))
    names = ("ixx", "ixy", "ixz", "iyy", "iyz", "izz")
    moments = " ".join(f'{name}="{_number(value)}"' for name, value in zip(names, inertia, strict=True))
    origin, weight = f'<origin xyz="{_numbers(xyz)}" rpy="0 0 0"/>', f'<mass value="{_number(mass)}"/>'
    return f"<inertial>\n  {origin}\n  {weight}\n  <inertia {moments}/>\n</inertial>"


def mjcf_inertial(theta) -> str:
    """MJCF `<inertial>` element with `fullinertia`. theta: (10,), consistent (else InertiaError)."""
    mass, pos, fullinertia = conventions.to_mujoco_full(_one_body(theta))
    return f'<inertial pos="{_numbers(pos)}" mass="{_number(mass)}" fullinertia="{_numbers(fullinertia)}"/>'


def _one_body(theta):
    theta = np.asarray(checks.as_vector(theta, "theta"), dtype=float)
    if theta.shape != (10,):
        raise InertiaError(f"theta has shape {theta.shape}; a file element describes one body, expected (10,)")
    if not is_consistent(theta):
        raise InertiaError(
            f"theta {theta.tolist()} is not physically consistent, and simulators refuse such a body; project it "
            "onto Consistent() first"
        )
    return theta


def _number(value):
    return repr(float(value))


def _numbers(values):
    return " ".join(_number(value) for value in values)
