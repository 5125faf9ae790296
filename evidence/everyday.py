"""Everyday motions of vendors' robots with harder friction: where `sy.identify` says that links are better, are they?

Nothing is wrong with these logs. Six robots in turn, four kinds of motion, friction that grows with load or with
standstill in two thirds; the file's links are up to tens of percent wrong, in a fifth of the jobs right.
"""

import warnings
from dataclasses import replace
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np

from evidence.draws import stranger_logs as logs
from evidence.draws.stranger_classes import CLASSES, Class, Made, usual
from evidence.draws.stranger_logs import Job, Motion
from evidence.runner import Row
from evidence.strangers import SAME, tried, wrong_better
from steelyard.numbers import percent

PAGE, WHOLE, LIMIT = "adversary/everyday", True, 300.0
ROBOTS = ("ur5", "panda", "go2", "ur10", "xarm7", "z1")
JOBS = 9  # of each robot and motion
BASE = 1000  # numbers of these jobs, unlike those of strangers


def repeated(job: Job, rng) -> Motion:
    """The same cycle again and again, as gaits and machines have it: three harmonics of about a second."""
    robot, fine = job.robot, np.arange(round(job.seconds * logs.FINE)) / logs.FINE
    w = 2 * np.pi * rng.uniform(0.7, 1.3) * np.arange(1, 4)
    size = rng.uniform(0.2, 1.0, (robot.n, 3)) / np.arange(1, 4) ** 2
    size *= (0.4 * robot.reach / size.sum(axis=1))[:, None]
    found = np.einsum("njk,jk->nj", np.sin(fine[:, None, None] * w + rng.uniform(0, 2 * np.pi, (robot.n, 3))), size)
    ramp = np.clip(np.minimum(fine, job.seconds - fine) - logs.STILL, 0, 1)
    return logs.sampled(job, robot.home + found * (ramp * ramp * (3 - 2 * ramp))[:, None])


KINDS: dict[str, Class] = {
    "pick and place": CLASSES["healthy, pick and place"],
    "sines": Class(lambda job, rng: Made(usual(job, logs.sines(job, rng, speed=rng.uniform(0.5, 1.5)))), healthy=True),
    "repeated cycles": Class(lambda job, rng: Made(usual(job, repeated(job, rng))), healthy=True),
    "loads held at times": CLASSES["a payload part of the time"],
}
FRICTIONS = {
    "plain": {},
    "by load": {"by_load": 0.5},
    "Stribeck": {"more": 1.0, "slow": 0.1, "width": 0.003, "sticking": True},
}


def cases() -> range:
    return range(JOBS * len(ROBOTS) * len(KINDS))


def row(seed: int) -> Row:
    """Job of a seed: robot, motion and friction are by its remainders."""
    base, at = divmod(seed, len(ROBOTS) * len(KINDS))
    kind, robot = tuple(KINDS)[at // len(ROBOTS)], ROBOTS[at % len(ROBOTS)]
    rubbing = tuple(FRICTIONS)[(base + at) % len(FRICTIONS)]
    job = logs.drawn(BASE + base, robot=robot)
    job = replace(job, friction=replace(job.friction, **FRICTIONS[rubbing]))
    made = KINDS[kind].make(job, job.rng(3, at))
    with TemporaryDirectory() as folder, warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return {"kind": kind, "robot": robot, "friction": rubbing, **tried(job, KINDS[kind], made, Path(folder))}


def better(row: Row) -> bool:
    """Whether links were written and said to be better."""
    return row["level"] in ("good", "care") and row["written"]


def obeyed(row: Row) -> Row:
    """The same job after the first option that was printed, if any."""
    return row | row["obeyed"] if "links" in row.get("obeyed", {}) else row


TEXT = """# Everyday motions

{count} jobs of `steelyard identify`, simulated with Pinocchio: six vendors' robots, files without friction whose links
are up to tens of percent wrong, four kinds of motion, friction of three kinds. Links are judged by their torque alone,
without friction, on motion twice as fast as the log.

Links were written and said to be better in {said} jobs; in {wrong} of these they are worse than those given by more
than {same} of the torque: {seeds}. Once the first option that was printed is obeyed, {said_then} and {wrong_then}:
{seeds_then}. Refused, or the file to be kept: {refused}. Ended in an error that has no message: {raised}.

Links: median error on fast motion of those to be used / of those given.

| | jobs | said to be better | worse | links | better once obeyed | worse | links |
|---|---|---|---|---|---|---|---|
{table}
"""


def page(rows: list[Row]) -> str:
    """How often "better" is true, by motion, robot and friction."""
    told = [row for row in rows if "raised" not in row]
    wrong, after = [row for row in told if wrong_better(row)], list(map(obeyed, told))
    wrong_then = [row for row in after if wrong_better(row)]
    parts = [("all", told)]
    for key, names in (("kind", KINDS), ("robot", ROBOTS), ("friction", FRICTIONS)):
        parts += [(name, [row for row in told if row[key] == name]) for name in names]
    return TEXT.format(
        count=len(rows),
        said=sum(map(better, told)),
        wrong=len(wrong),
        same=percent(SAME),
        seeds=_seeds(wrong),
        said_then=sum(map(better, after)),
        wrong_then=len(wrong_then),
        seeds_then=_seeds(wrong_then),
        refused=sum(row["level"] in ("refused", "keep") for row in told),
        raised=sum("raised" in row for row in rows),
        table="\n".join(_line(name, part) for name, part in parts if part),
    )


def _seeds(rows: list[Row]) -> str:
    return ", ".join(f"seed {row['case']}" for row in rows) or "none"


def _line(name: str, rows: list[Row]) -> str:
    cells = [name, len(rows)]
    for then in (rows, list(map(obeyed, rows))):
        cells += [sum(map(better, then)), sum(map(wrong_better, then)), _errors(then)]
    return f"| {' | '.join(map(str, cells))} |"


def _errors(rows: list[Row]) -> str:
    return " / ".join(percent(float(np.median([row[key] for row in rows]))) for key in ("fast", "given_fast"))
