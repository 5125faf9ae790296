"""Thresholds of the linter from either side, turned frames, and numbers of findings, worked out by hand."""

import numpy as np
import pytest
from scipy.spatial.transform import Rotation

from check.corpus.cases import HAND, LIMIT, TENSOR, URDF
from steelyard import check
from steelyard.check.part_geometry import geometry_of
from steelyard.check.shaped_inertials import is_placeholder, shaped_inertials
from steelyard.inertia import to_com_inertia
from steelyard.model import load
from steelyard.model.formats import read_sketch as scan
from steelyard.model.sketch import Inertial, Place

ARM = 'xyz="0 0 0.2" rpy="0 0 0"'  # origin of the arm's inertial
BOX = '<collision><origin xyz="0 0 0.2"/><geometry><box size="0.1 0.1 0.4"/></geometry></collision>'
LINK = """  <link name="{name}">
    <inertial><origin xyz="{com}" rpy="{rpy}"/><mass value="{mass}"/>{tensor}</inertial>
    {shape}
  </link>
  <joint name="to {name}" type="{kind}"><origin xyz="{at}" rpy="{turned}"/><parent link="{parent}"/>
    <child link="{name}"/><axis xyz="1 0 0"/>{limit}</joint>
</robot>"""


def tensor(*diagonal, products=(0.0, 0.0, 0.0)):
    (a, b, c), (xy, xz, yz) = diagonal, products
    return f'<inertia ixx="{a}" ixy="{xy}" ixz="{xz}" iyy="{b}" iyz="{yz}" izz="{c}"/>'


def link(name="more", **given):
    """A robot with one more link."""
    usual = {"com": "0 0 0", "rpy": "0 0 0", "mass": 0.5, "tensor": HAND, "shape": "", "kind": "revolute"}
    usual |= {"at": "0 0 0.1", "turned": "0 0 0", "parent": "hand", "limit": LIMIT}
    return URDF.replace("</robot>", LINK.format(**usual | {"name": name} | given))


@pytest.fixture
def model(tmp_path):
    def write(text):
        path = tmp_path / "arm.urdf"
        path.write_text(text)
        return path

    return write


def found(path, code):
    return [each for each in check.run(path) if each.code == code]


@pytest.mark.parametrize("height, told", [(0.45, False), (0.48, True)])
def test_a_centre_of_mass_may_lie_outside_by_little(model, height, told):
    """The box ends at 0.4 m and has a diagonal of 0.424 m, of which 15 % are 0.064 m."""
    assert bool(found(model(URDF.replace(ARM, f'xyz="0 0 {height}" rpy="0 0 0"')), "SY301")) == told


@pytest.mark.parametrize("com, severity", [("0.1 0 0", "info"), ("-0.1 0 0", "warning"), ("0 0 -0.1", "warning")])
def test_a_shaft_may_reach_into_the_turned_link_that_carries_it(model, com, severity):
    """The link's x axis points down into the arm's box."""
    shape = '<collision><origin xyz="-0.2 0 0"/><geometry><box size="0.02 0.02 0.02"/></geometry></collision>'
    text = link(parent="arm", at="0 0 0.4", turned="0 1.5707963267948966 0", com=com, shape=shape)
    (finding,) = found(model(text), "SY301")
    assert finding.severity == severity


def test_axes_that_were_exchanged_and_turned_over(model):
    """A bar drawn askew whose tensor fits with y and z exchanged and one of them negated."""
    R = Rotation.from_euler("xyz", [0.3, 0.5, 0.2]).as_matrix()
    own = R @ np.diag([0.0283, 0.0283, 0.0033]) @ R.T
    P = np.array([[1, 0, 0], [0, 0, -1], [0, 1, 0]])
    wrong = P @ own @ P.T
    stated = tensor(*np.diag(wrong), products=(wrong[0, 1], wrong[0, 2], wrong[1, 2]))
    text = URDF.replace(TENSOR, stated).replace(BOX, BOX.replace('0.2"/>', '0.2" rpy="0.3 0.5 0.2"/>', 1))
    path = model(text)
    assert "the axes in the order xzy" in found(path, "SY304")[0].message
    repaired = check.repair(path, path.with_name("b.urdf"), fix="SY304")
    np.testing.assert_allclose(repaired.changes[0].after.tensor_in_part, own, atol=1e-9)


