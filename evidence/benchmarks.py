"""Speed, memory and accuracy, beside other tools where there are some: the tables of `evidence/bench`.

`python -m evidence benchmarks NAME` runs one, which is the only way to the long studies, many minutes each.
"""

import ast
from collections import defaultdict
from importlib import import_module
from pathlib import Path

from evidence.runner import Row
from evidence.tables import table

FOLDER = Path(__file__).parent / "bench"
SHARED = (
    *("__init__", "chart_descent", "fault_bounds", "peer_cases", "peer_regressors", "real_logs", "timing"),
    "tray_experiment",
)
BY_NAME = (
    *("contacts", "controller_code", "coverage", "drives", "estimators", "excitation_robots", "faults"),
    *("fleet", "fleet_changes", "fleet_memory", "momentum", "stream"),
)
WORKERS, LIMIT = 1, 7200.0
PACKAGES = (
    *("numpy", "scipy", "jax", "clarabel", "mujoco", "pin", "mujoco-sysid", "idyntree", "trimesh"),
    *("pyarrow", "rosbags", "mcap-ros2-support"),
)
UNKNOWN = "unknown"  # machine of rows that were stored without it
HEAD = "# Benchmarks\n\n{}\n\nMedians by `make bench`; only ratios within one run mean something.\n"


def cases() -> list[str]:
    names = sorted(path.stem for path in FOLDER.glob("*.py"))
    return [name for name in names if name not in (*SHARED, *BY_NAME)]


def row(case: str) -> Row:
    return {"table": import_module(f"evidence.bench.{case}").run()}


def page(rows: list[Row]) -> str:
    """A section a benchmark."""
    parts = [HEAD.format(machines(rows))]
    for each in sorted(rows, key=lambda row: row["case"]):
        found = table(each["table"]) if "table" in each else f"{each['raised']}: {each['message']}\n"
        said = "\n\n".join([summary(each["case"]), *([each["note"]] if "note" in each else [])])
        parts.append(f"## {each['case']}\n\n{said}\n\n{found}")
    return "\n".join(parts)


def machines(rows: list[Row]) -> str:
    """A sentence on each machine, with what ran on it where there are several."""
    by: dict[str, list[str]] = defaultdict(list)
    for each in rows:
        if each["machine"] != UNKNOWN:
            by[each["machine"]].append(str(each["case"]))
    if len(by) == 1:
        return f"{next(iter(by))}."
    return "\n\n".join(f"{', '.join(sorted(names))}: {said}." for said, names in by.items())


def summary(name: str) -> str:
    """First paragraph of a benchmark's documentation, on one line."""
    text = ast.get_docstring(ast.parse((FOLDER / f"{name}.py").read_text("utf-8"))) or ""
    return " ".join(text.split("\n\n")[0].split())
