"""Code for controllers against the library and Pinocchio, through compilers that take warnings for errors."""

import ctypes
import re
import runpy
import subprocess
from dataclasses import replace
from functools import cache

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.spatial.transform import Rotation

import pinocchio_adapter as adapter
import steelyard as sy
from compilers import COMPILERS, EACH_COMPILER, NEEDED
from properties import tried
from robots import random_state, urdf
from steelyard.codegen import generate, statements
from steelyard.errors import ModelError, OptionError
from strategies import robots

ROBOTS = [("panda", False), ("ur5_robot", False), ("solo12", True), ("talos_reduced", True)]


@pytest.fixture(scope="module")
def written(tmp_path_factory):
    """Code of a robot of `ROBOTS`, each written once: robot, what was made, and its functions of NumPy."""

    @cache
    def write(name, floating, file):
        robot = sy.load(urdf(name), floating=floating)
        robot = robot.with_joint_properties(armature=np.linspace(0.0, 0.2, robot.nv)) if file.endswith(".py") else robot
        made = sy.controller_code(robot, tmp_path_factory.mktemp("code") / file)
        return robot, made, by_numpy(made.path) if file.endswith(".py") else None

    return write


def by_numpy(path):
    return runpy.run_path(str(path))


def compiled(path, prefix, compiler, folder, functions):
    """Functions of a header, called with arrays."""
    takes = {"gravity": "q", "inverse_dynamics": "qva", "regressor": "qva"}
    lines = [f'#include "{path}"', "#ifdef __cplusplus", 'extern "C" {', "#endif"]
    for name in functions:
        taken = ", ".join(f"const double *{x}" for x in takes[name])
        lines += [f"void call_{name}({taken}, double *out);", f"void call_{name}({taken}, double *out)"]
        lines.append(f"{{ {prefix}_{name}({', '.join(takes[name])}, out); }}")
    lines += ["#ifdef __cplusplus", "}", "#endif", ""]
    source, library = folder / "code.c", folder / "code.so"
    source.write_text("\n".join(lines))
    subprocess.run([*compiler, "-O1", "-shared", "-fPIC", str(source), "-o", str(library), "-lm"], check=True)
    loaded = ctypes.CDLL(str(library))

    def call(name, size, *arrays):
        out = np.empty(size)
        held = [np.ascontiguousarray(x, dtype=float) for x in arrays]
        getattr(loaded, f"call_{name}")(*(x.ctypes.data_as(ctypes.POINTER(ctypes.c_double)) for x in (*held, out)))
        return out

    return call


def felt_acceleration(v, a, floating):
    """What armature multiplies: of a free base, velocities count in world axes."""
    felt = np.array(a)
    if floating:
        felt[..., :3] += np.cross(v[..., 3:6], v[..., :3])
    return felt


@pytest.mark.parametrize("batch", [(), (1,), (3, 1, 2)])
@pytest.mark.parametrize(("name", "floating"), ROBOTS)
def test_numpy_code_does_what_library_and_pinocchio_do(name, floating, batch, written):
    robot, made, code = written(name, floating, "robot.py")
    armature, base = np.linspace(0.0, 0.2, robot.nv), sy.identifiability(robot)
    q, v, a = random_state(robot, np.random.default_rng(1), batch)
    expected = sy.inverse_dynamics(robot, q, v, a)
    felt = armature * felt_acceleration(v, a, floating)
    size = np.abs(expected).max()
    np.testing.assert_allclose(code["inverse_dynamics"](q, v, a), expected, atol=1e-12 * size)
    still = np.zeros_like(v)
    np.testing.assert_allclose(code["gravity"](q), sy.inverse_dynamics(robot, q, still, still), atol=1e-12 * size)
    Y = sy.regressor(robot, q, v, a)[..., base.columns]
    found = code["regressor"](q, v, a)
    assert found.shape == Y.shape and made.base_names == base.base_names
    np.testing.assert_allclose(found, Y, atol=1e-12 * np.abs(Y).max())
    np.testing.assert_allclose(found @ code["BASE_PARAMETERS"] + felt, expected, atol=1e-11 * size)
    if not batch:
        model = adapter.load(robot.source.path, floating)
        data = model.createData()
        bodies = code["inverse_dynamics"](q, v, a) - felt
        np.testing.assert_allclose(bodies, adapter.inverse_dynamics(model, data, robot, q, v, a), atol=1e-9 * size)


