"""Every robot model of the packages at hand through the whole product, beside engines that we did not write.

A case is `package/model`; its stages have a limit each. What other engines raise is a failure with their message.
"""

import warnings
from collections import Counter
from collections.abc import Callable
from dataclasses import asdict, replace
from pathlib import Path
from time import process_time

import steelyard as sy
from evidence.runner import Row, limited
from evidence.stages import dynamics, files, identification
from evidence.stages.models import found
from evidence.stages.outcome import FAIL, LATE, PASS, STATUSES, Outcome
from steelyard.errors import SteelyardError

LIMIT, STAGE_LIMIT = 300.0, 120.0
PACKAGES = ("mujoco", "pin", "example-robot-data", "dm-control", "robosuite", "numpy")
STAGES: dict[str, Callable[[Path], Outcome]] = {
    "regressor": dynamics.regressor,
    "identifiability": dynamics.structure,
    "identification": identification.identification,
    "urdf": files.urdf,
    "mjcf": files.mjcf,
    "check": files.check,
}
BROKEN = (ValueError, ArithmeticError, LookupError, TypeError, AttributeError, RuntimeError, OSError, SyntaxError)
COLUMNS = (
    *("bodies / freedoms", "regressor", "count", "rank", "error before", "after", "truth's own", "ratio"),
    *("urdf", "mjcf", "check"),
)
STAGE_OF = {  # the stage that fills a column; the others are stages by name
    "bodies / freedoms": "regressor",
    **dict.fromkeys(("count", "rank"), "identifiability"),
    **dict.fromkeys(("error before", "after", "truth's own", "ratio"), "identification"),
}
HEAD = """# Conformance

Every robot model of the packages at hand through the whole product, beside engines that we did not write. Written by
`make conformance`; not by hand.

- **regressor**: largest difference from Pinocchio's regressor (URDF, at most 1e-10 of its largest number) or from
  MuJoCo's inverse dynamics (MJCF, at most 1e-9).
- **count, rank**: identifiable combinations by structure, to the letter of the file (`tolerance=0`), and the numeric
  rank of a stacked regression of Pinocchio's, or of MuJoCo's torques of point masses.
- **error before, after, truth's own, ratio**: the robot's masses are changed by up to a quarter (bodies of the file
  that cannot exist become the nearest that can first); 10 s of motion at 250 Hz are recorded in MuJoCo with 1 % torque
  noise, and `identify` starts from the file as it is. Relative torque errors on held-out samples of the file, of the
  result, and of the robot that moved (the noise floor, filter included); the ratio of the last two is at most 1.5.
  Model, `summary.json` and report are written. Of robots with free, ball or planar joints the motion is recorded
  exactly; of others through encoders.
- **urdf, mjcf**: largest relative difference of inertias when a changed robot is written and read back (at most 1e-9);
  MuJoCo compiles the file.
- **check**: findings of the linter.

A stage that does not pass shows its status, and the list below each table the reason: *refused* is a message of ours,
*FAIL* a number or an engine that disagrees, *as given* a fault of the file itself (MuJoCo refuses it before we touch
it, or its inertias lie outside its shapes and without that bound the job passes), *too slow* a time limit. Seconds are
processor time.
"""


def cases() -> list[str]:
    return list(found())


def row(case: str) -> Row:
    return {"stages": {name: short(said) for name, said in stages(found()[case], STAGE_LIMIT).items()}}


def failed(row: Row) -> bool:
    return any(said["status"] == FAIL for said in row["stages"].values())


def stages(path: Path, limit: float) -> dict[str, Outcome]:
    """Outcome of each stage; of a model that does not load, the refusal only."""
    try:
        sy.load(path)
    except SteelyardError as error:
        return {"load": files.refusal(error)}
    return {name: timed(stage, path, limit) for name, stage in STAGES.items()}


