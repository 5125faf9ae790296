"""Run a suite, keep its rows in evidence/rows, and write its page in docs/evidence.

Cases without a row run, with --anew all of them. CASE chooses by a part of the name; one that is named as a whole runs
in any case. What is chosen is printed. --page runs nothing. Exit status 1: a case failed.
"""

import argparse
import json
import os
import sys
from importlib import import_module
from types import ModuleType

from evidence import runner
from evidence.runner import Case, Row

SUITES = (
    *("benchmarks", "claims", "conformance", "coverage", "everyday", "fuzzing"),
    *("mutants", "payloads", "peers", "problems", "rehearsals", "strangers", "walks"),
)


def main() -> int:
    parser = argparse.ArgumentParser(
        prog="python -m evidence", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("suite", choices=SUITES)
    parser.add_argument("cases", nargs="*", metavar="CASE")
    parser.add_argument("--workers", type=int, default=os.cpu_count())
    parser.add_argument("--anew", action="store_true", help="run cases that have a row, too")
    parser.add_argument("--page", action="store_true", help="only write the page")
    given = parser.parse_intermixed_args()
    suite = import_module(f"evidence.{given.suite}")
    rows = runner.read(given.suite)
    waiting = [] if given.page else chosen(suite, given.cases, () if given.anew else rows)
    failures = 0
    workers = min(given.workers, getattr(suite, "WORKERS", given.workers))
    for k, row in enumerate(runner.run(suite.__name__, waiting, workers=workers) if waiting else ()):
        runner.add(given.suite, row)
        rows[row["case"]] = row
        failed = "raised" in row or getattr(suite, "failed", lambda _: False)(row)
        failures += failed
        said = json.dumps(row, indent=2) if given.cases else row.get("message", "failed") if failed else ""
        print(f"[{given.suite} {k + 1}/{len(waiting)}] {row['case']}, {row['seconds']:.1f} s {said}", flush=True)
    write(suite, rows)
    return int(failures > 0)


def all_of(suite: ModuleType) -> list[Case]:
    """Every case once, those that run only when they are named last."""
    return list(dict.fromkeys([*suite.cases(), *getattr(suite, "BY_NAME", ())]))


def chosen(suite: ModuleType, words: list[str], known) -> list[Case]:
    """Cases that are not known, of those that words name in part; all that they name as a whole."""
    every = all_of(suite)
    if not words:
        by_name = getattr(suite, "BY_NAME", ())
        return [case for case in every if case not in known and case not in by_name]
    found: dict[Case, None] = {}
    for word in words:
        whole = [case for case in every if str(case) == word]
        named = whole or [case for case in every if word in str(case)]
        if not named:
            raise SystemExit(f"No case of {suite.__name__} is named {word!r}.")
        found |= dict.fromkeys(case for case in named if whole or case not in known)
    return list(found)


def write(suite: ModuleType, rows: dict[Case, Row]):
    """Rows in the order of the cases, and the page; of a suite that wants all cases it is printed until they are there.

    Rows of cases that are not there any more, or not on this machine, stay.
    """
    name, order = suite.__name__.rpartition(".")[2], all_of(suite)
    whole = not getattr(suite, "WHOLE", False) or all(case in rows for case in suite.cases())
    if not rows:
        print(f"No rows of {name}: its page stays as it is.")
        return
    ordered = [rows[case] for case in order if case in rows] + [rows[case] for case in rows if case not in set(order)]
    runner.tidy(name, ordered)
    page = suite.page(ordered)
    if not whole:
        print(page)
        return
    path = runner.PAGES / f"{getattr(suite, 'PAGE', name)}.md"
    path.write_text(page, encoding="utf-8")
    print(f"{path} written")


if __name__ == "__main__":
    sys.exit(main())
