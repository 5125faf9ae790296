"""Strangers' jobs with known truth: are level, named cause, remedy and written links of `sy.identify` right?"""

import json
import re
import shlex
import warnings
from functools import lru_cache
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np
import pinocchio as pin
from typer.testing import CliRunner

import steelyard as sy
from evidence.draws import flights
from evidence.draws import stranger_logs as logs
from evidence.draws.stranger_classes import CLASSES, Class, Made, job_of
from evidence.draws.stranger_logs import Job, Motion
from evidence.draws.stranger_robots import torques
from evidence.runner import Row
from steelyard.app import app
from steelyard.diagnose.faults import CATALOGUE
from steelyard.errors import SteelyardError
from steelyard.fit import validate
from steelyard.numbers import percent
from steelyard.report.identification_report import summary

PAGE, WHOLE, LIMIT = "adversary/strangers", True, 300.0
FLIGHT = "free fall"
NAMES, EACH = (*CLASSES, FLIGHT), 12  # jobs of a class
HEALTHY = tuple(name for name, kind in CLASSES.items() if kind.healthy)
LEVELS = ("good", "care", "keep", "refused")
MOST = 3.0  # error of links over that of the healthy twin's that "good" allows
REFUSED = {"looks like degrees": "degrees"}  # words of refusals, and their fault
SAME = 0.01  # of torque: errors of links below are none; and by how much links may be worse than those given


def cases() -> range:
    return range(EACH * len(NAMES))


def row(seed: int) -> Row:
    """Job `seed % EACH` of class `seed // EACH`: classes share robots, motions and noise."""
    number, base = divmod(seed, EACH)
    name = NAMES[number]
    if name == FLIGHT:
        return {"kind": name, **_fall(base)}
    kind = CLASSES[name]
    job = job_of(kind, base)
    made = kind.make(job, job.rng(3, number))
    with TemporaryDirectory() as folder, warnings.catch_warnings():
        warnings.simplefilter("ignore")
        row = tried(job, kind, made, Path(folder))
    honest = row["links"] if kind.healthy else _honest(base, job.robot.name, kind.true)
    return {"kind": name, "robot": job.robot.name, "what": " ".join((made.what, *made.joints)), "honest": honest, **row}


@lru_cache(maxsize=4 * EACH)
def _honest(base: int, robot: str, true: bool) -> float:
    """Error of links identified from the healthy twin."""
    job, kind = logs.drawn(base, robot=robot, true=true), CLASSES["healthy"]
    with TemporaryDirectory() as folder, warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return outcome(job, kind.make(job, job.rng(3)), Path(folder))["links"]


def tried(job: Job, kind: Class, made: Made, folder: Path) -> Row:
    """What came out, and what came out of the first remedy printed."""
    row = outcome(job, made, folder)
    row |= _named(kind, made, row)
    if row["remedy"]:
        row["obeyed"] = _obeyed(job, row["remedy"], folder)
    return row


def outcome(job: Job, made: Made, folder: Path) -> Row:
    """Outcome on a log, with errors of the links that are to be used on fresh motion."""
    model, out = folder / "robot.urdf", folder / "out"
    model.write_text(job.robot.text, encoding="utf-8")
    found = [folder / f"run{k + 1}.npz" for k in range(len(made.logs))]
    for path, log in zip(found, made.logs, strict=True):
        np.savez(path, **log)
    row, done = _outcome(model, found, _errors(job, job.robot.nominal), out=out)
    if done is None:
        return row
    row["met"] = _met(job, done.estimate)
    return row if row["level"] == "keep" else row | _written(job, out)


def _outcome(model, found, given: tuple[float, ...], *, out: Path | None = None, **options) -> tuple[Row, Any]:
    """What `sy.identify` says, and its result where it is none of refusal. given: errors of the links given, which
    count until others are to be used."""
    row = {"links": max(given), "fast": given[0], "given": max(given), "given_fast": given[0], "written": False}
    row |= {"remedy": "", "named": False, "misnamed": []}
    try:
        done = sy.identify(model, found, out=out, **options)
    except SteelyardError as error:
        said = str(error)
        row |= {"level": "refused", "codes": _codes(said), "said": said.splitlines()[0], "remedy": _option(said)}
        return row, None
    told = summary(done) if out is None else json.loads((out / "summary.json").read_text("utf-8"))
    judged = told["verdict"]
    row |= {
        "level": judged["level"],
        "codes": [each["code"] for each in told["findings"]],
        "said": " ".join((judged["headline"], *judged["reasons"])),
        "remedy": next((shlex.join(each.options) for each in done.findings if getattr(each, "options", ())), ""),
        "before": done.before.relative_error,
        "held_out": done.after.relative_error,
    }
    return row | _signs(done), done


def _signs(done) -> Row:
    """What verdicts go by."""
    found = done.generalization
    return {
        "surprise": found.held_out.ratio,
        "parts": max((part.ratio for part in found.parts), default=None),
        "promised": done.expected and done.expected[1].value,
    }


