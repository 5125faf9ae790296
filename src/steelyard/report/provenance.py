"""Where a result comes from: versions, input files and their hashes, time."""

import hashlib
import platform
from collections.abc import Iterable
from datetime import UTC, datetime
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

from steelyard.pipeline import Job, side_of

PACKAGES = ("steelyard", "numpy", "scipy", "clarabel", "lxml", "mujoco", "plotly")


def provenance(inputs: Iterable[tuple[str, str | Path]]) -> dict:
    """Versions of what computed the result, the input files with size and SHA-256, the folder of relative paths.

    inputs: role and path of each file, or folder of files.
    """
    return {
        "created": datetime.now(UTC).isoformat(timespec="seconds"),
        "python": platform.python_version(),
        "platform": platform.platform(terse=True),
        "packages": {name: _version(name) for name in PACKAGES},
        "folder": str(Path.cwd()),
        "inputs": [_input(role, path) for role, path in inputs],
    }


def inputs_of(job: Job) -> list[tuple[str, str | Path]]:
    """Role and path of the files that an identification reads."""
    beside = (("side file", side_of(job)), ("gravity model", job.corrections.gravity_model))
    return [
        ("model", job.model),
        *((role, path) for role, path in beside if path is not None),
        *(("log", path) for path in job.logs),
    ]


def _version(package: str) -> str | None:
    try:
        return version(package)
    except PackageNotFoundError:  # run from a source tree that was never installed
        return None


def _input(role: str, path) -> dict:
    size = sum(part.stat().st_size for part in _parts(path))
    return {"role": role, "path": str(path), "bytes": size, "sha256": digest(path)}


def digest(path) -> str:
    """SHA-256 of a file; of a folder, that of its files behind one another."""
    found = hashlib.sha256()
    for part in _parts(path):
        with part.open("rb") as file:
            while block := file.read(2**20):
                found.update(block)
    return found.hexdigest()


def _parts(path) -> list[Path]:
    path = Path(path)
    return sorted(part for part in path.iterdir() if part.is_file()) if path.is_dir() else [path]
