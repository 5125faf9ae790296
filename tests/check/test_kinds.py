"""Faults that only links of a kind tell: one off, all off, one without an inertial, an offset that is not mirrored."""

import numpy as np
import pytest

from steelyard import check
from steelyard.check import render
from steelyard.check.repaired_copy import repair
from steelyard.model.formats import read_sketch

SIZES = {"hip": (0.1, 0.06, 0.06), "thigh": (0.05, 0.03, 0.2), "calf": (0.03, 0.03, 0.2)}
DENSITY = {"base": 300.0, "hip": 1800.0, "thigh": 1200.0, "calf": 600.0}
ORIGIN = {"hip": (0.2, 0.05, 0.0), "thigh": (0.0, 0.08, 0.0), "calf": (0.0, 0.0, -0.2)}
LEGS = {"FL": (1, 1), "FR": (1, -1), "RL": (-1, 1), "RR": (-1, -1)}


def link(name, size, mass, com, *, bare=False):
    x, y, z = np.square(size)
    moments = mass / 12 * np.array([y + z, x + z, x + y])
    shape = (
        f'<origin xyz="{com[0]} {com[1]} {com[2]}"/><geometry><box size="{size[0]} {size[1]} {size[2]}"/></geometry>'
    )
    inertial = f'<inertial><origin xyz="{com[0]} {com[1]} {com[2]}"/><mass value="{mass:.9g}"/><inertia '
    inertial += (
        f'ixx="{moments[0]:.9g}" iyy="{moments[1]:.9g}" izz="{moments[2]:.9g}" ixy="0" ixz="0" iyz="0"/></inertial>'
    )
    return f'<link name="{name}"><collision>{shape}</collision>{"" if bare else inertial}</link>'


def quadruped(*, masses=None, origins=None, bare=(), sizes=None):
    """A robot of four legs in URDF. masses: factors by link; origins: offsets by link; bare: links without inertial;
    sizes: factors of drawn sizes by link."""
    size = (0.5, 0.2, 0.1)
    text = link("base", size, DENSITY["base"] * np.prod(size), (0, 0, 0))
    for leg, (front, left) in LEGS.items():
        parent = "base"
        for part, size in SIZES.items():
            name, sign = f"{leg}_{part}", np.array([front if part == "hip" else 1, left, 1])
            mass = DENSITY[part] * np.prod(size) * (masses or {}).get(name, 1.0)
            com = np.array([0.0, 0.0, -0.1 if part != "hip" else 0.0])
            made = link(name, size, mass, com, bare=name in bare)
            if name in (sizes or {}):
                drawn = " ".join(f"{x * sizes[name]:.9g}" for x in size)
                made = made.replace('box size="' + " ".join(map(str, size)), f'box size="{drawn}')
            place = (origins or {}).get(name, sign * ORIGIN[part])
            text += made + f'<joint name="{name}_joint" type="revolute"><parent link="{parent}"/><child link="{name}"/>'
            text += f'<origin xyz="{place[0]} {place[1]} {place[2]}"/><axis xyz="0 1 0"/>'
            text += '<limit lower="-2" upper="2" effort="20" velocity="20"/></joint>'
            parent = name
    return f'<robot name="walker">{text}</robot>'


@pytest.fixture
def codes(tmp_path):
    def look(**changes):
        path = tmp_path / "walker.urdf"
        path.write_text(quadruped(**changes), encoding="utf-8")
        return {finding.code: finding for finding in check.run(path)}

    return look


def test_a_right_robot_has_nothing(codes):
    assert codes() == {}
    wider = {f"{leg}_thigh": np.array([0.0, 0.0801 * left, 0.0]) for leg, (_, left) in LEGS.items() if left > 0}
    assert codes(origins=wider) == {}


@pytest.mark.parametrize("name", ["FR_calf", "RL_thigh", "FL_hip"])
@pytest.mark.parametrize("factor", [10.0, 0.1, 2.5])
def test_one_of_a_kind_is_the_one_that_is_named(codes, name, factor):
    found = codes(masses={name: factor})["SY408"]
    assert f"'{name}' has" in found.message and name in found.element


@pytest.mark.parametrize("part", ["thigh", "calf"])
def test_all_of_a_kind_ten_times_too_heavy(codes, part):
    found = codes(masses={f"{leg}_{part}": 10.0 for leg in LEGS})
    assert set(found) >= {"SY408"} and f"4 like links, 'FL_{part}'" in found["SY408"].message


def test_all_links_alike_dense_are_no_kind(codes):
    names = [f"{leg}_{part}" for leg in LEGS for part in SIZES]
    assert "SY408" not in codes(masses=dict.fromkeys([*names], 3.0))


