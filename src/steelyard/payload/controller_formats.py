"""The payload as robot controllers want it. Each function states the convention it writes.

| controller | mass | centre of mass | inertia (about it) |
|---|---|---|---|
| Franka `setLoad` | kg | m, flange frame | flange axes, nine numbers column by column |
| Universal Robots `set_target_payload` | kg | m, tool flange | `[Ixx, Iyy, Izz, Ixy, Ixz, Iyz]` |
| KUKA load data (`LOAD_DATA`) | kg | mm, flange frame | principal, about it, axes as A, B, C in degrees |
| ABB `loaddata` (`tload`) | kg | mm, `tool0` | principal, about it, axes as a quaternion |
| ROS `geometry_msgs/Inertia` | kg | m | `ixx ixy ixz iyy iyz izz` |
| ros2_control, gravity compensation of a wrist sensor | weight in N, or kg | m, sensor frame | none |
"""

from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np

from steelyard.errors import InertiaError, OptionError, choices
from steelyard.inertia import conventions, is_consistent, parameters
from steelyard.model import Robot
from steelyard.payload.carried import frame_of
from steelyard.payload.payload_estimate import Payload, principal
from steelyard.spatial import GRAVITY, quaternion_of

FLANGES = ("tool0", "panda_link8", "fr3_link8", "link8", "tool_flange", "flange", "lbr_link_ee", "link_eef", "ee_link")
"""Links at the flange as vendors' models name them. Where a model has both, `tool0` has the controller's axes, and
`flange` those of ROS (REP 199)."""


def export(found: Payload | np.ndarray, format: str) -> str:
    """A payload as text in the format of a controller or model file.

    Args:
        found: a `Payload`, or theta (10,), in the frame of the format (`sy.inertia.transform` brings it there).
        format: a name of `FORMATS`.

    Returns:
        The text.

    Raises:
        InertiaError: a body that is not physically consistent, and a `Payload` whose status says that it is no result.
    """
    if isinstance(found, Payload) and not found.status.usable:
        raise InertiaError(f"this payload is not exported: {found.status.value}")
    theta = np.asarray(found.theta if isinstance(found, Payload) else found, dtype=float)
    if format not in FORMATS:
        raise OptionError(f"Unknown format {format!r}. Choose from {choices(FORMATS)}.")
    if theta.shape != (10,) or not is_consistent(theta):
        raise InertiaError(
            "export needs the ten parameters of a physically consistent body; identify with a shape or geo"
        )
    return FORMATS[format].write(theta)


def require_formats(formats: tuple[str, ...]) -> None:
    """Raise OptionError for formats that a payload is not exported in."""
    unknown = [each for each in formats if each not in FORMATS]
    if unknown:
        raise OptionError(f"--export has no {choices(unknown)}; it has {choices(FORMATS)}")


def exports(payload: Payload, formats: tuple[str, ...]) -> dict[str, str]:
    """The payload, in the axes of the flange, in each of the formats, under a comment that names the axes; none for a
    result that is not usable."""
    if not payload.status.usable:
        return {}
    said = f"axes and origin of {payload.frame}"
    return {each: f"{FORMATS[each].comment.format(said)}\n{export(payload, each)}" for each in formats}


def _franka(mass, com, inertia):
    """libfranka `Robot::setLoad(load_mass, F_x_Cload, load_inertia)`."""
    columns = inertia.T.ravel()  # column-major; the same as row-major for a symmetric matrix
    return f"robot.setLoad({_n(mass)}, {{{{{_list(com)}}}}}, {{{{{_list(columns)}}}}});"


def _ur(mass, com, inertia):
    """URScript `set_target_payload(m, cog, inertia)`."""
    xx, xy, xz, yy, yz, zz = inertia[np.triu_indices(3)]
    return f"set_target_payload({_n(mass)}, [{_list(com)}], [{_list((xx, yy, zz, xy, xz, yz))}])"


def _kuka(mass, com, inertia):
    """KRL frame `CM {X, Y, Z [mm], A, B, C [deg]}` of the principal axes, and principal moments J in kg m^2."""
    moments, R = principal(inertia)
    b = -np.arcsin(np.clip(R[2, 0], -1, 1))  # R = Rz(A) Ry(B) Rx(C)
    a, c = np.arctan2(R[1, 0], R[0, 0]), np.arctan2(R[2, 1], R[2, 2])
    x, y, z = 1e3 * com
    A, B, C = np.degrees([a, b, c])
    return (
        f"LOAD_DATA[1]={{M {_n(mass)},CM {{X {_n(x)},Y {_n(y)},Z {_n(z)},A {_n(A)},B {_n(B)},C {_n(C)}}},"
        f"J {{X {_n(moments[0])},Y {_n(moments[1])},Z {_n(moments[2])}}}}}"
    )