@pytest.mark.parametrize("compiler", EACH_COMPILER)
@pytest.mark.parametrize(("name", "floating"), ROBOTS[::2])
def test_compiled_code_does_what_the_library_does(name, floating, compiler, written, tmp_path):
    robot, made, _ = written(name, floating, "robot.h")
    assert made.compiled and made.functions == ("gravity", "inverse_dynamics", "regressor")
    prefix = "panda" if name == "panda" else "solo"
    call = compiled(made.path, prefix, compiler, tmp_path, made.functions)
    q, v, a = random_state(robot, np.random.default_rng(2))
    expected = sy.inverse_dynamics(robot, q, v, a)
    np.testing.assert_allclose(
        call("inverse_dynamics", robot.nv, q, v, a), expected, atol=1e-12 * np.abs(expected).max()
    )
    np.testing.assert_allclose(
        call("gravity", robot.nv, q), sy.inverse_dynamics(robot, q, 0 * v, 0 * a), atol=1e-12 * np.abs(expected).max()
    )
    Y = sy.regressor(robot, q, v, a)[:, sy.identifiability(robot).columns]
    np.testing.assert_allclose(call("regressor", Y.size, q, v, a).reshape(Y.shape), Y, atol=1e-12 * np.abs(Y).max())


@NEEDED
def test_compiled_code_has_no_memory_of_its_own(tmp_path):
    """Beside sines and cosines nothing is called, and nothing is stored between calls."""
    path = sy.controller_code(sy.library.puma560(), tmp_path / "puma.h").path
    (tmp_path / "call.c").write_text(
        f'#include "{path}"\nvoid call(const double *q, double *out) {{ puma560_gravity(q, out); }}\n'
    )
    command = [*COMPILERS[0], "-O2", "-c", "call.c", "-o", "call.o"]
    subprocess.run(command, cwd=tmp_path, check=True)
    symbols = subprocess.run(["nm", "call.o"], cwd=tmp_path, capture_output=True, text=True, check=True).stdout.split()
    assert {name for name in symbols if name in ("malloc", "calloc", "realloc", "alloca", "free")} == set()
    assert not {"B", "b", "D", "d", "C"} & set(symbols[1::2])


@NEEDED
def test_single_precision(tmp_path):
    robot = sy.library.puma560()
    path = sy.controller_code(robot, tmp_path / "puma.h", functions=("gravity",)).path
    (tmp_path / "call.c").write_text(
        f'#define STEELYARD_FLOAT\n#include "{path}"\nvoid call(const float *q, float *out);\n'
        "void call(const float *q, float *out) { puma560_gravity(q, out); }\n"
    )
    command = [*COMPILERS[0], "-shared", "-fPIC", "call.c", "-o", "call.so", "-lm"]
    subprocess.run(command, cwd=tmp_path, check=True)
    q, out = np.linspace(-1, 1, 6, dtype=np.float32), np.empty(6, dtype=np.float32)
    pointers = [x.ctypes.data_as(ctypes.POINTER(ctypes.c_float)) for x in (q, out)]
    ctypes.CDLL(str(tmp_path / "call.so")).call(*pointers)
    expected = sy.inverse_dynamics(robot, q.astype(float), np.zeros(6), np.zeros(6))
    np.testing.assert_allclose(out, expected, atol=1e-5 * np.abs(expected).max())


@tried(25)
@given(robot=robots(most=7), seed=st.integers(0, 99))
def test_code_of_random_robots(robot, seed, tmp_path_factory):
    path = tmp_path_factory.mktemp("code") / "robot.py"
    code = by_numpy(sy.controller_code(robot, path).path)
    q, v, a = random_state(robot, np.random.default_rng(seed), (2,))
    expected = sy.inverse_dynamics(robot, q, v, a)
    np.testing.assert_allclose(code["inverse_dynamics"](q, v, a), expected, atol=1e-12 * max(1, np.abs(expected).max()))


BALLS = """<mujoco><option gravity="1 -2 -9"/><worldbody><body name="a" pos="0.1 0 0.2" euler="10 20 30">
<joint type="ball" pos="0.1 0.2 0.3"/>
<geom type="box" size="0.1 0.2 0.3" pos="0.1 0 0"/><body name="b" pos="0.3 0 0"><joint type="slide" axis="1 2 3"/>
<geom type="sphere" size="0.1"/></body></body></worldbody></mujoco>"""
PLANAR = """<robot name="p"><link name="w"/><link name="c"><inertial><origin xyz="0.1 0.2 0.3"/><mass value="2"/>
<inertia ixx="0.5" iyy="0.6" izz="0.7" ixy="0.01" ixz="0.02" iyz="0.03"/></inertial></link>
<joint name="j" type="planar">
<parent link="w"/><child link="c"/><origin xyz="1 2 3" rpy="0.3 0.2 0.1"/><axis xyz="0 0.6 0.8"/></joint></robot>"""


