"""Code for controllers: time a call of the generated C (-O2) beside Pinocchio's C++ (-O3), both compiled here.

Pinocchio's column needs its headers, which its package has, and Eigen's (Debian: libeigen3-dev). Its code generation
is not in the package. Its regressor has all columns, ours those of the base parameters.
"""

import shutil
import subprocess
import tempfile
import time
from pathlib import Path
from statistics import median

import pinocchio as pin

import steelyard as sy
from robots import urdf

HERE = Path(__file__).parent / "peer_code"
CALLS, ROUNDS = "20000", 7
COMPILERS = "gcc", "clang"
ROBOTS = (("panda", False), ("solo12", True), ("g1_29dof_rev_1_0", True))
KINDS = ("gravity", "inverse dynamics", "regressor")
LARGE = ("MPL_LIMIT_LIST_SIZE=30", "MPL_CFG_NO_PREPROCESSED_HEADERS", "FUSION_INVOKE_MAX_ARITY=12")  # of Boost's lists


def run() -> dict:
    """`{robot: {column: value}}`: microseconds a call of ours and Pinocchio's, kB of the header, s to compile it."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        peer = _pinocchio(folder)
        return {
            f"{robot}, {compiler}": _row(robot, floating, compiler, folder, peer)
            for robot, floating in ROBOTS
            for compiler in filter(shutil.which, COMPILERS)
        }


def _row(name: str, floating: bool, compiler: str, folder: Path, peer: Path | None) -> dict:
    robot, header = sy.load(urdf(name), floating=floating), folder / f"{name}.h"
    sy.controller_code(robot, header)
    prefix = header.read_text().split("_gravity(", 1)[0].rsplit(" ", 1)[1]
    program = folder / name
    start = time.perf_counter()
    options = [f'-DHEADER="{header}"', f"-DPREFIX={prefix}"]
    _compiled(compiler, "-O2", "-std=gnu99", *options, HERE / "controller_loop.c", "-lm", "-o", program)
    row = {"header, kB": header.stat().st_size // 1000, "compilation, s": time.perf_counter() - start}
    model = pin.buildModelFromUrdf(str(urdf(name)), *([pin.JointModelFreeFlyer()] if floating else []))
    model.saveToText(str(folder / f"{name}.txt"))
    loops = [(program,)] + ([] if peer is None else [(peer, folder / f"{name}.txt")])
    rounds = [[_seconds(*loop, CALLS) for loop in loops] for _ in range(ROUNDS)]  # in turn: the machine's pace changes
    for k, kind in enumerate(KINDS):
        row[f"{kind}, us"] = 1e6 * median(ours[k] for ours, *_ in rounds)
        row[f"{kind}, Pinocchio over it"] = median(theirs[k] / ours[k] for ours, theirs in rounds) if peer else None
    return row


def _pinocchio(folder: Path) -> Path | None:
    """The loop of Pinocchio, compiled; None where its headers or Eigen's are not there."""
    prefix = Path(pin.__file__).parents[4]
    libraries = [prefix / "lib" / "libpinocchio_default.so", *(prefix / "lib").glob("libboost_serialization.so")]
    options = [f"-DBOOST_{each}" for each in LARGE] + ["-DFUSION_MAX_VECTOR_SIZE=12", f"-Wl,-rpath,{prefix / 'lib'}"]
    paths = [f"-I{prefix / 'include'}", "-I/usr/include/eigen3"]
    try:
        _compiled(
            "c++", "-O3", "-std=c++17", *options, *paths, HERE / "pinocchio_loop.cpp", *libraries, "-o", folder / "loop"
        )
    except subprocess.CalledProcessError:
        return None
    return folder / "loop"


def _compiled(*words) -> None:
    compiler, *rest = map(str, words)
    subprocess.run([compiler, "-DNDEBUG", "-march=native", *rest], check=True, capture_output=True)


def _seconds(*words) -> list[float]:
    done = subprocess.run(list(map(str, words)), check=True, capture_output=True, text=True)
    return [float(line) for line in done.stdout.split()]
