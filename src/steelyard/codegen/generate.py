"""From a robot to code that a controller compiles: written, run against the library, and only then put in place."""

import ctypes
import runpy
import shutil
import subprocess
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass
from importlib.metadata import version
from pathlib import Path

import numpy as np

from steelyard import storage
from steelyard.arguments import require_type
from steelyard.cards import Card
from steelyard.codegen.languages import Function, c_text, harmless, identifier, python_text
from steelyard.codegen.traced_dynamics import FUNCTIONS, program_of
from steelyard.dynamics import inverse_dynamics
from steelyard.errors import ModelError, OptionError, choices
from steelyard.identifiable import Identifiability, identifiability
from steelyard.model import Robot

CODE = ".h", ".py"  # suffixes of files
AGREES = 1e-12  # of the largest torque, or entry of the regressor
STATES = 8  # at which code and library are compared
COMPILERS = "cc", "gcc", "clang"
PATIENCE = 300  # s for a compiler


@dataclass(frozen=True, eq=False, repr=False)
class ControllerCode(Card):
    """What was written. path: of the file. functions: their names. operations: arithmetic ones of a call, by function.
    base_names: parameters of the regressor's columns. compiled: whether C was compiled here and compared; NumPy was."""

    path: Path
    functions: tuple[str, ...]
    operations: dict[str, int]
    base_names: tuple[str, ...]
    compiled: bool

    def _title(self) -> str:
        return f"Wrote {self.path}, which agrees with the library{' as C' * self.compiled}."

    def _rows(self):
        return {
            "operations a call": ", ".join(f"{name} {count}" for name, count in self.operations.items()),
            "base parameters": len(self.base_names),
            "not tried": "no compiler was found; its NumPy form agrees"
            if self.path.suffix == ".h" and not self.compiled
            else None,
        }


def controller_code(robot: Robot, path, *, functions: Sequence[str] = FUNCTIONS) -> ControllerCode:
    """Write functions of a robot as code without dependencies: a C header, or a Python file for NumPy.

    Straight-line code without loops, branches and memory of its own; agrees with the library to 1e-12, which is tried
    before the file appears: by its NumPy form, and of C, where there is a compiler, by itself.

    Args:
        robot: without closed loops; its inertias, gravity and armature are constants of the code.
        path: of the file, .h or .py; the functions start with the robot's name in C.
        functions: "gravity" (q), "inverse_dynamics" (q, v, a; armature included, friction not) and "regressor" (of the
            base parameters, rows are torques, armature left aside); joints in the order of `robot.joint_names`.

    Returns:
        What was written.

    Raises:
        ModelError: closed loops, or code that does not do what the library does.
        OptionError: another suffix, or unknown functions.

    Example:
        >>> import steelyard as sy
        >>> sy.controller_code(sy.library.scara(), "scara.h").functions  # doctest: +SKIP
        ('gravity', 'inverse_dynamics', 'regressor')
    """
    require_type(Robot, robot=robot)
    path = Path(path)
    if path.suffix not in CODE:
        raise OptionError(f"{path} is no file of code: its name ends in .h for C, or in .py for NumPy.")
    unknown = [name for name in functions if name not in FUNCTIONS]
    if unknown or not functions:
        raise OptionError(f"functions are some of {choices(FUNCTIONS)}; found {choices(unknown) or 'none'}.")
    if robot.loops:
        raise ModelError(
            f"Robot '{robot.name}' has closed loops ({choices(robot.loop_names)}), whose joints have to be solved for: "
            "there is no code for them. Export the open tree: dataclasses.replace(robot, loops=())."
        )
    base = identifiability(robot)
    sizes = {"q": robot.nq, "v": robot.nv, "a": robot.nv}
    columns = [int(column) for column in base.columns]
    made = []
    for name in FUNCTIONS:
        if name in functions:
            program, inputs, result = program_of(name, robot, columns)
            made.append(Function(name, program, {each: sizes[each] for each in inputs}, result))
    prefix = identifier(robot.name)
    tables = _tables(robot, base)
    about = _about(robot, base, made)
    with storage.whole(path) as draft:
        text = c_text if path.suffix == ".h" else python_text
        draft.write_text(text(prefix, about, tables, made), encoding="ascii")
        with tempfile.TemporaryDirectory() as folder:
            twin = Path(folder) / "twin.py"
            twin.write_text(python_text(prefix, about, tables, made), encoding="ascii")
            states = _states(robot)
            expected = _expected(robot, base, states, made)
            _require_equal(robot, _by_numpy(twin, states, made), expected, tables["BASE_PARAMETERS"], "NumPy")
            compiler = next(filter(None, map(shutil.which, COMPILERS)), None)
            compiled = path.suffix == ".h" and compiler is not None
            if compiled:
                found = _by_c(str(compiler), draft, Path(folder), prefix, states, made)
                _require_equal(robot, found, expected, tables["BASE_PARAMETERS"], "C")
    operations = {function.name: function.operations for function in made}
    return ControllerCode(path, tuple(operations), operations, base.base_names, compiled)