@pytest.mark.parametrize(("text", "suffix"), [(BALLS, ".xml"), (PLANAR, ".urdf")])
def test_joints_of_several_degrees(text, suffix, tmp_path):
    (tmp_path / f"robot{suffix}").write_text(text)
    robot = sy.load(tmp_path / f"robot{suffix}")
    code = by_numpy(sy.controller_code(robot, tmp_path / "code.py").path)
    q, v, a = random_state(robot, np.random.default_rng(3), (4,))
    expected = sy.inverse_dynamics(robot, q, v, a)
    np.testing.assert_allclose(code["inverse_dynamics"](q, v, a), expected, atol=1e-12 * np.abs(expected).max())


@pytest.mark.parametrize("name", ["*/ int main(){} /*", '"""\nimport os', "a\\\nb", "x" * 500, "1", "int", "имя", ""])
def test_names_from_models_stay_names(name, tmp_path):
    robot = sy.library.scara()
    joints = tuple(replace(joint, name=f"{name}{k}") for k, joint in enumerate(robot.joints))
    robot = replace(
        robot, name=name, joints=joints, body_names=tuple(f"{name}#{k}" for k in range(robot.nb)), source=None
    )
    header = sy.controller_code(robot, tmp_path / "robot.h")
    assert header.compiled == bool(COMPILERS)
    text = header.path.read_text()
    assert text.count("/*") == text.count("*/") == 4 and max(map(len, text.split("*/")[0].splitlines())) < 130
    by_numpy(sy.controller_code(robot, tmp_path / "robot.py").path)


def test_what_cannot_be_written_is_refused_and_leaves_nothing(tmp_path, monkeypatch):
    arm = sy.library.scara()
    with pytest.raises(ModelError, match=r"closed loops .*dataclasses.replace"):
        sy.controller_code(sy.library.five_bar(), tmp_path / "a.h")
    with pytest.raises(OptionError, match=r"ends in \.h for C"):
        sy.controller_code(arm, tmp_path / "a.cpp")
    with pytest.raises(OptionError, match=r"some of gravity, inverse_dynamics, regressor, .*; found mass"):
        sy.controller_code(arm, tmp_path / "a.h", functions=("mass",))
    right = generate.inverse_dynamics
    monkeypatch.setattr(generate, "inverse_dynamics", lambda *given, **words: 1.0001 * right(*given, **words))
    with pytest.raises(ModelError, match="is off the library by"):
        sy.controller_code(arm, tmp_path / "a.h")
    assert not list(tmp_path.iterdir())
    monkeypatch.undo()
    (tmp_path / "mine.py").write_text("print(1)\n")
    with pytest.raises(OptionError, match="not written by Steelyard"):
        sy.controller_code(arm, tmp_path / "mine.py")
    assert (tmp_path / "mine.py").read_text() == "print(1)\n"
    for place in ("missing/arm.h", "folder.h"):
        (tmp_path / "folder.h").mkdir(exist_ok=True)
        with pytest.raises(ModelError, match="cannot write"):
            sy.controller_code(arm, tmp_path / place)
    assert [sy.controller_code(arm, tmp_path / "again.py").compiled for _ in range(2)] == [False, False]


def test_only_what_is_asked_for_is_written(tmp_path):
    made = sy.controller_code(sy.library.scara(), tmp_path / "a.py", functions=("gravity",))
    assert made.functions == ("gravity",) and "def regressor" not in made.path.read_text()
    assert made.operations["gravity"] == 0  # vertical axes: a constant


@NEEDED
@pytest.mark.parametrize("length", [1, 40, 300])
def test_pieces_of_any_length_hand_on_what_later_ones_need(length, tmp_path, monkeypatch):
    monkeypatch.setattr(statements, "PIECE", length)
    made = sy.controller_code(sy.library.puma560(), tmp_path / "puma.h")
    text = made.path.read_text()
    assert made.compiled and text.count("STEELYARD_APART void") > 400 // length
    kept = [int(size) for size in re.findall(r"STEELYARD_REAL kept\[(\d+)\];", text)]
    assert kept and max(kept) < made.operations["regressor"] / 4  # entries that nobody reads any more are used again


def test_axes_that_are_nearly_parallel_stay_as_they_are(tmp_path):
    """Regrouping takes them for parallel; code is exact."""
    robot = sy.library.scara()
    tilted = Rotation.from_rotvec([1e-7, 0, 0]).as_matrix()
    joints = tuple(replace(joint, rotation=joint.rotation @ tilted) for joint in robot.joints)
    robot = replace(robot, joints=joints, source=None)
    assert sy.identifiability(robot).mechanism.rounded > 0
    assert len(sy.controller_code(robot, tmp_path / "a.py").base_names) >= sy.identifiability(robot).count
