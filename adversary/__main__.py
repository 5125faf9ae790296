"""Run suites and write their pages: `make adversary`, or `python -m adversary [SUITE...]`.

Suites are the modules of this folder with a `SUITE`. A run goes on where an earlier one was stopped; --anew starts
over, --seed N runs one case and prints it, --cases N fewer of them. Pages are written only when all cases are done.
"""

import argparse
import json
import os
from importlib import import_module
from pathlib import Path

from adversary import rows
from adversary.pool import run
from adversary.suite import Suite

PAGES = Path(__file__).parents[1] / "docs" / "evidence" / "adversary"
SUITES = ("coverage", "everyday", "payloads", "problems", "strangers")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("suites", nargs="*", choices=[*SUITES, []], metavar="SUITE", help=f"of {', '.join(SUITES)}")
    parser.add_argument("--workers", type=int, default=os.cpu_count())
    parser.add_argument("--cases", type=int, help="stop after the first so many; writes no page")
    parser.add_argument("--seed", type=int, help="run this case alone and print what came out")
    parser.add_argument("--anew", action="store_true", help="forget what an earlier run found")
    given = parser.parse_args()
    for name in given.suites or SUITES:
        suite = import_module(f"adversary.{name}").SUITE
        if given.seed is not None:
            print(json.dumps(suite.one(given.seed), indent=2))
            continue
        if given.anew:
            rows.forget(suite)
        _all(suite, min(given.cases or suite.cases, suite.cases), given.workers)


def _all(suite: Suite, count: int, workers: int) -> None:
    done = rows.read(suite)
    missing = [seed for seed in range(count) if seed not in done]
    for k, row in enumerate(run(suite.name, missing, workers=workers)):
        rows.add(suite, row)
        done[row["seed"]] = row
        if "raised" in row or (k + 1) % 50 == 0:
            said = f": {row['raised']}: {row['message']}" if "raised" in row else ""
            print(f"[{suite.name} {k + 1}/{len(missing)}] seed {row['seed']}{said}", flush=True)
    page = suite.page([done[seed] for seed in range(count)])
    if count < suite.cases:
        print(page)
        return
    path = PAGES / f"{suite.name}.md"
    path.write_text(page, encoding="utf-8")
    print(f"{path.relative_to(PAGES.parents[1])} written")


if __name__ == "__main__":
    main()
