"""Reports of stored results: one drawn again, with the 3D view of its robot, or several compared."""

from collections.abc import Sequence
from pathlib import Path

from steelyard.errors import SteelyardError
from steelyard.pipeline import Job
from steelyard.pipeline.job_run import load_with_side
from steelyard.report.comparison_report import comparison_summary, comparison_view
from steelyard.report.document import View
from steelyard.report.identification_report import view_of
from steelyard.report.outputs import staged
from steelyard.report.provenance import digest
from steelyard.report.record import COMPARISON_FILES, SUMMARY, Record, read, render, write


def again(folders: Sequence[Path], out=None) -> View:
    """View of one result or of a comparison, written to a folder.

    folders: of results. out: of the report; by default that of the result itself, and none for a comparison. Raises
    OptionError for folders without result and damaged ones.
    """
    if len(folders) == 1:
        read(folders[0])  # refused before a folder is made
        with staged(folders[0] if out is None else out) as stage:
            view = drawn(read(folders[0]), folders[0])
            render(view, stage)
        return view
    records = [read(folder) for folder in folders]
    found = comparison_summary(records, list(folders), out=out, files=COMPARISON_FILES if out is not None else ())
    view = comparison_view(found)
    if out is not None:
        with staged(out, inputs=[folder / SUMMARY for folder in folders]) as stage:
            write(Record(found, {}), stage)
            render(view, stage)
    return view


def drawn(record: Record, folder, folders=()) -> View:
    """View of a record of any kind. folder: that holds its summary; folders: whose files the drawn
    model may name, as of `load`."""
    view, film = view_of, {}
    if record.kind == "payload":  # of what `identify` takes, these would be a third, if loaded there
        from steelyard.payload.payload_report import payload_view

        return payload_view(record)
    if record.kind == "drives":
        from steelyard.report.drive_report import drive_view, filmed

        view, film = drive_view, filmed(record.curves, len(record.summary["robot"]["joints"]))
    return view(record, robot=robot_view(record.summary, folder, folders, film))


def robot_view(summary: dict, folder, folders=(), film=None) -> str:
    """HTML of the 3D view of a robot whose summary lies in `folder`; empty when its model is gone or has
    changed.

    A report of an old result is useful without it, so a model that cannot be read is no error here. folders: whose
    files it may name; those in the summary do not count, which may come from elsewhere. film: measured and simulated
    motion, played side by side.
    """
    from steelyard.viewer import embed
    from steelyard.viewer.played_motion import PlayedMotion

    source = next((each for each in summary["provenance"]["inputs"] if each["role"] == "model"), None)
    if source is None:
        return ""
    path = Path(summary["provenance"]["folder"]) / source["path"]
    if not path.is_file() or digest(path) != source["sha256"]:
        return ""
    told = {key: summary["job"][key] for key in ("floating", "gravity", "side", "rotors")}
    told |= {name: tuple(summary["job"].get(name, ())) for name in ("lock", "arguments")}
    job = Job(str(path), (), folders=tuple(map(str, folders)), **told)
    try:
        robot = load_with_side(job)
        if not film:
            return embed(robot, estimate=folder)
        from steelyard.drives.free_base import moved

        played = {name: PlayedMotion(t - t[0], moved(robot.neutral, q)) for name, (t, q) in film.items()}
        return embed(robot, trajectory=played["measured"], beside=("simulated", played["identified"]))
    except SteelyardError:  # its side file or a mesh is gone
        return ""