def _tables(robot: Robot, base: Identifiability) -> dict[str, int | list[float]]:
    """Constants of the file by name."""
    return {
        "NQ": robot.nq,
        "NV": robot.nv,
        "NUMBER_OF_BASE_PARAMETERS": base.count,
        "BASE_PARAMETERS": base.regroup(robot.inertias.ravel()).tolist(),
        "ARMATURE": robot.armature.tolist(),
        "VISCOUS_FRICTION": robot.damping.tolist(),
        "COULOMB_FRICTION": robot.frictionloss.tolist(),
    }


def _about(robot: Robot, base: Identifiability, made: Sequence[Function]) -> list[str]:
    """Lines of the comment above the code."""
    source = f", from {harmless(Path(robot.source.path).name)}" if robot.source and robot.source.path else ""
    told = {
        "gravity": "torques that hold the robot at rest in q",
        "inverse_dynamics": "torques of a motion q, v, a: bodies, gravity and armature; friction is not in them",
        "regressor": "nv rows; times BASE_PARAMETERS they are the torques of the bodies and gravity, without armature",
    }
    return [
        f"Robot {harmless(robot.name)}{source}. Generated by Steelyard {version('steelyard')}; do not edit.",
        "",
        *(f"{function.name}({', '.join(function.inputs)}): {told[function.name]}" for function in made),
        "",
        f"q ({robot.nq}): positions, rad or m; free bases as x y z and quaternion x y z w, ball joints as x y z w.",
        f"v, a ({robot.nv}): velocities and accelerations; torques in N m or N. Joints, in this order:",
        *(f"  {harmless(name)}" for name in robot.dof_names),
        "",
        f"Base parameters ({base.count}), SI, each the name of the first of those it regroups:",
        *(f"  {harmless(name)}" for name in base.base_names),
    ]


def _states(robot: Robot) -> dict[str, np.ndarray]:
    rng = np.random.default_rng(0)
    q = rng.uniform(-2, 2, size=(STATES, robot.nq))
    for at in robot.quaternions:
        q[:, at] /= np.linalg.norm(q[:, at], axis=1, keepdims=True)
    v, a = rng.uniform(-2, 2, size=(2, STATES, robot.nv))
    return {"q": q, "v": v, "a": a}


def _expected(robot: Robot, base: Identifiability, states, made: Sequence[Function]) -> dict[str, np.ndarray]:
    """What the library says, by function; of a regressor the torques of its base parameters."""
    q, v, a = states["q"], states["v"], states["a"]
    found = {
        "gravity": inverse_dynamics(robot, q, np.zeros_like(v), np.zeros_like(a)),
        "inverse_dynamics": inverse_dynamics(robot, q, v, a),
    }
    found["regressor"] = found["inverse_dynamics"] - robot.armature * a
    return {function.name: found[function.name] for function in made}


def _by_numpy(path: Path, states, made: Sequence[Function]) -> dict[str, np.ndarray]:
    code = runpy.run_path(str(path))
    return {each.name: code[each.name](*(states[name] for name in each.inputs)) for each in made}


def _by_c(compiler: str, header: Path, folder: Path, prefix: str, states, made: Sequence[Function]):
    """Results of the compiled header. Raises ModelError where it does not compile."""
    shutil.copy(header, folder / "code.h")
    lines = ['#include "code.h"']
    for each in made:
        taken = ", ".join(f"const double *{name}" for name in each.inputs)
        lines.append(
            f"void call_{each.name}({taken}, double *out) {{ {prefix}_{each.name}({', '.join(each.inputs)}, out); }}"
        )
    (folder / "code.c").write_text("\n".join(lines) + "\n", encoding="ascii")
    command = [compiler, "-std=c99", "-O1", "-shared", "-fPIC", "code.c", "-o", "code.so", "-lm"]
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True, timeout=PATIENCE, check=False)
    if done.returncode:
        raise ModelError(f"{Path(compiler).name} does not compile the code: {done.stderr.strip()[:400]}")
    library = ctypes.CDLL(str(folder / "code.so"))
    found = {}
    for each in made:
        out = np.empty((STATES, len(each.outputs)))
        for k in range(STATES):
            arrays = [np.ascontiguousarray(states[name][k]) for name in each.inputs]
            pointers = [x.ctypes.data_as(ctypes.POINTER(ctypes.c_double)) for x in (*arrays, out[k])]
            getattr(library, f"call_{each.name}")(*pointers)
        found[each.name] = out.reshape((STATES, *each.shape))
    return found


def _require_equal(robot: Robot, found, expected, base_parameters, language: str) -> None:
    """Raise ModelError where code and library differ."""
    for name, wanted in expected.items():
        got = found[name] @ base_parameters if name == "regressor" else found[name]
        error = np.abs(got - wanted).max()
        if not error <= AGREES * max(1.0, np.abs(wanted).max()):
            raise ModelError(
                f"{language} code of {name} of '{robot.name}' is off the library by {error:.3g}; report it."
            )
