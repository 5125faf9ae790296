"""Spellings of other tools, against Pinocchio's URDF reader, MuJoCo's compiler and the matrices their code builds."""

import jax
import mujoco
import numpy as np
import pinocchio as pin
import pytest
from scipy.spatial.transform import Rotation

from random_bodies import SHAPES, assert_close, bodies
from steelyard import inertia
from steelyard.errors import InertiaError, OptionError
from steelyard.inertia import conventions

# Where each tool puts its entries: index of the mass, of the first moment, and of each entry of the inertia matrix.
LAYOUTS = {
    "pinocchio": (0, (1, 2, 3), ((4, 5, 7), (5, 6, 8), (7, 8, 9))),
    "spatial_v2": (0, (1, 2, 3), ((4, 9, 8), (9, 5, 7), (8, 7, 6))),
    "geometric_robot_dynid": (0, (1, 2, 3), ((4, 7, 9), (7, 5, 8), (9, 8, 6))),
    "row_major": (0, (1, 2, 3), ((4, 5, 6), (5, 7, 8), (6, 8, 9))),
    "khalil": (9, (6, 7, 8), ((0, 1, 2), (1, 3, 4), (2, 4, 5))),
}


def fields(shape, seed):
    """Random centre, rotation (SciPy) and principal moments that satisfy the triangle inequality."""
    rng = np.random.default_rng(seed)
    moments = rng.uniform(0.1, 1.0, size=(*shape, 3))
    return (
        rng.uniform(0.5, 3, shape),
        rng.normal(size=(*shape, 3)),
        rng.normal(size=(*shape, 4)),
        moments.sum(-1, keepdims=True) - moments,
    )


@pytest.mark.parametrize("order", conventions.ORDERS)
@pytest.mark.parametrize("shape", SHAPES)
def test_orders_put_every_number_where_the_tool_reads_it(order, shape):
    theta = bodies(1, shape)
    vector = conventions.to_order(theta, order)
    mass, first_moment, matrix = LAYOUTS[order]
    assert_close(vector[..., mass], theta[..., 0], 0.0)
    assert_close(vector[..., list(first_moment)], theta[..., 1:4], 0.0)
    assert_close(vector[..., np.array(matrix)], inertia.rotational_inertia(theta), 0.0)
    assert_close(conventions.from_order(vector, order), theta, 0.0)


def test_pinocchio_order_is_pinocchios():
    theta = bodies(2)
    assert_close(
        pin.Inertia.FromDynamicParameters(conventions.to_order(theta, "pinocchio")).matrix(),
        inertia.to_spatial_inertia(theta),
        1e-14,
    )


def test_an_unknown_order_lists_the_known_ones():
    with pytest.raises(OptionError, match=r"order is 'drake'; expected one of pinocchio, spatial_v2, .*khalil"):
        conventions.from_order(bodies(3), "drake")


def words(numbers):
    return " ".join(f"{number:.17g}" for number in np.ravel(numbers))


def urdf(inertial):
    names = ("ixx", "ixy", "ixz", "iyy", "iyz", "izz")
    entries = " ".join(f'{name}="{value:.17g}"' for name, value in zip(names, inertial.inertia, strict=True))
    return f"""<robot name="r"><link name="base"/><link name="body"><inertial>
        <origin xyz="{words(inertial.xyz)}" rpy="{words(inertial.rpy)}"/><mass value="{words(inertial.mass)}"/>
        <inertia {entries}/></inertial></link>
        <joint name="j" type="floating"><parent link="base"/><child link="body"/></joint></robot>"""


@pytest.mark.parametrize("rpy", [(0.0, 0.0, 0.0), (0.3, -1.1, 2.5)])
def test_urdf_is_what_pinocchio_reads(rpy):
    for theta in bodies(4, (5,)):
        inertial = conventions.to_urdf(theta, rpy=np.array(rpy))
        body = pin.buildModelFromXML(urdf(inertial)).inertias[1]
        assert_close(body.toDynamicParameters(), theta, 1e-12)
        assert_close(conventions.from_urdf(*inertial), theta, 1e-12)


@pytest.mark.parametrize("shape", SHAPES)
def test_urdf_inertia_in_rotated_axes_against_scipy(shape):
    mass, xyz, _, moments = fields(shape, 5)
    rpy = np.random.default_rng(6).uniform(-3, 3, size=(*shape, 3))
    zero = np.zeros(shape)
    rows = np.stack([moments[..., 0], zero, zero, moments[..., 1], zero, moments[..., 2]], axis=-1)
    R = Rotation.from_euler("xyz", rpy.reshape(-1, 3)).as_matrix().reshape(*shape, 3, 3)
    central = np.einsum("...ij,...j,...kj->...ik", R, moments, R)
    assert_close(inertia.to_com_inertia(conventions.from_urdf(mass, xyz, rpy, rows))[2], central, 1e-13)
    wrong = conventions.from_urdf(mass, xyz, -rpy, rows)  # the opposite rotation is another body
    assert np.max(np.abs(inertia.to_com_inertia(wrong)[2] - central)) > 1e-2


def mjcf(inertial):
    attributes = " ".join(f'{name}="{words(value)}"' for name, value in inertial._asdict().items())
    return f"<mujoco><worldbody><body><freejoint/><inertial {attributes}/></body></worldbody></mujoco>"


