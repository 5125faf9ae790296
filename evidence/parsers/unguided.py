"""All corpora and blind mutations of them, read in one process: `python -m evidence.parsers.unguided [TARGET ...]`.

What guided fuzzing has reached, it need not find again: after a change this takes seconds a target where instrumenting
alone takes longer. Prints a line a target; findings go to the folder of `evidence.fuzzing`. Exits 1 when there are any.
"""

import argparse
import random
import signal
import sys
import time
import traceback
import warnings
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory

from evidence.fuzzing import LONGEST
from evidence.parsers.targets import TARGETS, Target
from steelyard.errors import SteelyardError

WORDS = (b"\xff\xff\xff\xff", b"\x00\x00\x00\x00", b"\xff\xff\xff\x7f", b"1e99")
ROOM = 4096  # bytes an input may grow


class Late(BaseException):
    """An input took too long; no reader catches it."""


def blind(chance: random.Random, content: bytes, size: int) -> bytes:
    """Some bytes changed, lost, doubled or set to what counts overflow with."""
    found = bytearray(content)
    for _ in range(chance.randrange(1, 4)):
        at = chance.randrange(len(found) + 1)
        end = at + chance.randrange(1, 9)
        other = chance.choice((b"", chance.randbytes(1), found[end : end + 20], chance.choice(WORDS)))
        found[at:end] = other
    return bytes(found[:size])


def inputs(target: Target, corpus: Path, mutations: int, chance: random.Random) -> Iterator[bytes]:
    """The corpus, the seeds, and mutations of both."""
    known = [*(file.read_bytes() for file in sorted(corpus.glob("*"))), *target.seeds()]
    yield from known
    for _ in range(mutations):
        base = chance.choice(known)
        yield target.mutated(base, len(base) + ROOM, chance.getrandbits(32), partial(blind, chance))


def read(target: Target, path: Path, seconds: float) -> str:
    """What came out: empty, or the traceback of what should not have."""
    signal.setitimer(signal.ITIMER_REAL, seconds)
    try:
        target.read(path)
    except SteelyardError:
        return ""
    except (Exception, Late) as error:
        return "".join(traceback.format_exception(error))
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
    return ""


def late(*_):
    raise Late


@dataclass(frozen=True)
class Tally:
    """Of one target. found: inputs and tracebacks, one of each place; slowest: s of processor time of one input."""

    executions: int
    found: list[tuple[bytes, str]]
    slowest: float


def unguided(target: Target, contents: Iterable[bytes], folder: Path, *, longest: float) -> Tally:
    """Read inputs one after the other."""
    path = folder / f"input{target.suffix}"
    found: dict[str, tuple[bytes, str]] = {}
    times = []
    for content in contents:
        path.write_bytes(content)
        begun = time.process_time()
        said = read(target, path, longest)
        times.append(time.process_time() - begun)
        if said:
            found["\n".join(said.strip().splitlines()[-4:-1])] = (content, said)
    return Tally(len(times), list(found.values()), max(times))


def keep(tally: Tally, folder: Path):
    folder.mkdir(parents=True, exist_ok=True)
    for k, (content, said) in enumerate(tally.found):
        (folder / f"unguided-{k}").write_bytes(content)
        (folder / f"unguided-{k}.txt").write_text(said, encoding="utf-8", errors="backslashreplace")


def main() -> int:
    parser = argparse.ArgumentParser(description=str(__doc__).splitlines()[0])
    parser.add_argument("targets", nargs="*", choices=[[], *TARGETS], metavar="TARGET")
    parser.add_argument("--mutations", type=int, default=500, help="of each target")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--longest", type=float, default=LONGEST, help="seconds an input may take")
    parser.add_argument("--out", type=Path, default=Path("fuzz-out"))
    asked = parser.parse_args()
    warnings.simplefilter("ignore")
    signal.signal(signal.SIGALRM, late)
    print("| input | executions | findings | slowest | s |\n|---|---|---|---|---|")
    total = 0
    for name in asked.targets or TARGETS:
        start, target, home = time.monotonic(), TARGETS[name], asked.out.absolute() / name
        with TemporaryDirectory() as folder:
            contents = inputs(target, home / "corpus", asked.mutations, random.Random(asked.seed))
            tally = unguided(target, contents, Path(folder), longest=asked.longest)
        keep(tally, home / "findings")
        took = time.monotonic() - start
        print(f"| {name} | {tally.executions:,} | {len(tally.found)} | {tally.slowest:.2f} | {took:.0f} |", flush=True)
        total += len(tally.found)
    return int(total > 0)


if __name__ == "__main__":
    sys.exit(main())
