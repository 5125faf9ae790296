"""Put the mistakes of `mutant_list` into the source, one at a time, and see whether tests fail: `make mutants`.

Works in copies of the tree, mutants-out/tree0 and further ones with several workers, whose kernels stay compiled
between runs. A run goes on where an earlier one was stopped; --anew starts over, --living runs those again that lived.
A mutant lives when its own tests and then all tests of its package pass; --narrow leaves out the latter and writes no
page. Tests that fail without any mistake are an error.
"""

import argparse
import json
import os
import shutil
import signal
import subprocess
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from queue import SimpleQueue

from tools.mutant import Mutant
from tools.mutant_list import MUTANTS, WIDE
from tools.mutant_page import page

ROOT = Path(__file__).parents[1]
PAGE = ROOT / "docs" / "evidence" / "adversary" / "mutants.md"
OUT = ROOT / "mutants-out"
ROWS = OUT / "rows.jsonl"
SLACK, TIMES = 120.0, 4.0  # seconds, and times the seconds without the mistake, until tests count as failed


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("names", nargs="*", metavar="NAME", help="mutants or packages, all of them by default")
    parser.add_argument("--workers", type=int, default=os.cpu_count())
    parser.add_argument("--anew", action="store_true", help="forget what earlier runs found")
    parser.add_argument("--living", action="store_true", help="run those again that lived")
    parser.add_argument("--narrow", action="store_true", help="only each mutant's own tests; writes no page")
    parser.add_argument("--check", action="store_true", help="only see that every text is found once")
    given = parser.parse_args()
    stale = [said for mutant in MUTANTS if (said := _stale(mutant))]
    if stale or given.check:
        print("\n".join(stale or [f"{len(MUTANTS)} mutants, each found once."]))
        return int(bool(stale))
    if given.anew:
        ROWS.unlink(missing_ok=True)
    chosen = [each for each in MUTANTS if not given.names or {each.name, each.package} & set(given.names)]
    rows = _read()
    waiting = [each for each in chosen if _unknown(rows.get(each.key), given)]
    for mutant, row in _judged(waiting, given.workers, wide=not given.narrow):
        rows[mutant.key] = row
        _add(mutant.key, row)
        print(f"{mutant.package:16s} {mutant.name:60s} {row['killed'] or 'ALIVE'} {row['seconds']:.0f} s", flush=True)
    if not given.narrow:
        PAGE.write_text(page([(each, rows.get(each.key)) for each in MUTANTS]), encoding="utf-8")
        print(f"{PAGE.relative_to(ROOT)} written")
    return int(any(not rows[each.key]["killed"] and not each.alive for each in chosen))


