"""The 3D view of an identified robot, for its report."""

from pathlib import Path

from steelyard.errors import SteelyardError
from steelyard.pipeline import Job, load_with_side
from steelyard.report.provenance import digest


def robot_view(summary: dict, folder, folders=()) -> str:
    """HTML of the 3D view of a run whose summary lies in `folder`; empty when its model is gone or is another by now.

    A report of an old result is worth having without it, so a model that cannot be read is no error here. folders:
    whose files it may name; those in the summary do not count, which may come from elsewhere.
    """
    if summary["kind"] != "identification":
        return ""
    from steelyard.viewer import embed

    given = next((each for each in summary["provenance"]["inputs"] if each["role"] == "model"), None)
    if given is None:
        return ""
    path = Path(summary["provenance"]["folder"]) / given["path"]
    if not path.is_file() or digest(path) != given["sha256"]:
        return ""
    told = {key: summary["job"][key] for key in ("floating", "gravity", "side", "rotors")}
    job = Job(str(path), (), folders=tuple(map(str, folders)), **told)
    try:
        return embed(load_with_side(job), estimate=folder)
    except SteelyardError:  # its side file or a mesh is gone
        return ""
