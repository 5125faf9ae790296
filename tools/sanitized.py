"""Build the compiled core with sanitizers and run the tests that use it most: `make sanitize`.

The build and a copy of the library with it are in build/sanitized; any read or write out of bounds, or undefined
behaviour, ends the tests. `--debug` builds the core there for a debugger, without tests.
"""

import os
import shutil
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parents[1]
BUILD = ROOT / "build" / "sanitized"
TESTS = (
    "tests/base/test_native_boundary.py",
    "tests/dynamics/test_native.py",
    "tests/dynamics/test_derivatives.py",
    "tests/information/test_agreement.py",
    "tests/fit/test_constrained_fits.py",
    "tests/log/test_smoothers.py",
    "tests/payload/test_batch.py",
    "tests/payload/test_motion.py",
    "tests/payload/test_online.py",
)
BOUNDARY_EXAMPLES = "1000"  # a function


def built(*options: str) -> Path:
    """Folder of a copy of the library with the core built as told."""
    tools = Path(sys.executable).parent
    environment = os.environ | {"PATH": f"{tools}{os.pathsep}{os.environ['PATH']}"}
    python = f"-DPython_EXECUTABLE={sys.executable}"
    subprocess.run(
        ["cmake", "-G", "Ninja", "-S", ROOT / "core", "-B", BUILD, python, *options], check=True, env=environment
    )
    subprocess.run(["cmake", "--build", BUILD], check=True, env=environment)
    copy = BUILD / "library" / "steelyard"
    shutil.rmtree(copy, ignore_errors=True)
    shutil.copytree(ROOT / "src" / "steelyard", copy, ignore=shutil.ignore_patterns("*.so", "*.pyd", "__pycache__"))
    for module in BUILD.glob("_core.*"):
        shutil.copy(module, copy)
    return copy.parent


def runtime(name: str) -> str:
    """Path of a library of the compiler."""
    asked = ["g++", f"-print-file-name={name}"]
    return subprocess.run(asked, capture_output=True, text=True, check=True).stdout.strip()


def main() -> int:
    """Exit status of the tests."""
    if "--debug" in sys.argv[1:]:
        print(f"PYTHONPATH={built('-DCMAKE_BUILD_TYPE=Debug')}")
        return 0
    library = built("-DSTEELYARD_SANITIZE=ON")
    paths = (library, ROOT / "tests" / "make", ROOT / "tests", ROOT / "tools", ROOT)
    environment = os.environ | {
        "PYTHONPATH": os.pathsep.join(map(str, paths)),
        "LD_PRELOAD": f"{runtime('libasan.so')} {runtime('libstdc++.so')}",
        # Python itself keeps memory until it ends; what cannot be allocated is an error that numpy raises
        "ASAN_OPTIONS": "detect_leaks=0:allocator_may_return_null=1",
        "STEELYARD_BOUNDARY_EXAMPLES": BOUNDARY_EXAMPLES,
    }
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:xdist", *(sys.argv[1:] or TESTS)]
    return subprocess.run(command, cwd=ROOT, env=environment, check=False).returncode


if __name__ == "__main__":
    sys.exit(main())
