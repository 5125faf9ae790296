"""Run the suite and write docs/conformance.md: `make conformance`, or `python -m conformance [NAME...]` for some.

Names are parts of `package/model`; a run of some models prints their tables and leaves the page alone.
"""

import argparse
import os
import platform
import time
from pathlib import Path

from benchmarks.run import installed

from conformance.models import found
from conformance.page import page, reasons, table
from conformance.pool import run

PAGE = Path(__file__).parents[1] / "docs" / "conformance.md"
ENGINES = ("mujoco", "pin", "example-robot-data", "dm-control", "robosuite", "numpy")


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("names", nargs="*", help="parts of package/model")
    parser.add_argument("--workers", type=int, default=os.cpu_count())
    parser.add_argument("--stage-limit", type=float, default=120.0, help="seconds a stage may take")
    parser.add_argument("--limit", type=float, default=300.0, help="seconds a robot may take")
    given = parser.parse_args()
    cases = [c for c in found() if not given.names or any(n in f"{c.source}/{c.name}" for n in given.names)]
    start, results = time.perf_counter(), {}
    for case, outcomes in run(cases, workers=given.workers, stage_limit=given.stage_limit, limit=given.limit):
        results[case] = outcomes
        said = ", ".join(f"{stage} {outcome.status}" for stage, outcome in outcomes.items())
        print(f"[{len(results)}/{len(cases)}] {case.source}/{case.name}: {said}", flush=True)
    if given.names:
        print(table(results), reasons(results), sep="\n")
        return
    versions = ", ".join(f"{name} {installed(name)}" for name in ENGINES)
    minutes = (time.perf_counter() - start) / 60
    PAGE.write_text(
        page(results, f"{len(results)} models in {minutes:.0f} min, Python {platform.python_version()}, {versions}."),
        encoding="utf-8",
    )
    print(f"{PAGE} written")


if __name__ == "__main__":
    main()
