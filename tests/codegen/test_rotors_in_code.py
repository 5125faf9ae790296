"""Rotors, armature and friction in code for controllers: as `inverse_dynamics` and its regressor have them."""

import runpy
import shutil
from dataclasses import replace

import numpy as np
import pytest
from typer.testing import CliRunner

import steelyard as sy
from random_trees import random_tree
from robots import random_state
from steelyard.app import app
from steelyard.dynamics.newton_euler import regressor_rows_with_rotors
from steelyard.model.side import side_path


def columns_of_links_and_rotors(robot, q, v, a):
    """(n, nv, p) regressor of the parameters that `identifiability(motors=True)` names."""
    rows = np.moveaxis(regressor_rows_with_rotors(robot, q.T, v.T, a.T), -1, 0)
    links, rotors = rows[..., : 10 * robot.nb], rows[..., 10 * robot.nb :]
    parts = [rotors[..., 10 * r : 10 * r + 10] @ rotor.content for r, rotor in enumerate(robot.rotors)]
    return np.concatenate([links, *parts], axis=-1)


def require_same(robot, folder):
    """Code of a robot with rotors does what the library does."""
    made = sy.controller_code(robot, folder / "code.py", rotors=True)
    code = runpy.run_path(str(made.path))
    q, v, a = random_state(robot, np.random.default_rng(5), (4,))
    expected = sy.inverse_dynamics(robot, q, v, a, rotors=True)
    size = max(1.0, np.abs(expected).max())
    np.testing.assert_allclose(code["inverse_dynamics"](q, v, a), expected, atol=1e-12 * size)
    held = sy.inverse_dynamics(robot, q, 0 * v, 0 * a, rotors=True)
    np.testing.assert_allclose(code["gravity"](q), held, atol=1e-12 * size)
    idn = sy.identifiability(robot, motors=True, tolerance=0.0)
    Y = columns_of_links_and_rotors(robot, q, v, a)[..., idn.columns]
    assert made.base_names == idn.base_names
    np.testing.assert_allclose(code["regressor"](q, v, a), Y, atol=1e-12 * max(1.0, np.abs(Y).max()))
    torque = code["regressor"](q, v, a) @ code["BASE_PARAMETERS"] + robot.armature * a
    np.testing.assert_allclose(torque, expected, atol=1e-11 * size)
    return made


@pytest.mark.parametrize("make", [sy.library.puma560, sy.library.cheetah3_leg])
def test_robots_of_the_library(make, tmp_path):
    robot = make()
    robot = robot.with_joint_properties(armature=np.linspace(0.1, 0.2, robot.nv), damping=np.ones(robot.nv))
    made = require_same(robot, tmp_path)
    plain = sy.controller_code(robot, tmp_path / "plain.py")
    assert not made.left_out and plain.left_out == ("motor rotors (rotors=True, --rotors)",)
    assert any(name.startswith("rotor(") for name in made.base_names)
    q, v, a = random_state(robot, np.random.default_rng(6), (2,))
    without = runpy.run_path(str(plain.path))["inverse_dynamics"](q, v, a)
    np.testing.assert_allclose(without, sy.inverse_dynamics(robot, q, v, a), atol=1e-12 * np.abs(without).max())
    assert np.abs(without - sy.inverse_dynamics(robot, q, v, a, rotors=True)).max() > 1e-3
    np.testing.assert_array_equal(runpy.run_path(str(plain.path))["VISCOUS_FRICTION"], robot.damping)


@pytest.mark.parametrize("seed", range(6))
def test_random_trees(seed, tmp_path):
    rng = np.random.default_rng(seed)
    robot = random_tree(rng)
    while not robot.rotors:
        robot = random_tree(rng)
    stated = np.concatenate([rotor.theta for rotor in robot.rotors])
    require_same(robot.with_rotor_inertias(stated), tmp_path)


def test_a_rotor_whose_parameters_are_not_symmetric_spins_as_they_say(tmp_path):
    robot = sy.library.cheetah3_leg()
    uneven = replace(robot.rotors[1], theta=robot.rotors[1].theta + 0.01 * np.eye(10)[1])
    robot = replace(robot, rotors=(robot.rotors[0], uneven, robot.rotors[2]))
    code = runpy.run_path(str(sy.controller_code(robot, tmp_path / "a.py", rotors=True).path))
    q, v, a = random_state(robot, np.random.default_rng(7))
    expected = sy.inverse_dynamics(robot, q, v, a, rotors=True)
    np.testing.assert_allclose(code["inverse_dynamics"](q, v, a), expected, atol=1e-12 * np.abs(expected).max())


def test_a_robot_without_rotors_has_none_to_count(tmp_path):
    assert sy.controller_code(sy.library.scara(), tmp_path / "a.py", rotors=True).operations["gravity"] == 0


def test_convert_reads_the_side_file(tmp_path):
    source = sy.library.puma560().source.path
    model, side = (shutil.copy(each, tmp_path) for each in (source, side_path(source)))

    def converted(*words):
        return CliRunner().invoke(app, ["convert", str(model), *map(str, words)])

    def size(path):
        return len(runpy.run_path(str(path))["BASE_PARAMETERS"])

    done = converted(tmp_path / "a.py")
    assert done.exit_code == 0 and "left out: motor rotors (rotors=True, --rotors); armature" in done.output
    assert converted(tmp_path / "b.py", "--rotors").exit_code == 0
    shutil.move(side, tmp_path / "other.toml")
    assert "missing" in converted(tmp_path / "c.py", "--rotors").stderr
    assert converted(tmp_path / "c.py", "--rotors", "--side", tmp_path / "other.toml").exit_code == 0
    assert [size(tmp_path / f"{name}.py") for name in "abc"] == [36, 40, 40]
    refused = converted(tmp_path / "d.xml", "--rotors")
    assert refused.exit_code == 2 and "are for code" in refused.stderr and not (tmp_path / "d.xml").exists()


def test_loops_of_the_side_file_are_refused(tmp_path):
    source = sy.library.five_bar().source.path
    done = CliRunner().invoke(app, ["convert", str(source), str(tmp_path / "a.h")])
    assert done.exit_code == 2 and "closed loops" in done.stderr and not list(tmp_path.iterdir())