@pytest.mark.parametrize(
    "moments, code, words",
    [
        ((0.01, 0.01, 0.0201), "SY203", "by 0.5 %"),
        ((0.01, 0.01, 0.05), "SY203", "by 1.5e+02 %"),
        ((0.0, 0.01, 0.01), "SY201", "principal moments 0, 0.01, 0.01"),
        ((-1e-13, 0.01, 0.01), "SY201", ""),
    ],
)
def test_tensors_that_are_just_impossible(model, moments, code, words):
    (finding,) = found(model(URDF.replace(HAND, tensor(*moments))), code)
    assert words in finding.message


def test_a_point_mass_on_a_link_with_inertia_is_harmless(model):
    fixed = {"kind": "fixed", "tensor": tensor(0, 0, 0), "limit": ""}
    assert not found(model(link(**fixed)), "SY202")
    assert found(model(link(**fixed | {"kind": "revolute", "limit": LIMIT})), "SY202")


@pytest.mark.parametrize("carried, told", [(0.9995, False), (1.002, True)])
def test_a_body_of_a_gram_may_carry_a_thousand(model, carried, told):
    """The hand of 1 g; what it carries counts, and not itself."""
    text = link(mass=carried).replace('<mass value="0.5"/>', '<mass value="0.001"/>', 1)
    assert bool(found(model(text), "SY501")) == told


@pytest.mark.parametrize("lower, upper, severity", [(0.2, -0.2, "warning"), (0.3, 0.3, "info")])
def test_limits_that_leave_no_room(model, lower, upper, severity):
    (finding,) = found(model(URDF.replace('lower="-1" upper="1"', f'lower="{lower}" upper="{upper}"', 1)), "SY504")
    assert finding.severity == severity


@pytest.mark.parametrize("effort, severity", [("-5", "warning"), ("0", "info")])
def test_a_negative_effort_is_worse_than_none(model, effort, severity):
    (finding,) = found(model(URDF.replace('effort="50"', f'effort="{effort}"')), "SY504")
    assert finding.severity == severity


def sides(mass=0.5, com="0.1 -0.03 0.02", xy=0.0002):
    """The hand as a left one, and a right one beside it."""
    own = tensor(0.0006, 0.0005, 0.0004, products=(0.0002, 0, 0))
    other = tensor(0.0006, 0.0005, 0.0004, products=(xy, 0, 0))
    text = link("right_hand", mass=mass, com=com, tensor=other, parent="arm")
    return text.replace('"hand"', '"left_hand"').replace(HAND, own).replace('xyz="0 0 0.05"', 'xyz="0.1 0.03 0.02"')


@pytest.mark.parametrize("mass, told", [(0.526, False), (0.53, True)])
def test_sides_may_differ_by_five_per_cent_of_the_heavier(model, mass, told):
    assert bool(found(model(sides(mass, xy=-0.0002)), "SY406")) == told


@pytest.mark.parametrize("com, told", [("0.1 -0.03 0.02", True), ("0.2 -0.03 0.02", False), ("0.1 0.03 0.02", False)])
def test_only_a_mirrored_centre_asks_for_mirrored_products(model, com, told):
    assert bool(found(model(sides(com=com)), "SY407")) == told


def test_grams_of_a_right_tensor_are_mended_alone(model):
    path = model(URDF.replace('<mass value="2"/>', '<mass value="20000"/>'))
    (change,) = check.repair(path, path.with_name("b.urdf"), fix="SY403").changes
    assert change.after.mass == pytest.approx(20.0)
    np.testing.assert_allclose(change.after.tensor, np.diag([0.0283, 0.0283, 0.0033]))
    both = model(URDF.replace('<mass value="2"/>', '<mass value="20000"/>').replace(TENSOR, tensor(283, 283, 33)))
    (change,) = check.repair(both, both.with_name("c.urdf"), fix="SY403").changes
    np.testing.assert_allclose(change.after.tensor, np.diag([0.283, 0.283, 0.033]))


def test_a_filled_box_is_the_same_in_turned_axes(model):
    """A negative mass is repaired from the geometry, in the axes that the inertial has in the file."""
    text = URDF.replace(ARM, 'xyz="0 0 0.2" rpy="0.4 -0.3 0.8"').replace('<mass value="2"/>', '<mass value="-2"/>')
    path = model(text.replace("0.1 0.1 0.4", "0.1 0.2 0.4"))
    check.repair(path, out := path.with_name("b.urdf"))
    mass, com, inertia = to_com_inertia(load(out).inertias[0])
    assert mass == pytest.approx(8.0)
    np.testing.assert_allclose(com, [0, 0, 0.2], atol=1e-9)
    np.testing.assert_allclose(inertia, 8 / 12 * np.diag([0.2, 0.17, 0.05]), atol=1e-9)


