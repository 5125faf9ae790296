"""Build the wheels of every supported Python that is found, install each in an empty environment, run the README there.

`make package` makes the source archive and runs this. Nothing of the checkout but README.md is used: each environment
is new, its working folder a temporary one. Wheels are installed with the compiler hidden. At last the source archive is
installed that way, too: it has to work, slower, and to say so.
"""

import os
import re
import shutil
import subprocess
import tempfile
import time
from pathlib import Path

ROOT = Path(__file__).parents[1]
SUPPORTED = ("3.11", "3.12", "3.13", "3.14")
EXTRAS = ("all", "figures", "cluster")  # on the oldest Python; that of GPUs takes gigabytes
RUN2 = """
import numpy as np, steelyard as sy
log = sy.read_log("run1.csv", sy.load("arm.urdf"))
np.savez("run2.npz", t=log.t, q=log.q, tau=log.tau, joint_names=list(log.joint_names))
"""


def interpreters() -> dict[str, str]:
    """Version -> executable of each supported Python found, on the path or installed by pyenv."""
    pyenv = Path(os.environ.get("PYENV_ROOT", Path.home() / ".pyenv")) / "versions"
    found = {}
    for version in SUPPORTED:
        for path in (*map(str, sorted(pyenv.glob(f"{version}.*/bin/python"))), shutil.which(f"python{version}")):
            if path is not None and runs(path, version):
                found[version] = path
    return found


def runs(python: str, version: str) -> bool:
    """Whether an executable is what its name says; version managers leave shims of absent versions."""
    code = "import sys; print('%d.%d' % sys.version_info[:2])"
    done = subprocess.run([python, "-c", code], capture_output=True, text=True, check=False)
    return done.stdout.strip() == version


NO_COMPILER = {"CC": "/nowhere/cc", "CXX": "/nowhere/c++"}
SLOW = """
import warnings, numpy as np, steelyard as sy
robot = sy.library.puma560()
with warnings.catch_warnings(record=True) as caught:
    sy.inverse_dynamics(robot, *np.zeros((3, 2, 6)))
assert "no C++ compiler" in str(caught[0].message), caught
"""


def run(folder: Path, *words: str | Path) -> None:
    """A command in a folder, where no compiler is found. Raises CalledProcessError, its errors shown."""
    command = [str(word) for word in words]
    subprocess.run(command, cwd=folder, check=True, stdout=subprocess.DEVNULL, env=os.environ | NO_COMPILER)


def built(python: str, version: str, archive: Path) -> Path:
    """The wheel that a Python makes of the source archive, beside it; of the stable ABI the one that is there."""
    stable = list(archive.parent.glob("*-abi3-*.whl"))
    if stable and version > "3.11":
        return stable[0]
    with tempfile.TemporaryDirectory() as folder:
        command = [python, "-m", "pip", "wheel", "--quiet", "--disable-pip-version-check", "--no-deps"]
        subprocess.run([*command, "--wheel-dir", folder, str(archive)], check=True)
        (wheel,) = Path(folder).glob("*.whl")
        return Path(shutil.copy(wheel, archive.parent))


def installed(python: str, wheel: str, folder: Path) -> Path:
    """Programs of a new environment with the wheel, whose requirements agree with each other."""
    run(folder, python, "-m", "venv", "env")
    binaries = folder / "env" / "bin"
    run(folder, binaries / "python", "-m", "pip", "install", "--quiet", "--disable-pip-version-check", wheel)
    run(folder, binaries / "python", "-m", "pip", "check", "--disable-pip-version-check")
    run(folder, binaries / "python", "-m", "steelyard", "--version")
    return binaries


def try_readme(binaries: Path, folder: Path) -> None:
    """README's commands and Python examples in a new environment."""
    run(folder, binaries / "steelyard", "demo", "--out", "demo-out")
    shutil.copy(folder / "demo-out" / "puma560.urdf", folder / "arm.urdf")
    shutil.copy(folder / "demo-out" / "puma560_run.csv", folder / "run1.csv")
    run(folder, binaries / "python", "-W", "error", "-c", RUN2)
    readme = (ROOT / "README.md").read_text("utf-8")
    for line in re.findall(r"^\$ (steelyard .*)$", readme, flags=re.MULTILINE):
        run(folder, binaries / "steelyard", *line.split()[1:])
    blocks = re.findall(r"```python\n(.*?)```", readme, flags=re.DOTALL)
    run(folder, binaries / "python", "-W", "error", "-c", "\n".join(blocks))


def main() -> None:
    (archive,) = (ROOT / "dist").glob("*.tar.gz")
    found = interpreters()
    first = next(iter(found))
    wheels = {version: str(built(python, version, archive)) for version, python in found.items()}
    tries = [(version, f"{wheel}[report]") for version, wheel in wheels.items()]
    tries += [(first, f"{wheels[first]}[{extra}]") for extra in EXTRAS]
    for version, what in tries:
        start = time.perf_counter()
        with tempfile.TemporaryDirectory() as folder:
            binaries = installed(found[version], what, Path(folder))
            if what.endswith("[report]"):
                try_readme(binaries, Path(folder))
        print(f"Python {version}: {Path(what).name} works, {time.perf_counter() - start:.0f} s")
    with tempfile.TemporaryDirectory() as folder:
        binaries = installed(found[first], str(archive), Path(folder))
        run(Path(folder), binaries / "python", "-c", SLOW)
    print(f"Python {first}: {archive.name} without a compiler works and says that it is slower")


if __name__ == "__main__":
    main()
