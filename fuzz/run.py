"""Fuzz every parser for a time each: `python -m fuzz.run [TARGET ...] [--seconds S] [--runs N] [--out FOLDER]`.

Prints one line a target: executions, covered edges, findings. Exits 1 when anything was found. The folder keeps the
corpus, so that a later run goes on from it, and every finding with its traceback. `--record` adds the figures to those
of earlier runs (`fuzz.figures`).
"""

import argparse
import re
import shutil
import subprocess
import sys
import time
from dataclasses import dataclass
from pathlib import Path

from fuzz.figures import add

LONGEST = 10  # s an input may take
MEMORY = 3000  # MB
ENDED = 3  # restarts after inputs that end the process


@dataclass(frozen=True)
class Tally:
    """Of one target. ended: inputs that took too long, too much memory or killed the process."""

    executions: int
    edges: int
    raised: int
    ended: int
    seconds: float


def fuzz(name: str, folder: Path, *, seconds: float, runs: int) -> Tally:
    """Fuzz one target in processes of its own."""
    from fuzz.targets import TARGETS

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
        left = seconds - (time.monotonic() - start)
        if left < 1 or (runs and executions >= runs):
            break
        command = [sys.executable, "-m", "fuzz.one", name, str(folder), f"-max_total_time={int(left)}"]
        command += [f"-runs={runs - executions}"] if runs else []
        command += [f"-timeout={LONGEST}", f"-rss_limit_mb={MEMORY}", f"-max_len={longest}", "-print_final_stats=1"]
        command += [f"-artifact_prefix={folder}/findings/ended-", str(corpus), str(given)]
        log = folder / "log.txt"
        with log.open("w") as file:
            subprocess.run(command, stdout=file, stderr=file)
        said = log.read_text(errors="replace")
        counts = re.findall(r"^(?:#|stat::number_of_executed_units: )(\d+)", said, re.MULTILINE)
        if not counts:
            raise SystemExit(f"{name} did not start:\n{said[-3000:]}")
        executions += max(map(int, counts))
        edges = max([edges, *map(int, re.findall(r"cov: (\d+)", said))])
    found = [file.name for file in (folder / "findings").iterdir()]
    ended = sum(file.startswith("ended-") for file in found)
    raised = sum(file.endswith(".txt") for file in found)
    return Tally(executions, edges, raised, ended, time.monotonic() - start)


def main() -> int:
    from fuzz.targets import TARGETS

    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("targets", nargs="*", choices=[[], *TARGETS], metavar="TARGET")
    parser.add_argument("--seconds", type=float, default=30.0, help="for each target")
    parser.add_argument("--runs", type=int, default=0, help="executions of each target at most; 0: no limit")
    parser.add_argument("--out", type=Path, default=Path("fuzz-out"))
    parser.add_argument("--record", action="store_true", help="add the figures to those in docs/evidence/fuzzing.md")
    asked = parser.parse_args()
    print("| input | executions | edges covered | exceptions | hangs, memory, crashes | s |\n|---|---|---|---|---|---|")
    found = 0
    for name in asked.targets or TARGETS:
        tally = fuzz(name, asked.out.absolute() / name, seconds=asked.seconds, runs=asked.runs)
        row = (name, f"{tally.executions:,}", tally.edges, tally.raised, tally.ended, f"{tally.seconds:.0f}")
        print(f"| {' | '.join(map(str, row))} |", flush=True)
        here = tally.raised + tally.ended
        found += here
        if asked.record:
            add(name, executions=tally.executions, seconds=tally.seconds, edges=tally.edges, found=here)
    print(f"\n{found} findings" + (f", kept in {asked.out}/*/findings" if found else ""))
    return int(found > 0)


if __name__ == "__main__":
    sys.exit(main())
