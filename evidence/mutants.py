"""Small mistakes put into a module, one at a time, by Cosmic Ray: a test should fail with each.

A case is a module of the packages that `mutants.toml` names. Works in a copy of the tree; runs for minutes to hours
a module, so only those that are named have rows: `make mutants PACKAGES=inertia/exponential.py`.
"""

import json
import os
import shlex
import shutil
import subprocess
import sys
import time
import tomllib
from pathlib import Path

from evidence.runner import ROOT, Row
from evidence.tables import table

PAGE, WORKERS, LIMIT = "adversary/mutants", 1, 36000.0
CONFIG = tomllib.loads(Path(__file__).with_suffix(".toml").read_text("utf-8"))
OUT = ROOT / "mutants-out"
SLACK, TIMES = 30.0, 4.0  # seconds, and times the seconds without a mistake, until tests count as failed
BY_HAND = "by hand/"  # and a package: rows of mistakes that were kept as patches
LEFT_OUT = (".*", "__pycache__", "*-out", "build", "dist", "site", "*.jsonl")
TEXT = """# Mutants

Small mistakes put into the source on purpose, one at a time: a factor, a sign in a rare branch, a comparison, an index,
a condition. A mutant is killed when a test fails; one that lives is a mistake that no test notices.

[Cosmic Ray](https://cosmic-ray.readthedocs.io) makes them, as `evidence/mutants.toml` says, in
{packages}.
`make mutants PACKAGES=inertia` judges modules of that name that were not judged yet and writes this page. A module
takes minutes to hours: these were judged so far, the others not.

{table}
{alive}## Mistakes written by hand

Judged before, at earlier states of source and tests: a factor, a sign, a comparison, an index, a unit, a clip or a
check that was left out, each with the tests that should see it.

{by_hand}"""


def cases() -> list[str]:
    folders = [ROOT / "src" / "steelyard" / name for name in CONFIG["packages"]]
    paths = [path for folder in folders for path in sorted(folder.rglob("*.py")) if path.name != "__init__.py"]
    return [path.relative_to(ROOT / "src" / "steelyard").as_posix() for path in paths]


BY_NAME = tuple(cases())


def row(case: str) -> Row:
    """How many mutants there are, how many were killed, and those that live."""
    began, tree = time.monotonic(), OUT / "tree"
    shutil.rmtree(tree, ignore_errors=True)
    shutil.copytree(ROOT, tree, ignore=shutil.ignore_patterns(*LEFT_OUT))
    tests = CONFIG["modules"].get(case, CONFIG["packages"][case.partition("/")[0]])
    pytest = shlex.split("-m pytest -x -q -p no:xdist -p no:cacheprovider --tb=no")
    command = [sys.executable, *pytest, *tests]
    paths = [tree / "src", tree / "tests" / "make", tree / "tests" / "make", tree / "tests", tree / "tools", tree]
    environment = os.environ | {"PYTHONPATH": os.pathsep.join([*map(str, paths), *filter(None, sys.path)])}
    start = time.monotonic()
    subprocess.run(command, cwd=tree, env=environment, check=True, stdout=subprocess.DEVNULL)
    limit = TIMES * (time.monotonic() - start) + SLACK
    config = {"module-path": f"src/steelyard/{case}", "timeout": limit, "test-command": shlex.join(command)}
    (tree / "config.toml").write_text(_toml(CONFIG["cosmic-ray"] | config), encoding="utf-8")
    for words in (
        "cosmic_ray.cli init config.toml session.sqlite",
        "cosmic_ray.tools.filters.operators_filter session.sqlite config.toml",
        "cosmic_ray.cli exec config.toml session.sqlite",
    ):
        subprocess.run([sys.executable, "-m", *words.split()], cwd=tree, env=environment, check=True)
    return _judged(tree / "session.sqlite") | {"tests": tests, "minutes": round((time.monotonic() - began) / 60, 1)}


def _toml(config: dict) -> str:
    """The configuration of Cosmic Ray; JSON's strings, numbers and lists are those of TOML."""
    excluded = config["filters"]["operators-filter"]["exclude-operators"]
    own = [f"{key} = {json.dumps(value)}" for key, value in config.items() if not isinstance(value, dict)]
    sections = {
        "cosmic-ray": own,
        "cosmic-ray.distributor": [f'name = "{config["distributor"]["name"]}"'],
        "cosmic-ray.filters.operators-filter": [f"exclude-operators = {json.dumps(excluded)}"],
    }
    return "\n".join("\n".join([f"[{name}]", *lines]) for name, lines in sections.items()) + "\n"


def _judged(session: Path) -> Row:
    from cosmic_ray.work_db import WorkDB, use_db
    from cosmic_ray.work_item import TestOutcome, WorkerOutcome

    killed, alive = 0, []
    with use_db(session, WorkDB.Mode.open) as db:
        for item, result in db.completed_work_items:
            if result.worker_outcome == WorkerOutcome.SKIPPED:
                continue
            if result.test_outcome != TestOutcome.SURVIVED:
                killed += 1
                continue
            lines = (line for line in result.diff.splitlines() if line[:1] in "+-" and line[:3] not in ("+++", "---"))
            old, new = (line[1:].strip() for line in lines)
            alive.append({"line": item.mutations[0].start_pos[0], "old": old, "new": new})
    return {"mutants": killed + len(alive), "killed": killed, "alive": sorted(alive, key=lambda each: each["line"])}


def failed(row: Row) -> bool:
    return any(each["new"] not in CONFIG["alive"] for each in row["alive"])


def page(rows: list[Row]) -> str:
    """Modules that were judged, the mutants that live, and those of the list that was kept by hand."""
    by_hand = {row["case"].removeprefix(BY_HAND): row for row in rows if row["case"].startswith(BY_HAND)}
    judged = {row["case"]: row for row in rows if row["case"].endswith(".py") and "mutants" in row}
    living = [(case, each) for case, row in judged.items() for each in row["alive"]]
    alive = ["| module | line | source | alive | why |", "|---|---|---|---|---|"]
    for case, each in living:
        why = CONFIG["alive"].get(each["new"], "no test yet")
        alive.append(f"| `{case}` | {each['line']} | `{each['old']}` | `{each['new']}` | {why} |")
    return TEXT.format(
        packages=", ".join(f"`{name}`" for name in CONFIG["packages"]),
        table=table({case: _counts(row) for case, row in judged.items()}) if judged else "",
        alive="## Alive\n\n" + "\n".join([*alive, "", ""]) if living else "",
        by_hand=table(_sums(by_hand)),
    )


def _counts(row: Row) -> dict:
    counts = {"mutants": row["mutants"], "killed": row["killed"], "alive": len(row["alive"])}
    return counts | {"minutes": row["minutes"], "tests": ", ".join(map(str, row["tests"])), "commit": row["commit"]}


def _sums(rows: dict[str, Row]) -> dict[str, dict]:
    columns = ("mutants", "killed", "not judged")
    found = {name: {column: row[column] for column in columns} for name, row in rows.items()}
    return found | {"all": {column: sum(row[column] for row in rows.values()) for column in columns}}