def compiled(inertial):
    model = mujoco.MjModel.from_xml_string(mjcf(inertial))
    return model.body_mass[1], model.body_ipos[1], model.body_iquat[1], model.body_inertia[1]


def test_mujoco_compiles_both_spellings_to_the_same_body():
    for theta in bodies(7, (8,)):
        for spelled in (conventions.to_mujoco_full(theta), conventions.to_mujoco_diagonal(theta)):
            assert_close(conventions.from_mujoco_diagonal(*compiled(spelled)), theta, 1e-12)
        assert_close(conventions.from_mujoco_full(*conventions.to_mujoco_full(theta)), theta, 1e-13)
        assert_close(conventions.from_mujoco_diagonal(*conventions.to_mujoco_diagonal(theta)), theta, 1e-13)


def test_mujoco_full_with_its_products_in_urdf_order_is_another_body():
    full = conventions.to_mujoco_full(bodies(8))
    shuffled = full._replace(fullinertia=full.fullinertia[[0, 1, 2, 3, 5, 4]])
    assert_close(conventions.from_mujoco_diagonal(*compiled(shuffled)), conventions.from_mujoco_full(*shuffled), 1e-12)
    assert np.max(np.abs(conventions.from_mujoco_full(*shuffled) - bodies(8))) > 1e-3


def test_mujoco_mass_matrix_equals_the_spatial_inertia():
    theta = bodies(9)
    model = mujoco.MjModel.from_xml_string(mjcf(conventions.to_mujoco_full(theta)))
    data = mujoco.MjData(model)
    mujoco.mj_forward(model, data)
    M = np.zeros((6, 6))
    mujoco.mj_fullM(model, data, M)
    assert_close(M, inertia.to_spatial_inertia(theta), 1e-12)


@pytest.mark.parametrize("shape", SHAPES)
def test_mujoco_quaternions_are_w_first_and_normalised(shape):
    mass, pos, quat, moments = fields(shape, 10)
    R = Rotation.from_quat(np.roll(quat.reshape(-1, 4), -1, axis=-1)).as_matrix().reshape(*shape, 3, 3)
    theta = conventions.from_mujoco_diagonal(mass, pos, quat, moments)
    assert_close(inertia.to_com_inertia(theta)[2], np.einsum("...ij,...j,...kj->...ik", R, moments, R), 1e-13)
    again = conventions.to_mujoco_diagonal(theta)
    assert_close(np.sort(again.diaginertia), np.sort(moments), 1e-12)
    assert_close(np.linalg.norm(again.quat, axis=-1), np.ones(shape), 1e-14)
    assert_close(conventions.from_mujoco_diagonal(*again), theta, 1e-12)


def test_an_aligned_body_keeps_its_axes_and_order():
    found = conventions.to_mujoco_diagonal(inertia.from_com_inertia(1.0, np.zeros(3), np.diag([0.3, 0.2, 0.4])))
    assert_close(found.quat, np.array([1.0, 0, 0, 0]), 1e-15)
    assert_close(found.diaginertia, np.array([0.3, 0.2, 0.4]), 1e-15)


def test_a_bare_frame_survives_every_spelling():
    theta = np.zeros((2, 10))
    assert_close(conventions.from_urdf(*conventions.to_urdf(theta)), theta, 0.0)
    assert_close(conventions.from_mujoco_full(*conventions.to_mujoco_full(theta)), theta, 0.0)
    assert_close(conventions.from_mujoco_diagonal(*conventions.to_mujoco_diagonal(theta)), theta, 0.0)


@pytest.mark.parametrize("quat", [np.zeros(4), np.array([np.nan, 0, 0, 1]), np.array([np.inf, 0, 0, 1])])
def test_a_quaternion_without_direction_is_refused(quat):
    quats = np.stack([np.array([1.0, 0, 0, 0]), quat])
    with pytest.raises(InertiaError, match=r"quat of body \(1,\) of the batch \(2,\) is .* nonzero finite length"):
        conventions.from_mujoco_diagonal(np.ones(2), np.zeros((2, 3)), quats, np.ones((2, 3)))


def test_fields_of_the_wrong_length_are_refused_by_name():
    with pytest.raises(InertiaError, match=r"fullinertia has shape \(3,\); expected \(\.\.\., 6\)"):
        conventions.from_mujoco_full(1.0, np.zeros(3), np.ones(3))
    with pytest.raises(InertiaError, match=r"xyz has shape \(4,\); expected \(\.\.\., 3\)"):
        conventions.from_urdf(1.0, np.zeros(4), np.zeros(3), np.ones(6))


def test_jax_in_jax_out():
    theta = bodies(11, (3,))
    with jax.enable_x64(True):
        given = jax.numpy.asarray(theta)
        for there, back in (
            (conventions.to_urdf, conventions.from_urdf),
            (conventions.to_mujoco_full, conventions.from_mujoco_full),
            (conventions.to_mujoco_diagonal, conventions.from_mujoco_diagonal),
        ):
            result = jax.jit(lambda t, there=there, back=back: back(*there(t)))(given)
            assert isinstance(result, jax.Array)
            assert_close(result, theta, 1e-12)
        assert isinstance(conventions.to_order(given, "khalil"), jax.Array)