def _stale(mutant: Mutant) -> str:
    """What is wrong with an entry of the list; empty where its text is found."""
    try:
        mutant.applied((ROOT / mutant.path).read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        return str(error)
    return ""


def _unknown(row: dict | None, given) -> bool:
    if row is None or (given.living and not row["killed"]):
        return True
    return not (row["killed"] or row["wide"] or given.narrow)


def _judged(mutants: list[Mutant], workers: int, *, wide: bool):
    """Mutants and their rows as they are done, each worker with a copy of its own."""
    copies: SimpleQueue[Copy] = SimpleQueue()
    for k in range(max(1, min(workers, len(mutants)))):
        copies.put(Copy(OUT / f"tree{k}").synchronised())

    def judge(mutant: Mutant):
        copy = copies.get()
        try:
            return mutant, copy.judge(mutant, wide=wide)
        finally:
            copies.put(copy)

    with ThreadPoolExecutor(max(1, workers)) as pool:
        yield from pool.map(judge, mutants)


@dataclass(frozen=True)
class Copy:
    """A copy of the tree, in which files are changed for a while."""

    tree: Path

    def synchronised(self) -> "Copy":
        """The same with the files that git knows or would take, as they are; times are kept, and what is gone goes."""
        listing = ["git", "ls-files", "--cached", "--others", "--exclude-standard"]
        names = subprocess.run(listing, cwd=ROOT, check=True, capture_output=True, text=True).stdout.splitlines()
        wanted = {name for name in names if (ROOT / name).is_file()}
        for name in wanted:
            source, target = ROOT / name, self.tree / name
            if not target.is_file() or target.stat().st_mtime_ns != source.stat().st_mtime_ns:
                target.parent.mkdir(parents=True, exist_ok=True)
                shutil.copy2(source, target)
        for path in self.tree.rglob("*.py"):
            if str(path.relative_to(self.tree)) not in wanted:
                path.unlink()
        return self

    def judge(self, mutant: Mutant, *, wide: bool) -> dict:
        """killed: the first test that failed, empty where it lives; wide: whether all tests of the package passed."""
        began, killed = time.monotonic(), ""
        for tests in (mutant.tests, *([WIDE[mutant.package]] if wide else [])):
            limit = TIMES * self._without(tests) + SLACK
            killed = killed or self._with(mutant, tests, limit)
        return {"killed": killed, "wide": wide and not killed, "seconds": round(time.monotonic() - began, 1)}

    def _with(self, mutant: Mutant, tests: tuple[str, ...], limit: float) -> str:
        """First test that fails with the mistake."""
        path = self.tree / mutant.path
        right, times = path.read_text(encoding="utf-8"), path.stat()
        path.write_text(mutant.applied(right), encoding="utf-8")
        try:
            return self._first_failure(tests, limit)
        finally:
            path.write_text(right, encoding="utf-8")
            os.utime(path, ns=(times.st_atime_ns, times.st_mtime_ns))

    def _without(self, tests: tuple[str, ...]) -> float:
        """Seconds of tests of which none may fail; kept over runs."""
        seconds, kept = 0.0, _read()
        for test in tests:
            if test not in kept:
                began = time.monotonic()
                failed = self._first_failure((test,), None)
                if failed:
                    raise SystemExit(f"{failed} fails without any mistake.")
                kept[test] = {"seconds": round(time.monotonic() - began, 1)}
                _add(test, kept[test])
            seconds += kept[test]["seconds"]
        return seconds

    def _first_failure(self, tests: tuple[str, ...], limit: float | None) -> str:
        """The test at which pytest stops, `time` after too many seconds, empty where all pass."""
        command = [
            sys.executable,
            "-m",
            "pytest",
            "-x",
            "-q",
            "--exhaustive",
            "-p",
            "no:xdist",
            "-p",
            "no:cacheprovider",
            "--tb=no",
        ]
        environment = os.environ | {"PYTHONPATH": "src:tests:tools:.", "OPENBLAS_NUM_THREADS": "1"}
        if limit is not None:  # what is mutated is compiled for this run alone
            environment["PYTHONDONTWRITEBYTECODE"] = "1"
        process = subprocess.Popen(
            [*command, *(f"tests/{test}" for test in tests)],
            cwd=self.tree,
            env=environment,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            start_new_session=True,
        )
        try:
            said = process.communicate(timeout=limit)[0]
        except subprocess.TimeoutExpired:
            os.killpg(process.pid, signal.SIGKILL)
            process.communicate()
            return "time"
        if process.returncode == 0:
            return ""
        failed = [line.split()[1] for line in said.splitlines() if line.startswith(("FAILED", "ERROR"))]
        return failed[0] if failed else f"exit {process.returncode}: {said.strip()[-200:]}"


def _read() -> dict[str, dict]:
    lines = ROWS.read_text(encoding="utf-8").splitlines() if ROWS.is_file() else ()
    return dict(json.loads(line) for line in lines)


def _add(key: str, row: dict) -> None:
    OUT.mkdir(exist_ok=True)
    with ROWS.open("a", encoding="utf-8") as file:
        file.write(json.dumps([key, row]) + "\n")


if __name__ == "__main__":
    sys.exit(main())
