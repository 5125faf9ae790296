"""`Record`: everything a report shows, as it lies in a result folder, so that it can be drawn again and compared."""

import json
from dataclasses import dataclass, replace
from pathlib import Path

from steelyard.cards import Card
from steelyard.corrections import corrections_from
from steelyard.errors import OptionError, choices
from steelyard.job import Job
from steelyard.report.document import View
from steelyard.report.rendering import markdown, page
from steelyard.report.schema import SCHEMA_VERSION, difference, write_json
from steelyard.report.signal_curves import Curves, load_curves, save_curves

KINDS = ("identification", "drives", "payload")
SUMMARY, CURVES, PAGE, TEXT = "summary.json", "curves.npz", "report.html", "report.md"
KEEP = "keep"  # the level of a verdict that nothing of a result is to be used
FILES = (SUMMARY, PAGE, TEXT, CURVES)
COMPARISON_FILES = (SUMMARY, PAGE, TEXT)


@dataclass(frozen=True, eq=False, repr=False)
class Record(Card):
    """summary: see docs/files.md. curves: signals of the figures, thinned."""

    summary: dict
    curves: Curves

    @property
    def kind(self) -> str:
        """`identification`, `drives` or `payload`."""
        return self.summary["kind"]


def usable(folder) -> Record:
    """Record of a result whose model may be used: nothing else goes into simulators and controllers. Raises OptionError
    as `read`, and for a verdict that says to keep the nominal model."""
    found = read(folder)
    verdict = found.summary.get("verdict", {})
    if verdict.get("level") == KEEP:
        advice = verdict["advice"].removesuffix(": look at these first.")
        raise OptionError(
            f"{folder}: {verdict['headline']} {advice}, so nothing of this result is exported. Its report names what "
            "to mend."
        )
    return found


def logs_of(path, job: Job) -> list[tuple[Path, Job]]:
    """Logs that a result was made of, each with a job that reads it as that did; a file that is none, with this job.
    Raises OptionError as `read`."""
    if not (Path(path) / SUMMARY).is_file():
        return [(Path(path), job)]
    found = read(path).summary
    told, folder = found["job"], Path(found["provenance"]["folder"])
    stated = {name: value for name, value in told.get("corrections", {}).items() if value}
    job = replace(job, channels=told.get("channels"), corrections=corrections_from(stated))
    return [(folder / log, job) for log in told.get("logs", ())]


def read(folder) -> Record:
    """Record in a result folder. Raises OptionError for one without, a damaged one, or one from a newer version."""
    folder = Path(folder)
    path = folder / SUMMARY
    try:
        found = json.loads(path.read_text("utf-8"))
    except OSError as error:
        raise OptionError(
            f"{folder} holds no result: {path.name} cannot be read ({error.strerror or error}). Give a folder that "
            "steelyard identify or steelyard payload wrote with --out."
        ) from error
    except (ValueError, RecursionError) as error:
        raise OptionError(f"{path} is no JSON: {error}. Write the result again with --out.") from error
    version = found.get("schema_version") if isinstance(found, dict) else None
    if version != SCHEMA_VERSION:
        raise OptionError(
            f"{path} has schema version {version}; this program reads version {SCHEMA_VERSION}. Write the result again "
            "with --out, or use the version of steelyard that its provenance names."
        )
    if found.get("kind") not in KINDS:
        raise OptionError(
            f"{path} is of kind {str(found.get('kind'))[:80]!r}; a report is drawn of {choices(KINDS)}. Give a folder "
            "that steelyard identify or steelyard payload wrote."
        )
    damage = difference(found, found["kind"])
    if damage:
        raise OptionError(
            f"{path} is damaged: {damage}. Write the result again with --out, or use the version of steelyard that its "
            "provenance names."
        )
    signals = folder / CURVES
    return Record(found, load_curves(signals) if signals.is_file() else {})


def write(record: Record, folder) -> None:
    """Write summary.json to a folder, and curves.npz for a record that has curves."""
    write_json(record.summary, Path(folder) / SUMMARY)
    if record.curves:
        save_curves(record.curves, Path(folder) / CURVES)


def render(view: View, folder) -> None:
    """Write report.html and report.md to a folder."""
    (Path(folder) / PAGE).write_text(page(view), encoding="utf-8", errors="backslashreplace")
    (Path(folder) / TEXT).write_text(markdown(view), encoding="utf-8", errors="backslashreplace")
