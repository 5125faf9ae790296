"""From a model, an estimate and a motion to HTML pages."""

from pathlib import Path

from steelyard import storage
from steelyard.errors import OptionError
from steelyard.fit import Estimate, Uncertainty
from steelyard.model import Robot, load
from steelyard.report.outputs import write_file
from steelyard.viewer.played_motion import motion_of

PAGE = "view.html"


def embed(model, *, estimate=None, trajectory=None, beside=None) -> str:
    """A piece of HTML with an interactive 3D view of a robot; everything it needs is in it.

    model, estimate, trajectory: as of `view`.
    beside: name and motion of the same robot that is played at its side.
    Several views may stand on one page. Where the page has a content security policy, it has to allow inline scripts
    and styles. Raises SteelyardError; meshes that cannot be read are named in the view instead.
    """
    from steelyard.viewer.scene import fragment

    return fragment(_scene(model, estimate, trajectory, beside))


def view(model, *, estimate=None, trajectory=None, path: str | Path = PAGE) -> Path:
    """Write the 3D view of a robot as a page of its own.

    Args:
        model: Robot, or path of a URDF, MJCF or SDF file.
        estimate: drawn beside the model's masses: `Uncertainty` (with the 95 % region of each centre of mass),
            `Estimate`, another Robot with the same bodies, or the path of an output folder of `identify`.
        trajectory: played: `Trajectory` (such as a design of `excite`), `Log`, or path of a log.
        path: of the HTML file.

    Returns:
        The path.

    Raises:
        SteelyardError: a model, estimate or trajectory that cannot be used; meshes that cannot be read are named in the
            view.
    """
    from steelyard.viewer.scene import page

    path = require_page(path)
    return write_file(path, page(_scene(model, estimate, trajectory)).encode(), what="Page")


def require_page(path) -> Path:
    """The path of a page. Raises OptionError for a suffix that is none, and for a place that cannot be."""
    path = Path(path)
    if path.suffix.lower() not in (".html", ".htm"):
        raise OptionError(f"'{path}': a view is an HTML page; give a name that ends in .html.")
    storage.require_folder(path.parent)
    return path


def _scene(model, estimate, trajectory, beside=None) -> dict:
    from steelyard.viewer.masses import found_in, read_outcome
    from steelyard.viewer.scene import scene, side_by_side

    robot = model if isinstance(model, Robot) else load(model)
    found = None
    if isinstance(estimate, Robot | Estimate | Uncertainty):
        found = found_in(estimate, robot)
    elif estimate is not None:
        found = read_outcome(estimate, robot)
    motion = None if trajectory is None else motion_of(trajectory, robot)
    seen = scene(robot, found=found, motion=motion)
    if motion is None or beside is None:
        return seen
    name, other = beside
    return side_by_side(seen, motion, motion_of(other, robot), name)
