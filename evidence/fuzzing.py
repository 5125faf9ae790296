"""Every parser, fuzzed for FUZZ_SECONDS each (or FUZZ_RUNS executions), in processes of its own.

fuzz-out/TARGET keeps the corpus, so that a later run goes on from it, and every finding with its traceback. A row adds
a run to what is known of its target; the page is the one that is there, with its table made anew.
"""

import os
import re
import shutil
import subprocess
import sys
import time
from pathlib import Path

from evidence import runner
from evidence.parsers.targets import TARGETS
from evidence.runner import Row

OUT = runner.ROOT / "fuzz-out"
SECONDS, RUNS = float(os.environ.get("FUZZ_SECONDS", "30")), int(os.environ.get("FUZZ_RUNS", "0"))
WORKERS, LIMIT = 1, SECONDS + 600.0
LONGEST = 10  # s an input may take
MEMORY = 3000  # MB
ENDED = 3  # restarts after inputs that end the process
START, END = "<!-- fuzz.figures -->\n", "<!-- end -->"
NONE = {"executions": 0, "seconds": 0, "edges": 0, "found": 0, "since": 0}
HEADER = """| input | executions | minutes | edges covered | findings | executions since the last |
|---|---|---|---|---|---|
"""


def cases() -> list[str]:
    return list(TARGETS)


def row(case: str) -> Row:
    """Figures of all runs so far, `since`: executions since the last finding, and those of this run, `now`."""
    now = fuzzed(case, OUT / case)
    before = {key: runner.read("fuzzing").get(case, NONE)[key] for key in NONE}
    return {
        "executions": before["executions"] + now["executions"],
        "seconds": before["seconds"] + now["seconds"],
        "edges": max(before["edges"], now["edges"]),
        "found": before["found"] + now["found"],
        "since": 0 if now["found"] else before["since"] + now["executions"],
        "now": now,
    }


def failed(row: Row) -> bool:
    return row["now"]["found"] > 0


def fuzzed(name: str, folder: Path) -> Row:
    """Figures of one run."""
    shutil.rmtree(folder / "findings", ignore_errors=True)
    corpus, given = folder / "corpus", folder / "seeds"
    for each in (corpus, given, folder / "findings"):
        each.mkdir(parents=True, exist_ok=True)
    whole = TARGETS[name].seeds()
    for k, content in enumerate(whole):
        (given / str(k)).write_bytes(content)
    longest = max(4096, 2 * max(map(len, whole)))
    start, executions, edges = time.monotonic(), 0, 0
    for _ in range(1 + ENDED):
        left = SECONDS - (time.monotonic() - start)
        if left < 1 or (RUNS and executions >= RUNS):
            break
        command = [sys.executable, "-m", "evidence.parsers.one", name, str(folder), f"-max_total_time={int(left)}"]
        command += [f"-runs={RUNS - executions}"] if RUNS else []
        command += [f"-timeout={LONGEST}", f"-rss_limit_mb={MEMORY}", f"-max_len={longest}", "-print_final_stats=1"]
        command += [f"-artifact_prefix={folder}/findings/ended-", str(corpus), str(given)]
        log = folder / "log.txt"
        with log.open("w") as file:
            subprocess.run(command, stdout=file, stderr=file, cwd=runner.ROOT, check=False)
        said = log.read_text(errors="replace")
        counts = re.findall(r"^(?:#|stat::number_of_executed_units: )(\d+)", said, re.MULTILINE)
        if not counts:
            raise RuntimeError(f"{name} did not start:\n{said[-3000:]}")
        executions += max(map(int, counts))
        edges = max([edges, *map(int, re.findall(r"cov: (\d+)", said))])
    found = [file.name for file in (folder / "findings").iterdir()]
    ended = sum(file.startswith("ended-") for file in found)  # too long, too much memory, or the process killed
    raised = sum(file.endswith(".txt") for file in found)
    seconds = round(time.monotonic() - start)
    return {"executions": executions, "seconds": seconds, "edges": edges, "found": raised + ended}


def page(rows: list[Row]) -> str:
    """The page with its table of all targets and their sum."""
    text = (runner.PAGES / "fuzzing.md").read_text("utf-8")
    head, tail = text[: text.index(START) + len(START)], text[text.index(END) :]
    return head + table([row for row in rows if "executions" in row]) + tail


def table(rows: list[Row]) -> str:
    whole = {key: sum(each[key] for each in rows) for key in NONE}
    return HEADER + "".join(_line(each) for each in [*rows, {"case": "all", **whole, "edges": None}])


def _line(each: Row) -> str:
    edges = "" if each["edges"] is None else f"{each['edges']:,}"
    cells = (f"{each['executions']:,}", f"{each['seconds'] / 60:.1f}", edges, each["found"], f"{each['since']:,}")
    return f"| {each['case']} | {' | '.join(map(str, cells))} |\n"