def _abb(mass, com, inertia):
    """RAPID `loaddata`: mass, centre of mass [mm], axes of moment [w, x, y, z], moments about it [kg m^2]."""
    moments, R = principal(inertia)
    x, y, z, w = quaternion_of(R)
    return f"PERS loaddata payload1 := [{_n(mass)}, [{_list(1e3 * com)}], [{_list((w, x, y, z))}], {_list(moments)}];"


def _ros(mass, com, inertia):
    xx, xy, xz, yy, yz, zz = inertia[np.triu_indices(3)]
    names = ("ixx", "ixy", "ixz", "iyy", "iyz", "izz")
    moments = "\n".join(f"{name}: {_n(value)}" for name, value in zip(names, (xx, xy, xz, yy, yz, zz), strict=True))
    x, y, z = (_n(value) for value in com)
    return f"m: {_n(mass)}\ncom:\n  x: {x}\n  y: {y}\n  z: {z}\n{moments}"


def _ros2_control(mass, com, inertia):
    """YAML of the parameters of `admittance_controller` (ros2_controllers), and of the filter `GravityCompensation`
    (control_toolbox), of a wrist sensor. com is in the sensor's frame."""
    return (
        "# admittance_controller of ros2_controllers; frame.id is the frame above\n"
        f"gravity_compensation:\n  CoG:\n    pos: [{_list(com)}]\n    force: {_n(-GRAVITY[2] * mass)}\n"
        "# control_filters/GravityCompensation of control_toolbox; sensor_frame is the frame above\n"
        f"tool:\n  CoG: [{_list(com)}]\n  mass: {_n(mass)}"
    )


def _n(value):
    return f"{float(value):.9g}"


def _list(values):
    return ", ".join(_n(value) for value in values)


def _of_body(written: Callable[..., str]) -> Callable[[np.ndarray], str]:
    """Text of theta (10,), of a function of mass, centre of mass and inertia about it."""
    return lambda theta: written(*parameters.to_com_inertia(theta))


@dataclass(frozen=True)
class ControllerFormat:
    """How a controller or model file takes a payload."""

    name: str
    comment: str  # a line of its language around `{}`
    write: Callable[[np.ndarray], str]  # text of theta (10,), kg, m and kg m^2


FORMATS = {
    each.name: each
    for each in (
        ControllerFormat("franka", "// {}", _of_body(_franka)),
        ControllerFormat("ur", "# {}", _of_body(_ur)),
        ControllerFormat("kuka", "; {}", _of_body(_kuka)),
        ControllerFormat("abb", "! {}", _of_body(_abb)),
        ControllerFormat("ros", "# {}", _of_body(_ros)),
        ControllerFormat("ros2_control", "# {}", _of_body(_ros2_control)),
        ControllerFormat("urdf", "<!-- {} -->", conventions.urdf_inertial),
        ControllerFormat("mjcf", "<!-- {} -->", conventions.mjcf_inertial),
    )
}


def flange_of(robot: Robot, frame: str) -> str:
    """The link of the flange that carries a frame; the frame itself where the model names none."""
    body = frame_of(robot, frame)[0]
    carried = {link.name for link in robot.links if link.body == body}
    return next(
        (name for each in FLANGES for name in sorted(carried) if name == each or name.endswith("_" + each)), frame
    )


def in_axes_of(found: Payload, robot: Robot, frame: str, flange: str) -> Payload:
    """A payload in the axes of `frame` in those of another link that moves with it, its covariance transformed as well.
    Raises OptionError for links of two bodies."""
    body, R, p = frame_of(robot, frame)
    other, R_flange, p_flange = frame_of(robot, flange)
    if body != other:
        raise OptionError(f"--flange {flange} does not move with {frame}: name the link that the payload hangs on")
    M = parameters.transform_matrix(R_flange.T @ R, R_flange.T @ (p - p_flange))
    still = np.allclose(M, np.eye(10))
    moved = found if still else replace(found, theta=M @ found.theta, covariance=M @ found.covariance @ M.T)
    return replace(moved, frame=flange)
