"""Rows of suites: made in processes that may hang or die, and kept as they come.

A suite is a module with `cases() -> iterable of names`, `row(case) -> dict` of JSON values and `page(rows) ->
Markdown`. It may state

- `PAGE`: its page in docs/evidence, without `.md`; its own name by default,
- `WHOLE`: the page is written only when every case has a row,
- `BY_NAME`: cases that run only when they are named,
- `LIMIT`: seconds of processor time a case may take, `WORKERS`: how many cases may run at once,
- `PACKAGES`: whose versions its rows note,
- `failed(row)`: whether a row is a failure.
"""

import json
import multiprocessing
import os
import platform
import signal
import subprocess
import time
import traceback
from collections.abc import Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor, as_completed
from contextlib import contextmanager
from importlib import import_module
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from queue import SimpleQueue
from types import ModuleType

from steelyard.native import threads

ROOT = Path(__file__).parents[1]
PAGES = ROOT / "docs" / "evidence"
FOLDER = Path(__file__).parent / "rows"
LIMIT = 120.0  # s
BUSY, SLACK = 4.0, 60.0  # times the limit, and seconds, that a case may take on the clock

Case = str | int
Row = dict  # `case`, `commit`, `machine`, `seconds`, what came out, and `raised` where something did


def run(module: str, cases: Iterable[Case], *, workers: int) -> Iterator[Row]:
    """Rows of cases of a suite, as they are done."""
    cases, idle = list(cases), SimpleQueue()
    suite = import_module(module)
    note = {"commit": commit(), "machine": machine(getattr(suite, "PACKAGES", ()))}
    servants = [Worker(module) for _ in range(max(1, min(workers, len(cases))))]
    for each in servants:
        idle.put(each)

    def one(case: Case) -> Row:
        worker = idle.get()
        try:
            return {"case": case, **note, **worker.row(case, getattr(suite, "LIMIT", LIMIT))}
        finally:
            idle.put(worker)

    with ThreadPoolExecutor(len(servants)) as pool:
        jobs = [pool.submit(one, case) for case in cases]
        try:
            for job in as_completed(jobs):
                yield job.result()
        finally:
            pool.shutdown(wait=False, cancel_futures=True)
            for each in servants:
                each.end()


class Worker:
    """A process that makes rows one after the other; after one that hangs or ends it there is a new one."""

    def __init__(self, module: str):
        self.module = module
        self._start()

    def row(self, case: Case, limit: float) -> Row:
        """What a case came to. limit: seconds of processor time."""
        self.pipe.send((case, limit))
        clock = BUSY * limit + SLACK
        try:
            if self.pipe.poll(clock):
                return self.pipe.recv()
            said = {"raised": "TimeoutError", "message": f"more than {clock:.0f} s on the clock"}
        except (EOFError, ConnectionResetError):
            self.process.join()
            said = {"raised": "ProcessEnded", "message": f"the process ended with code {self.process.exitcode}"}
        self.end()
        self._start()
        return {"seconds": 0.0, **said}

    def end(self):
        self.process.kill()
        self.process.join()
        self.pipe.close()

    def _start(self):
        context = multiprocessing.get_context("spawn")
        self.pipe, other = context.Pipe()
        self.process = context.Process(target=_serve, args=(other, self.module))
        self.process.start()
        other.close()


def _serve(pipe, module: str):
    suite = import_module(module)
    os.dup2(os.open(os.devnull, os.O_WRONLY), 2)  # engines write their warnings there
    while True:
        try:
            case, limit = pipe.recv()
        except EOFError:
            return
        pipe.send(outcome(suite, case, limit))


def outcome(suite: ModuleType, case: Case, limit: float) -> Row:
    """The row of a case in this process; what it raises is recorded."""
    began = time.process_time()
    try:
        with limited(limit):
            found = suite.row(case)
    except Exception as error:  # suites look for exactly these
        found = {"raised": type(error).__name__, "message": str(error), "where": traceback.format_exc(limit=-2)}
    return {"seconds": round(time.process_time() - began, 4), **found}


@contextmanager
def limited(seconds: float):
    """Raises TimeoutError after so many seconds of processor time, which a busy machine does not lengthen."""

    def late(*_):
        raise TimeoutError(f"more than {seconds:g} s")

    before = signal.signal(signal.SIGPROF, late)
    signal.setitimer(signal.ITIMER_PROF, seconds)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_PROF, 0)
        signal.signal(signal.SIGPROF, before)


def commit() -> str:
    """The commit that is measured, with a + where the library differs from it."""
    git = ["git", "-C", str(ROOT)]
    found = subprocess.run([*git, "rev-parse", "--short", "HEAD"], capture_output=True, text=True, check=False)
    changed = subprocess.run([*git, "status", "--porcelain", "src", "core"], capture_output=True, check=False)
    return found.stdout.strip() + "+" * bool(changed.stdout)


def machine(packages: Iterable[str]) -> str:
    """One line on the machine and the versions."""
    versions = [f"{name} {installed(name)}" for name in packages]
    return ", ".join([platform.machine(), f"{threads()} cores", f"Python {platform.python_version()}", *versions])


def installed(name: str) -> str:
    try:
        return version(name)
    except PackageNotFoundError:
        return "not installed"


def read(name: str) -> dict[Case, Row]:
    """Rows of a suite by case; the last one of a case counts. A line that was cut off is left out."""
    path, rows = _path(name), {}
    for line in path.read_text("utf-8").splitlines() if path.is_file() else ():
        try:
            row = json.loads(line)
        except json.JSONDecodeError:
            continue
        rows[row["case"]] = row
    return rows


def add(name: str, row: Row):
    """Keep one more row."""
    FOLDER.mkdir(exist_ok=True)
    with _path(name).open("a", encoding="utf-8") as file:
        file.write("\n" + json.dumps(row, ensure_ascii=False))  # the line before may have been cut off


def tidy(name: str, rows: Iterable[Row]):
    """Keep these rows alone, in this order."""
    draft = _path(name).with_suffix(".new")
    draft.write_text("".join(json.dumps(row, ensure_ascii=False) + "\n" for row in rows), encoding="utf-8")
    draft.replace(_path(name))


def _path(name: str) -> Path:
    return FOLDER / f"{name}.jsonl"
