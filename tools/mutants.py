"""Put the mistakes of `mutant_list` into the source, one at a time, and see whether tests fail: `make mutants`.

Works in a copy of the tree, mutants-out/tree, whose kernels stay compiled between runs. A run goes on where an earlier
one was stopped; --anew starts over, --living runs those again that lived. A mutant lives when its own tests and then
all tests of its package pass; --narrow leaves out the latter and writes no page. Tests that fail without any mistake
are an error.
"""

import argparse
import json
import os
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path

from tools.mutant import Mutant
from tools.mutant_list import MUTANTS, WIDE
from tools.mutant_page import page

ROOT = Path(__file__).parents[1]
PAGE = ROOT / "docs" / "adversary" / "mutants.md"
OUT = ROOT / "mutants-out"
TREE, KERNELS, ROWS = OUT / "tree", OUT / "kernels", OUT / "rows.jsonl"
SLACK, TIMES = 120.0, 4.0  # seconds, and times the seconds without the mistake, until tests count as failed


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("names", nargs="*", metavar="NAME", help="mutants or packages, all of them by default")
    parser.add_argument("--anew", action="store_true", help="forget what earlier runs found")
    parser.add_argument("--living", action="store_true", help="run those again that lived")
    parser.add_argument("--narrow", action="store_true", help="only each mutant's own tests; writes no page")
    parser.add_argument("--check", action="store_true", help="only see that every text is found once")
    given = parser.parse_args()
    for mutant in MUTANTS:
        mutant.applied(_source(ROOT, mutant).read_text(encoding="utf-8"))
    if given.check:
        return 0
    if given.anew:
        ROWS.unlink(missing_ok=True)
    chosen = [each for each in MUTANTS if not given.names or {each.name, each.package} & set(given.names)]
    _copy()
    rows = _read()
    for mutant in chosen:
        row = rows.get(_key(mutant))
        if row and (row["killed"] or not given.living) and (row["killed"] or row["wide"] or given.narrow):
            continue
        rows[_key(mutant)] = row = _judge(mutant, wide=not given.narrow)
        _add(_key(mutant), row)
        print(f"{mutant.package:16s} {mutant.name:44s} {row['killed'] or 'ALIVE'} {row['seconds']:.0f} s", flush=True)
    if all(_key(each) in rows for each in MUTANTS) and not given.narrow:
        PAGE.write_text(page([(each, rows[_key(each)]) for each in MUTANTS]), encoding="utf-8")
        print(f"{PAGE.relative_to(ROOT)} written")
    return int(any(not rows[_key(each)]["killed"] and not each.alive for each in chosen))


def _judge(mutant: Mutant, *, wide: bool) -> dict:
    """killed: the first test that failed, empty where it lives; wide: whether all tests of the package ran."""
    began, killed = time.monotonic(), ""
    stages = [mutant.tests, *([WIDE[mutant.package]] if wide else [])]
    for tests in stages:
        limit = TIMES * _without(tests) + SLACK
        killed = killed or _with(mutant, tests, limit)
    return {"killed": killed, "wide": wide and not killed, "seconds": round(time.monotonic() - began, 1)}


def _with(mutant: Mutant, tests: tuple[str, ...], limit: float) -> str:
    """First test that fails with the mistake. Machine code kept on disk may hold what is mutated: it is put away."""
    path = _source(TREE, mutant)
    right, times = path.read_text(encoding="utf-8"), path.stat()
    compiled = "numba import" in right
    if compiled:
        _move_kernels(TREE, KERNELS)
    path.write_text(mutant.applied(right), encoding="utf-8")
    try:
        return _first_failure(tests, limit)
    finally:
        path.write_text(right, encoding="utf-8")
        os.utime(path, ns=(times.st_atime_ns, times.st_mtime_ns))
        if compiled:
            _drop_kernels(TREE)
            _move_kernels(KERNELS, TREE)


def _without(tests: tuple[str, ...]) -> float:
    """Seconds of tests of which none may fail; kept over runs."""
    seconds, kept = 0.0, _read()
    for test in tests:
        if test not in kept:
            began = time.monotonic()
            failed = _first_failure((test,), None)
            if failed:
                raise SystemExit(f"{failed} fails without any mistake.")
            kept[test] = {"seconds": round(time.monotonic() - began, 1)}
            _add(test, kept[test])
        seconds += kept[test]["seconds"]
    return seconds


def _first_failure(tests: tuple[str, ...], limit: float | None) -> str:
    """The test at which pytest stops, `time` after too many seconds, empty where all pass."""
    command = [sys.executable, "-m", "pytest", "-x", "-q", "-p", "no:xdist", "-p", "no:cacheprovider", "--tb=no"]
    environment = os.environ | {"PYTHONPATH": "src:tests:tools:.", "OPENBLAS_NUM_THREADS": "1"}
    if limit is not None:
        environment["PYTHONDONTWRITEBYTECODE"] = "1"
    process = subprocess.Popen(
        [*command, *(f"tests/{test}" for test in tests)],
        cwd=TREE,
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
    failed = [line.split()[1] for line in said.splitlines() if line.startswith(("FAILED", "ERROR"))]
    if process.returncode == 0:
        return ""
    return failed[0] if failed else f"exit {process.returncode}: {said.strip().splitlines()[-1]}"


def _copy() -> None:
    """The files that git knows or would take, as they are, in the copy; times are kept, and what is gone goes."""
    listing = ["git", "ls-files", "--cached", "--others", "--exclude-standard"]
    names = subprocess.run(listing, cwd=ROOT, check=True, capture_output=True, text=True).stdout.splitlines()
    wanted = {name for name in names if (ROOT / name).is_file()}
    for name in wanted:
        source, target = ROOT / name, TREE / name
        if not target.is_file() or target.stat().st_mtime_ns != source.stat().st_mtime_ns:
            target.parent.mkdir(parents=True, exist_ok=True)
            shutil.copy2(source, target)
    for path in TREE.rglob("*"):
        gone = path.is_file() and path.suffix in (".py", ".toml") and str(path.relative_to(TREE)) not in wanted
        if gone:
            path.unlink()


def _drop_kernels(folder: Path) -> None:
    for file in folder.rglob("*.nb?"):
        file.unlink()


def _move_kernels(start: Path, end: Path) -> None:
    for file in start.rglob("*.nb?"):
        target = end / file.relative_to(start)
        target.parent.mkdir(parents=True, exist_ok=True)
        shutil.move(file, target)


def _source(root: Path, mutant: Mutant) -> Path:
    return root / "src" / "steelyard" / mutant.file


def _key(mutant: Mutant) -> str:
    """A mutant that was changed is another one."""
    return f"{mutant.file}: {mutant.old!r} -> {mutant.new!r}"


def _read() -> dict[str, dict]:
    lines = ROWS.read_text(encoding="utf-8").splitlines() if ROWS.is_file() else ()
    return dict(json.loads(line) for line in lines)


def _add(key: str, row: dict) -> None:
    OUT.mkdir(exist_ok=True)
    with ROWS.open("a", encoding="utf-8") as file:
        file.write(json.dumps([key, row]) + "\n")


if __name__ == "__main__":
    sys.exit(main())
