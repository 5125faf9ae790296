"""Where a result comes from, and how to repeat it: versions, input files and their hashes, time, command."""

import hashlib
import platform
from collections.abc import Iterable, Mapping, Sequence
from datetime import UTC, datetime
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

from steelyard.job import is_in_memory
from steelyard.numbers import size
from steelyard.pipeline import Job
from steelyard.pipeline.job_run import side_of
from steelyard.prepare.reading import log_side_path
from steelyard.report.document import ReportPart, Section
from steelyard.report.schema import SCHEMA_VERSION, jsonable
from steelyard.sheets import Sheet, sheet

PACKAGES = ("steelyard", "numpy", "scipy", "clarabel", "lxml", "mujoco", "plotly")
UNSET: tuple[Any, ...] = (None, [], {}, False)  # of options


def stamped(
    kind: str, content: Mapping[str, Any], *, job: Any, command: str, out, files: Sequence[str], inputs: Iterable
) -> dict:
    """A whole summary, null for NaN and infinity: its content between its kind and where it comes from, options of the
    run, the command that repeats it, folder and names of its files, and inputs as of `provenance`."""
    origin = {"job": job, "command": command, "out": None if out is None else str(out), "files": list(files)}
    stamp = {"schema_version": SCHEMA_VERSION, "kind": kind}
    return jsonable({**stamp, **content, **origin, "provenance": provenance(inputs)})


def provenance(inputs: Iterable[tuple[str, str | Path]]) -> dict:
    """Versions of what computed the result, the input files with role, size and SHA-256, the folder of relative
    paths."""
    return {
        "created": datetime.now(UTC).isoformat(timespec="seconds"),
        "python": platform.python_version(),
        "platform": platform.platform(terse=True),
        "packages": {name: installed_version(name) for name in PACKAGES},
        "folder": str(Path.cwd()),
        "inputs": [_input(role, path) for role, path in inputs],
    }


def inputs_of(job: Job) -> list[tuple[str, str | Path]]:
    """Role and path of the files that an identification reads; what was given in memory is not among them."""
    beside = (("side file", side_of(job)), ("gravity model", job.corrections.gravity_model))
    found = [log_side_path(path) for path in job.logs if not is_in_memory(path)]
    corrections = (("corrections of a log", path) for path in found if path.is_file())
    named = (("model", job.model), *beside, *(("log", path) for path in job.logs), *corrections)
    return [(role, path) for role, path in named if path is not None and not is_in_memory(str(path))]


def digest(path) -> str:
    """SHA-256 of a file; of a folder, that of its files behind one another."""
    found = hashlib.sha256()
    for part in _parts(path):
        with part.open("rb") as file:
            while block := file.read(2**20):
                found.update(block)
    return found.hexdigest()


def repeat_section(summary: dict) -> Section:
    """The command, the input files and the options of a run."""
    job = {key: value for key, value in summary["job"].items() if value not in UNSET}
    options = tuple(f"{key}: {_plain(value)}" for key, value in job.items())
    parts = (
        ReportPart(code=summary["command"]),
        ReportPart(sheet=_inputs(summary["provenance"])),
        ReportPart(items=options, folded="every option of the run"),
    )
    return Section("Where this comes from, and how to repeat it", "Repeat", parts)


def installed_version(package: str = "steelyard") -> str | None:
    """Version of a package, None where it is not installed."""
    try:
        return version(package)
    except PackageNotFoundError:  # run from a source tree that was never installed
        return None


def _input(role: str, path) -> dict:
    count = sum(part.stat().st_size for part in _parts(path))
    return {"role": role, "path": str(path), "bytes": count, "sha256": digest(path)}


def _parts(path) -> list[Path]:
    path = Path(path)
    return sorted(part for part in path.iterdir() if part.is_file()) if path.is_dir() else [path]


def _inputs(found: dict) -> Sheet:
    rows = [(each["path"], each["role"], size(each["bytes"]), each["sha256"]) for each in found["inputs"]]
    return sheet(
        "Input files",
        f"Relative paths start in {found['folder']}.",
        (("File", "wrap"), ("Role", "text"), "Size", ("SHA-256", "wrap")),
        rows,
    )


def _plain(value) -> str:
    return ", ".join(map(str, value)) if isinstance(value, list) else str(value)
