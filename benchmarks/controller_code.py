"""Code for controllers: time a call of the generated C beside Pinocchio's C++, both compiled with -O3 here.

Pinocchio's column needs its headers, which its package has, and Eigen's (Debian: libeigen3-dev). Its code generation
is not in the package. Its regressor has all columns, ours those of the base parameters.
"""

import subprocess
import tempfile
import time
from pathlib import Path

import pinocchio as pin

import steelyard as sy
from robots import urdf

HERE = Path(__file__).parent / "peer_code"
CALLS = "100000"
ROBOTS = (("panda", False), ("solo12", True), ("g1_29dof_rev_1_0", True))
KINDS = ("gravity", "inverse dynamics", "regressor")
LARGE = ("MPL_LIMIT_LIST_SIZE=30", "MPL_CFG_NO_PREPROCESSED_HEADERS", "FUSION_INVOKE_MAX_ARITY=12")  # of Boost's lists


def run() -> dict:
    """`{robot: {column: value}}`: microseconds a call of ours and Pinocchio's, kB of the header, s to compile it."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        peer = _pinocchio(folder)
        return {robot: _row(robot, floating, folder, peer) for robot, floating in ROBOTS}


def _row(name: str, floating: bool, folder: Path, peer: Path | None) -> dict:
    robot, header = sy.load(urdf(name), floating=floating), folder / f"{name}.h"
    sy.controller_code(robot, header)
    prefix = header.read_text().split("_gravity(", 1)[0].rsplit(" ", 1)[1]
    program = folder / name
    start = time.perf_counter()
    options = [f'-DHEADER="{header}"', f"-DPREFIX={prefix}"]
    _compiled("cc", "-std=gnu99", *options, HERE / "controller_loop.c", "-lm", "-o", program)
    row = {"header, kB": header.stat().st_size // 1000, "compilation, s": time.perf_counter() - start}
    ours = _seconds(program, CALLS)
    model = pin.buildModelFromUrdf(str(urdf(name)), *([pin.JointModelFreeFlyer()] if floating else []))
    model.saveToText(str(folder / f"{name}.txt"))
    theirs = [None] * 3 if peer is None else _seconds(peer, folder / f"{name}.txt", CALLS)
    for kind, own, other in zip(KINDS, ours, theirs, strict=True):
        row[f"{kind}, us"] = 1e6 * own
        row[f"{kind}, Pinocchio over it"] = None if other is None else other / own
    return row


def _pinocchio(folder: Path) -> Path | None:
    """The loop of Pinocchio, compiled; None where its headers or Eigen's are not there."""
    prefix = Path(pin.__file__).parents[4]
    libraries = [prefix / "lib" / "libpinocchio_default.so", *(prefix / "lib").glob("libboost_serialization.so")]
    options = [f"-DBOOST_{each}" for each in LARGE] + ["-DFUSION_MAX_VECTOR_SIZE=12", f"-Wl,-rpath,{prefix / 'lib'}"]
    paths = [f"-I{prefix / 'include'}", "-I/usr/include/eigen3"]
    try:
        _compiled("c++", "-std=c++17", *options, *paths, HERE / "pinocchio_loop.cpp", *libraries, "-o", folder / "loop")
    except subprocess.CalledProcessError:
        return None
    return folder / "loop"


def _compiled(*words) -> None:
    compiler, *rest = map(str, words)
    subprocess.run([compiler, "-O3", "-DNDEBUG", "-march=native", *rest], check=True, capture_output=True)


def _seconds(*words) -> list[float]:
    done = subprocess.run(list(map(str, words)), check=True, capture_output=True, text=True)
    return [float(line) for line in done.stdout.split()]


if __name__ == "__main__":
    print(run())
