"""docs/evidence/conformance.md: the numbers, and every failure with its reason."""

from collections import Counter

from conformance.models import Case
from conformance.one import STAGES
from conformance.outcome import PASS, STATUSES, Outcome

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


def page(results: dict[Case, dict[str, Outcome]], machine: str) -> str:
    """Markdown of all results, by package."""
    parts = [HEAD, totals(results), f"{machine}\n"]
    for source in sorted({case.source for case in results}):
        mine = {case: results[case] for case in sorted(results, key=lambda c: c.name) if case.source == source}
        parts += [f"## {source}\n", table(mine), reasons(mine)]
    return "\n".join(part for part in parts if part)


def totals(results: dict[Case, dict[str, Outcome]]) -> str:
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


def table(results: dict[Case, dict[str, Outcome]]) -> str:
    lines = ["| robot | " + " | ".join(COLUMNS) + " | s |", "|---" * (len(COLUMNS) + 2) + "|"]
    for case, outcomes in results.items():
        cells = [_cell(outcomes, column) for column in COLUMNS]
        seconds = sum(outcome.seconds for outcome in outcomes.values())
        lines.append(f"| {case.name} | " + " | ".join(cells) + f" | {seconds:.0f} |")
    return "\n".join(lines) + "\n"


def reasons(results: dict[Case, dict[str, Outcome]]) -> str:
    lines = [
        f"- `{case.name}`, {stage}, {outcome.status}: {_plain(outcome.reason)}"
        for case, outcomes in results.items()
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