def _fall(base: int) -> Row:
    """A free fall, judged by the torques of another one, links and friction together."""
    rng = np.random.default_rng([base, 47])
    robot = flights.drawn(rng)
    with TemporaryDirectory() as place, warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model, moved = Path(place) / "robot.xml", flights.compiled(robot)
        model.write_text(flights.mjcf(flights.mistaken(robot, rng), friction=True), encoding="utf-8")
        given = sy.load(model)
        run, fresh = (
            sy.Log(**flights.free_fall(robot, given, rng, moved, seconds=1.5), joint_names=given.dof_names)
            for _ in range(2)
        )
        errors = validate(given, fresh).relative_error
        row, done = _outcome(model, run, (errors,), cutoff=0.0)
    row |= {"robot": "flyer", "what": "", "honest": row.get("held_out", errors)}
    if done is None or row["level"] == "keep":
        return row
    after = validate(done.estimate, fresh).relative_error
    return row | {"links": after, "fast": after, "met": after, "written": True}


def _written(job: Job, out: Path) -> Row:
    """Errors of the links of the model in a folder."""
    given = _errors(job, job.robot.nominal)
    file = next(out.glob("*_identified.urdf"), None)
    found = given if file is None else _errors(job, pin.buildModelFromUrdf(str(file)))
    changed = any(abs(a - b) > 1e-6 for a, b in zip(found, given, strict=True))
    return {"links": max(found), "fast": found[0], "written": changed}


def _errors(job: Job, model: pin.Model) -> tuple[float, ...]:
    """Errors of links alone over torques of the true ones, on motion twice as fast, and elsewhere."""
    found = []
    for motion, true in _fresh(job):
        found.append(float(np.linalg.norm(torques(model, *motion.state) - true) / np.linalg.norm(true)))
    return tuple(found)


@lru_cache(maxsize=4)
def _fresh(job: Job) -> tuple[tuple[Motion, np.ndarray], ...]:
    """Motions unlike any log, with torques of the true links."""
    rng = job.rng(4)
    robot = job.robot
    home = robot.home + 0.5 * robot.reach * rng.choice([-1, 1], robot.n)
    motions = (
        logs.sines(job, rng, speed=2.0, seconds=8.0),
        logs.sines(job, rng, home=home, reach=0.5, seconds=8.0),
    )
    return tuple((each, logs.links(job, each)) for each in motions)


def _met(job: Job, estimate) -> float:
    """Torque error of an estimate, friction included, on fresh motion without noise."""
    squares = np.zeros(2)
    for motion, load in _fresh(job):
        tau = load + logs.drives(job, motion, load)
        log = sy.Log(t=motion.t, q=motion.q, v=motion.v, a=motion.a, tau=tau, joint_names=tuple(job.robot.joints))
        squares += np.sum(validate(estimate, log).error ** 2), np.sum(tau**2)
    return float(np.sqrt(squares[0] / squares[1]))


def _named(kind: Class, made: Made, row: Row) -> Row:
    """Whether a finding names the cause, and whether one accuses something else."""
    accused = [code for code in row["codes"] if code not in CATALOGUE or CATALOGUE[code].biases]
    right = [code for code in row["codes"] if code in kind.codes]
    if made.joints and right:
        right = right if all(joint in row["said"] for joint in made.joints) else []
    return {"named": bool(right), "misnamed": [code for code in accused if code not in right]}


def _codes(said: str) -> list[str]:
    """Faults that a refusal names."""
    return re.findall(r"--accept (\w+)", said) or [code for words, code in REFUSED.items() if words in said]


def _option(said: str) -> str:
    """The first option that a refusal gives as remedy."""
    found = re.search(r"(?:Option:|command line) (--.*?)(?=$|\n|[.;)]? [A-Z][a-z]+[ :]|[.;)]$)", said)
    return found.group(1) if found else ""


def _obeyed(job: Job, remedy: str, folder: Path) -> Row:
    """Level and errors of links after the command was run again with an option."""
    out = folder / "again"
    files = [folder / "robot.urdf", *sorted(folder.glob("run*.npz"))]
    words = [*map(str, files), "-o", str(out), "--quiet", *shlex.split(remedy)]
    ended = CliRunner().invoke(app, ["identify", *words])
    if ended.exception is not None and not isinstance(ended.exception, SystemExit):
        raise ended.exception
    if ended.exit_code not in (0, 1):
        return {"level": "refused", "said": ended.output.strip().splitlines()[-1] if ended.output else ""}
    level = json.loads((out / "summary.json").read_text("utf-8"))["verdict"]["level"]
    return {"level": level, **_written(job, out)}


def wrong_good(row: Row) -> bool:
    """A *good* whose links err above three times the healthy twin's, or above those given."""
    return row["level"] == "good" and row["links"] > SAME + min(MOST * row["honest"], row["given"])