@pytest.mark.parametrize("name", ["RR_thigh", "FL_calf"])
def test_a_leg_without_an_inertial_that_its_twin_has(codes, name, tmp_path):
    found = codes(bare=[name])
    assert found["SY101"].severity == "error" and "its twin" in found["SY101"].message
    mended = repair(tmp_path / "walker.urdf", tmp_path / "mended.urdf")
    sketch = read_sketch(mended.path)
    right = read_sketch(_written(tmp_path / "right.urdf", quadruped()))
    part, truth = sketch.parts[sketch.parts_by_name[name]].inertial, right.parts[right.parts_by_name[name]].inertial
    assert part.mass == pytest.approx(truth.mass) and np.allclose(part.com, truth.com)
    assert np.allclose(part.moments, truth.moments, rtol=1e-6)


def test_a_rotor_on_the_link_is_no_inertial_of_it(tmp_path):
    rotors = "".join(
        link(f"{leg}_rotor", (0.04, 0.04, 0.01), 0.09, (0, 0, 0))
        + f'<joint name="{leg}_rotor" type="fixed"><parent link="{leg}_thigh"/><child link="{leg}_rotor"/></joint>'
        for leg in LEGS
    )
    text = quadruped(bare=["FL_thigh"]).replace("</robot>", f"{rotors}</robot>")
    path = _written(tmp_path / "walker.urdf", text)
    (found,) = (each for each in check.run(path) if each.code == "SY101")
    assert found.severity == "error" and "'FL_thigh' has no inertial, its twin 'FR_thigh'" in found.message
    sketch = read_sketch(repair(path, tmp_path / "mended.urdf").path)
    part, twin = (sketch.parts[sketch.parts_by_name[f"{leg}_thigh"]].inertial for leg in ("FL", "FR"))
    assert part.mass == pytest.approx(twin.mass) and np.allclose(part.moments, twin.moments)


@pytest.mark.parametrize(
    ("name", "place"),
    [
        ("FR_thigh", (0.0, 0.08, 0.0)),
        ("RR_hip", (-0.2, 0.05, 0.0)),
        ("RL_calf", (0.0, 0.0, -0.26)),
        ("FR_calf", (0.03, 0.0, -0.2)),
    ],
)
def test_an_offset_of_one_side_that_is_not_mirrored(codes, name, place):
    found = codes(origins={name: place})
    assert set(found) == {"SY512"}
    assert name in found["SY512"].message


def test_sides_that_hang_at_one_place(codes):
    """Two legs: nothing of their kind tells, but what they hang on does."""
    found = codes(origins={"FR_hip": (0.2, 0.05, 0.0), "RR_hip": (-0.2, 0.05, 0.0)})
    assert set(found) == {"SY512"} and "the same place" in found["SY512"].message


@pytest.mark.parametrize("factor", [1000.0, 0.001])
@pytest.mark.parametrize("name", ["FR_calf", "RL_hip"])
def test_geometry_a_thousand_times_off(codes, name, factor):
    found = codes(sizes={name: factor})
    assert "SY605" in found and name in found["SY605"].message


def test_repairs_keep_a_stated_centre_of_mass(tmp_path):
    com, size = (0.02, -0.01, -0.12), SIZES["thigh"]
    text = quadruped()
    right = link("FL_thigh", size, DENSITY["thigh"] * np.prod(size), np.array([0.0, 0.0, -0.1]))
    assert right in text
    placeholder = right.replace(right[right.index("<inertial>") : right.index("</link>")], "")
    placeholder = placeholder.replace(
        "</link>",
        f'<inertial><origin xyz="{com[0]} {com[1]} {com[2]}"/><mass value="0.36"/><inertia ixx="0.01" iyy="0.01" '
        'izz="0.01" ixy="0" ixz="0" iyz="0"/></inertial></link>',
    )
    path = _written(tmp_path / "held.urdf", text.replace(right, placeholder))
    mended = read_sketch(repair(path, tmp_path / "mended.urdf", fix="all").path)
    part = mended.parts[mended.parts_by_name["FL_thigh"]].inertial
    assert "SY404" not in check.run(tmp_path / "mended.urdf").codes
    assert np.allclose(part.com, com) and part.mass == 0.36


def _written(path, text):
    path.write_text(text, encoding="utf-8")
    return path


def test_missing_meshes_come_first(tmp_path):
    """A model that was copied out of its folder: the first line says so, in a check and in an identification."""
    text = quadruped().replace("<box", '<mesh filename="meshes/leg.stl"/><other').replace('value="', 'value="-', 1)
    lines = render.text(check.run(_written(tmp_path / "walker.urdf", text))).splitlines()
    lines = [line for line in lines if "SY" in line]
    assert "SY601" in lines[0] and "--folder DIR" in lines[0] and any("SY103" in line for line in lines[1:])
