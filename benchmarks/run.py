"""Run the benchmarks of this folder and write `benchmarks/RESULTS.md`: `make bench`.

Some of them: `python -m benchmarks.run NAME...`, also the way to the long studies. The others keep their section.
"""

import importlib
import platform
import sys
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

from steelyard.native import threads

FOLDER = Path(__file__).parent
SHARED = (
    "__init__",
    "run",
    "peers",
    "peer_cases",
    "timing",
    "real_logs",
    "fault_bounds",
    "tray_experiment",
)  # no benchmarks
# many minutes each; their tables are in docs/
STUDIES = (
    "controller_code",
    "coverage",
    "drives",
    "estimators",
    "excitation_robots",
    "faults",
    "fleet",
    "fleet_changes",
    "fleet_memory",
    "momentum",
    "peer_jobs",
    "stream",
)
PEERS = (
    *("numpy", "scipy", "jax", "clarabel", "mujoco", "pin", "mujoco-sysid", "idyntree", "trimesh"),
    *("pyarrow", "rosbags", "mcap-ros2-support"),
)


def main(wanted: list[str]):
    """Run the wanted benchmarks, by default all but the long studies; the others keep the section they have."""
    names = sorted(path.stem for path in FOLDER.glob("*.py") if path.stem not in SHARED)
    results = FOLDER / "RESULTS.md"
    wanted = wanted or [name for name in names if name not in STUDIES]
    kept = sections(results.read_text()) if results.exists() else {}
    parts = [f"# Benchmarks\n\n{machine()}\n\nMedians by `make bench`; only ratios within one run mean something.\n"]
    for name in names:
        if name in wanted:
            print(f"{name} ...", flush=True)
            module = importlib.import_module(f"benchmarks.{name}")
            kept[name] = f"## {name}\n\n{summary(module)}\n\n{table(module.run())}"
        if name in kept:
            parts.append(kept[name])
    results.write_text("\n".join(parts))
    print("\n".join(parts))


def sections(text: str) -> dict[str, str]:
    """Sections of a results file by their headings."""
    parts = ["## " + part.rstrip("\n") + "\n" for part in text.split("\n## ")[1:]]
    return {part.split("\n", 1)[0].removeprefix("## "): part for part in parts}


def machine() -> str:
    """One line on the machine and the versions."""
    versions = ", ".join(f"{name} {installed(name)}" for name in PEERS)
    return f"{platform.machine()}, {threads()} cores, Python {platform.python_version()}, {versions}."


def installed(name: str) -> str:
    try:
        return version(name)
    except PackageNotFoundError:
        return "not installed"


def summary(module) -> str:
    """First paragraph of a module's documentation, on one line."""
    return " ".join(module.__doc__.strip().split("\n\n")[0].split())


def table(rows: dict) -> str:
    """Markdown table of `{row: {column: value}}`, or of one row `{column: value}`."""
    if not all(isinstance(row, dict) for row in rows.values()):
        rows = {"": rows}
    columns = list(dict.fromkeys(key for row in rows.values() for key in row))
    lines = ["| | " + " | ".join(columns) + " |", "|---" * (len(columns) + 1) + "|"]
    for name, row in rows.items():
        lines.append(f"| {name} | " + " | ".join(cell(row.get(column)) for column in columns) + " |")
    return "\n".join(lines) + "\n"


def cell(value) -> str:
    if value is None:
        return ""
    return f"{value:.4g}" if isinstance(value, float) else str(value)


if __name__ == "__main__":
    main(sys.argv[1:])
