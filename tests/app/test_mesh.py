"""`steelyard mesh`: numbers of a known solid, snippets that simulators read, pictures, refusals."""

import json

import mujoco
import numpy as np
import pytest
import trimesh
from typer.testing import CliRunner

from steelyard.app import app


def run(*arguments):
    return CliRunner().invoke(app, ["mesh", *map(str, arguments)])


@pytest.fixture
def box(tmp_path):
    path = tmp_path / "box.stl"
    solid = trimesh.creation.box(extents=(0.2, 0.1, 0.4))
    solid.apply_translation([0.5, 0, 0])
    solid.export(path)
    return path


def test_numbers_of_a_box(box):
    done = run(box, "--density", 2700, "--json")
    assert done.exit_code == 0, done.output
    found = json.loads(done.stdout)
    mass = 2700 * 0.2 * 0.1 * 0.4
    assert found["mass"] == pytest.approx(mass, rel=1e-6)
    np.testing.assert_allclose(found["com"], [0.5, 0, 0], atol=1e-7)
    expected = mass / 12 * np.diag([0.1**2 + 0.4**2, 0.2**2 + 0.4**2, 0.2**2 + 0.1**2])
    np.testing.assert_allclose(found["inertia_com"], expected, atol=1e-6)
    model = mujoco.MjModel.from_xml_string(
        f"<mujoco><worldbody><body name='b'><freejoint/>{found['mjcf']}</body></worldbody></mujoco>"
    )
    assert model.body("b").mass[0] == pytest.approx(mass, rel=1e-6)


def test_mass_instead_of_density_and_scale(box):
    found = json.loads(run(box, "--mass", 3, "--scale", 0.5, "--json").stdout)
    assert found["mass"] == pytest.approx(3)
    assert found["density"] == pytest.approx(3 / (0.008 / 8), rel=1e-6)


def test_text(box):
    done = run(box)
    assert done.exit_code == 0
    assert "<inertial>" in done.stdout


def test_refusals(box, tmp_path):
    for arguments, words in (
        ((tmp_path / "no.stl",), "no mesh file"),
        ((box, "--density", 1, "--mass", 1), "not both"),
        ((box, "--density", -1), "density"),
        ((box, "--mass", 0), "mass is a positive"),
    ):
        done = run(*arguments)
        assert done.exit_code == 2
        assert words in done.stderr
    open_box = trimesh.creation.box()
    open_box.update_faces(np.arange(10))
    open_box.export(tmp_path / "open.stl")
    assert run(tmp_path / "open.stl").exit_code == 2


def test_a_mesh_in_millimetres_is_a_finding(tmp_path):
    trimesh.creation.box(extents=(200, 100, 400)).export(tmp_path / "mm.stl")
    done = run(tmp_path / "mm.stl")
    assert done.exit_code == 1
    assert "0.001" in done.stderr