def test_a_tensor_of_zeros_becomes_a_ball_of_water(model):
    path = model(URDF.replace(HAND, tensor(0, 0, 0)))
    (change,) = check.repair(path, path.with_name("b.urdf"), fix="SY202").changes
    radius = (3 * 0.5 / (4 * np.pi * 1000)) ** (1 / 3)
    np.testing.assert_allclose(change.after.tensor, 0.4 * 0.5 * radius**2 * np.eye(3), rtol=1e-9)


def test_what_is_mended_within_turned_geometry_fits_it(model):
    """The smallest ellipsoid around a box has sqrt(3) of its half sides; both sit off centre and turned."""
    R = Rotation.from_euler("xyz", [0.5, 0.2, -0.3]).as_matrix()
    text = URDF.replace(ARM, 'xyz="0.02 0.01 0.3" rpy="0.5 0.2 -0.3"').replace(TENSOR, tensor(0.2, 0.2, 0.1))
    path = model(text)
    (change,) = check.repair(path, path.with_name("b.urdf"), fix="all").changes
    after = change.after.tensor_in_part
    spread = (0.5 * np.trace(after) * np.eye(3) - after) / 2
    away = np.array([0.02, 0.01, 0.1])
    axes = 1.1 * np.sqrt(3) * np.array([0.05, 0.05, 0.2])
    inside = np.trace((spread + np.outer(away, away)) / axes[:, None] / axes)
    assert inside == pytest.approx(1.0, abs=1e-3)  # as large as it can be
    np.testing.assert_allclose(change.after.rotation, R, atol=1e-9)


def test_fixed_geometry_is_seen_from_the_part(model):
    """The arm's box from a frame that is fixed to the arm, turned and moved."""
    at, turned = np.array([0.3, -0.1, 0.5]), [0.4, 0.7, -0.2]
    text = link(kind="fixed", parent="arm", at="0.3 -0.1 0.5", turned="0.4 0.7 -0.2", limit="")
    sketch = scan(model(text))
    geometry = geometry_of(sketch, sketch.parts_by_name["more"])
    R = Rotation.from_euler("xyz", turned).as_matrix()
    corners = np.array([[x, y, z] for x in (-0.05, 0.05) for y in (-0.05, 0.05) for z in (0.0, 0.4)])
    expected = (corners - at) @ R
    assert all(np.abs(geometry.points - each).max(axis=1).min() < 1e-9 for each in expected)


def test_a_turned_plate_is_thin(model):
    plate = BOX.replace('0.2"/>', '0.2" rpy="0.7 0.5 0"/>', 1).replace("0.1 0.1 0.4", "0.2 0.3 0.004")
    sketch = scan(model(URDF.replace(BOX, plate)))
    geometry = geometry_of(sketch, sketch.parts_by_name["arm"])
    assert geometry.thickness == pytest.approx(0.004, rel=1e-6)
    assert geometry.solid[0] == pytest.approx(1000 * 0.2 * 0.3 * 0.004, rel=1e-6)


def test_excess_is_what_the_ellipsoid_does_not_hold(model):
    """tr(J Q) of a tensor about a centre off the middle, by hand (paper B, Theorem 4)."""
    sketch = scan(model(URDF.replace(ARM, 'xyz="0.04 0 0.35" rpy="0 0 0"').replace(TENSOR, tensor(0.03, 0.03, 0.03))))
    (arm,) = [each for each in shaped_inertials(sketch) if each.name == "arm"]
    axes = 1.1 * np.sqrt(3) * np.array([0.05, 0.05, 0.2])
    second, away = np.full(3, 0.015) / 2, np.array([0.04, 0, 0.15])
    assert arm.excess == pytest.approx(np.sum((second + away**2) / axes**2) - 1, rel=1e-4)


@pytest.mark.parametrize("size, placeholder", [(0.001, True), (1.0, True), (0.003, False), (0.0011, False)])
def test_placeholders_are_powers_of_ten(size, placeholder):
    place = Place(None, 1, "link 'a' > inertial")
    assert is_placeholder(Inertial(place, 1.0, np.zeros(3), np.eye(3), size * np.eye(3))) == placeholder