def timed(stage: Callable[[Path], Outcome], path: Path, limit: float) -> Outcome:
    """One stage within a limit in seconds of processor time."""
    start = process_time()
    try:
        with warnings.catch_warnings(), limited(limit):
            warnings.simplefilter("ignore")
            outcome = stage(path)
    except TimeoutError as error:
        outcome = Outcome(LATE, reason=str(error))
    except SteelyardError as error:
        outcome = files.refusal(error)
    except BROKEN as error:
        outcome = Outcome(FAIL, reason=f"{type(error).__name__}: {str(error).strip().splitlines()[0]}")
    return replace(outcome, seconds=process_time() - start)


def short(outcome: Outcome) -> dict:
    """What is kept of a stage."""
    said = asdict(outcome) | {"seconds": round(outcome.seconds, 1)}
    return {name: value for name, value in said.items() if value or name == "status"}


Results = dict[str, dict[str, Outcome]]  # by `package/model` and stage


def page(rows: list[Row]) -> str:
    """Markdown of all models, by package."""
    results = {row["case"]: outcomes(row) for row in rows}
    seconds = sum(outcome.seconds for stages in results.values() for outcome in stages.values())
    machines = "; ".join(dict.fromkeys(row["machine"] for row in rows))
    parts = [HEAD, totals(results), f"{len(rows)} models, {seconds / 60:.0f} min of one process, {machines}.\n"]
    for source in sorted({case.partition("/")[0] for case in results}):
        mine = {case: results[case] for case in sorted(results) if case.startswith(f"{source}/")}
        mine = {case.removeprefix(f"{source}/"): said for case, said in mine.items()}
        parts += [f"## {source}\n", table(mine), reasons(mine)]
    return "\n".join(part for part in parts if part)


def outcomes(row: Row) -> dict[str, Outcome]:
    """Outcomes by stage; of a model that ended its process or the time of its case, one for `load`."""
    if "raised" in row:
        late = row["raised"] == "TimeoutError"
        return {"load": Outcome(LATE if late else FAIL, reason=row["message"])}
    return {stage: Outcome(**said) for stage, said in row["stages"].items()}


def totals(results: Results) -> str:
    """How many robots came to what, by stage."""
    lines = ["| stage | " + " | ".join(STATUSES) + " |", "|---" * (1 + len(STATUSES)) + "|"]
    for stage in ("load", *STAGES):
        found = Counter(
            outcomes[stage].status if stage in outcomes else PASS
            for outcomes in results.values()
            if stage in outcomes or (stage == "load")
        )
        lines.append(f"| {stage} | " + " | ".join(str(found[status]) for status in STATUSES) + " |")
    return "\n".join(lines) + "\n"


def table(results: Results) -> str:
    lines = ["| robot | " + " | ".join(COLUMNS) + " | s |", "|---" * (len(COLUMNS) + 2) + "|"]
    for name, outcomes in results.items():
        cells = [_cell(outcomes, column) for column in COLUMNS]
        seconds = sum(outcome.seconds for outcome in outcomes.values())
        lines.append(f"| {name} | " + " | ".join(cells) + f" | {seconds:.0f} |")
    return "\n".join(lines) + "\n"


def reasons(results: Results) -> str:
    lines = [
        f"- `{name}`, {stage}, {outcome.status}: {_plain(outcome.reason)}"
        for name, outcomes in results.items()
        for stage, outcome in outcomes.items()
        if outcome.status != PASS
    ]
    return "\n".join(lines) + "\n" if lines else ""


def _cell(outcomes: dict[str, Outcome], column: str) -> str:
    outcome = outcomes.get(STAGE_OF.get(column, column)) or outcomes.get("load")
    return outcome.figures.get(column, "" if outcome.status == PASS else outcome.status) if outcome else ""


def _plain(text: str, longest: int = 300) -> str:
    """One line of text that Markdown does not read as a table or a tag."""
    text = " ".join(text.split()).replace("|", "\\|").replace("<", "&lt;")
    return text if len(text) <= longest else text[: longest - 3] + "..."