def wrong_better(row: Row) -> bool:
    """Links written and said to be better that are worse than those given on motion twice as fast."""
    return row["level"] in ("good", "care") and row["written"] and row["fast"] > row["given_fast"] + SAME


def wrong_remedy(row: Row) -> bool:
    """A remedy after which links are said to be better that are worse than those given and than the healthy twin's."""
    after = row.get("obeyed")
    return (
        bool(after)
        and after["level"] in ("good", "care")
        and after["links"] > SAME + max(row["given"], MOST * row["honest"])
    )


def false_alarm(row: Row) -> bool:
    return row["kind"] in HEALTHY and (row["level"] in ("keep", "refused") or bool(row["misnamed"]))


TEXT = """# Strangers' files

{count} jobs of `steelyard identify` in {classes} classes, simulated with Pinocchio: vendors' and random robots, files
without friction whose links are up to tens of percent wrong (or right), friction, noise and encoder steps of several
kinds. The error of links is that of their torque alone, without friction, on motion twice as fast as the log and in
another posture, whichever is more; where the verdict is *keep* or refused, the given links count. Errors below
{same} are none.

- *good*, and links err above {most:g} times those of the healthy twin or above those given: {good}
- links said to be better that are worse than those given on motion twice as fast: {better}
- remedies printed and obeyed: {obeyed}; of these, worse links than those given said to be better: {remedy}
- false alarms on healthy logs: {alarm}
- ended in an error that has no message: {raised}

Links: median error of those to be used / of the healthy twin / of those given. Worse: said to be better, worse on
fast motion. Remedies: after which links are as good as the healthy twin's / wrong / all.

| class | good | care | keep | refused | named | other cause named | links | wrong good | worse | remedies |
|---|---|---|---|---|---|---|---|---|---|---|
{table}

## Signs that verdicts go by

Error of held-out samples, and of the worst log or quarter of a single log, over the one expected from a fit to the
rest; error expected of written links in ordinary use over the one met on fresh motion: 10, 50 and 90 % of the jobs. No
verdict is *good* where one of the first two is above 2.

| jobs | held-out over expected | part over expected | predicted over met |
|---|---|---|---|
{signs}
"""


def page(rows: list[Row]) -> str:
    """Levels, causes and remedies beside the truth."""
    told = [row for row in rows if "raised" not in row]
    obeyed = [row for row in told if "obeyed" in row]
    kinds = [(name, [row for row in told if row["kind"] == name]) for name in NAMES]
    return TEXT.format(
        count=len(rows),
        classes=len(NAMES),
        same=percent(SAME),
        most=MOST,
        good=_seeds(filter(wrong_good, told)),
        better=_seeds(filter(wrong_better, told)),
        obeyed=len(obeyed),
        remedy=_seeds(filter(wrong_remedy, told)),
        alarm=_seeds(filter(false_alarm, told)),
        raised=_seeds(row for row in rows if "raised" in row),
        table="\n".join(_line(name, rows) for name, rows in kinds if rows),
        signs="\n".join(
            _spreads(words, [row for row in told if (row["kind"] in HEALTHY) == is_healthy])
            for words, is_healthy in (("healthy", True), ("others", False))
        ),
    )


def _line(name: str, rows: list[Row]) -> str:
    levels = [sum(row["level"] == level for row in rows) for level in LEVELS]
    errors = " / ".join(percent(float(np.median([row[key] for row in rows]))) for key in ("links", "honest", "given"))
    after = [row for row in rows if "obeyed" in row]
    fine = [row for row in after if row["obeyed"].get("links", 9.0) <= SAME + MOST * row["honest"]]
    remedies = f"{len(fine)} / {sum(map(wrong_remedy, after))} / {len(after)}" if after else "–"
    cells = [
        name,
        *levels,
        "–" if name in HEALTHY else sum(row["named"] for row in rows),
        sum(bool(row["misnamed"]) for row in rows),
        errors,
        sum(map(wrong_good, rows)),
        sum(map(wrong_better, rows)),
        remedies,
    ]
    return f"| {' | '.join(map(str, cells))} |"


def _spreads(words: str, rows: list[Row]) -> str:
    """A line of the table of signs."""
    columns = (
        [row["surprise"] for row in rows if row.get("surprise") is not None],
        [row["parts"] for row in rows if row.get("parts") is not None],
        [row["promised"] / row["links"] for row in rows if row.get("promised") is not None and row["written"]],
    )
    spread = [", ".join(f"{x:.2g}" for x in np.quantile(each, [0.1, 0.5, 0.9])) if each else "–" for each in columns]
    return f"| {' | '.join([words, *spread])} |"


def _seeds(rows) -> str:
    """How many, and which seeds repeat them."""
    seeds = [str(row["case"]) for row in rows]
    return f"{len(seeds)} (seeds {', '.join(seeds)})" if seeds else "0"
