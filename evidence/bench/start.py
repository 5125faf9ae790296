"""Seconds to import the package, to load everything public, to see the help and to check a URDF without meshes.

Each time in a new process.

`import steelyard` loads names on first use, so that it costs next to nothing by itself: what loading all of them costs
is the second row. NumPy and Typer, which are parts of them, stand beside. Processes of all rows take turns.
"""

import statistics
from pathlib import Path

import steelyard
from evidence.bench.timing import of_process

REPEATS = 10
PUMA = Path(steelyard.__file__).parent / "model" / "data" / "puma560.urdf"
PROGRAMS = {
    "import steelyard": ("-c", "import steelyard"),
    "import steelyard, every public name": ("-c", "from steelyard import *"),
    "steelyard --help": ("-m", "steelyard", "--help"),
    "steelyard identify --help": ("-m", "steelyard", "identify", "--help"),
    "steelyard check puma560.urdf": ("-m", "steelyard", "check", "--fail-on", "error", str(PUMA)),
    "import numpy": ("-c", "import numpy"),
    "import typer": ("-c", "import typer"),
}


def run() -> dict:
    """Medians of what a process takes beyond an empty one; CPU seconds do not count the waits of a busy machine."""
    taken = {name: [] for name in ("", *PROGRAMS)}
    for _ in range(REPEATS):
        for name, found in taken.items():
            found.append(of_process(*PROGRAMS.get(name, ("-c", "pass"))))
    medians = {
        name: [statistics.median(column) for column in zip(*found, strict=True)] for name, found in taken.items()
    }
    empty = medians.pop("")
    return {name: {"seconds": wall - empty[0], "CPU seconds": cpu - empty[1]} for name, (wall, cpu) in medians.items()}
