"""Install the built wheel in empty environments and run the README there.

`make package` builds wheel and source archive and runs this for every supported Python that is found. Nothing of the
checkout but README.md is used: each environment is new, and its working folder is a temporary one.
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
EXTRAS = ("figures", "cluster")  # on the oldest Python; that of GPUs takes gigabytes
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


def run(folder: Path, *words: str | Path) -> None:
    """A command in a folder. Raises CalledProcessError, its errors shown."""
    subprocess.run([str(word) for word in words], cwd=folder, check=True, stdout=subprocess.DEVNULL)


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
    (wheel,) = (ROOT / "dist").glob("*.whl")
    found = interpreters()
    tries = [(version, "") for version in found] + [(next(iter(found)), f"[{extra}]") for extra in EXTRAS]
    for version, extra in tries:
        start = time.perf_counter()
        with tempfile.TemporaryDirectory() as folder:
            binaries = installed(found[version], f"{wheel}{extra}", Path(folder))
            if not extra:
                try_readme(binaries, Path(folder))
        what = "installed" if extra else "installed, README runs"
        print(f"Python {version}: {wheel.name}{extra} {what}, {time.perf_counter() - start:.0f} s")


if __name__ == "__main__":
    main()
