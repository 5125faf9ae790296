"""Run the suite and write docs/evidence/conformance.md: `make conformance`, or `python -m conformance [NAME...]`.

Names are parts of `package/model`. Outcomes are kept in conformance/results.json as they come; a run of some models
renews their rows, and the page is written from all that are kept.
"""

import argparse
import os
import platform
from pathlib import Path

from benchmarks.run import installed

from conformance.models import found
from conformance.page import page, reasons, table
from conformance.pool import run
from conformance.stored import key, of_cases, read, write

PAGE = Path(__file__).parents[1] / "docs" / "evidence" / "conformance.md"
ENGINES = ("mujoco", "pin", "example-robot-data", "dm-control", "robosuite", "numpy")


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("names", nargs="*", help="parts of package/model")
    parser.add_argument("--workers", type=int, default=os.cpu_count())
    parser.add_argument("--stage-limit", type=float, default=120.0, help="processor seconds a stage may take")
    parser.add_argument("--limit", type=float, default=300.0, help="seconds a robot may take")
    parser.add_argument("--dry", action="store_true", help="keep nothing: only print what comes out")
    given = parser.parse_args()
    every = found()
    cases = [case for case in every if not given.names or any(name in key(case) for name in given.names)]
    results = read() if given.names else {}
    done = {}
    for case, outcomes in run(cases, workers=given.workers, stage_limit=given.stage_limit, limit=given.limit):
        done[case] = results[key(case)] = outcomes
        said = ", ".join(f"{stage} {outcome.status}" for stage, outcome in outcomes.items())
        print(f"[{len(done)}/{len(cases)}] {key(case)}: {said}", flush=True)
        if not given.dry:
            write(results)
    if given.names:
        print(table(done), reasons(done), sep="\n")
    if given.dry:
        return
    kept = of_cases(results, every)
    minutes = sum(outcome.seconds for outcomes in kept.values() for outcome in outcomes.values()) / 60
    versions = ", ".join(f"{name} {installed(name)}" for name in ENGINES)
    machine = f"{len(kept)} models, {minutes:.0f} min of one process, Python {platform.python_version()}, {versions}."
    PAGE.write_text(page(kept, machine), encoding="utf-8")
    print(f"{PAGE} written")


if __name__ == "__main__":
    main()
