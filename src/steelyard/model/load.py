"""Reading a robot, dispatched by what the file is."""

from pathlib import Path

from steelyard.errors import ModelError
from steelyard.model import mjcf, urdf
from steelyard.model.references import reach
from steelyard.model.robot import Robot
from steelyard.model.xml import parse

REMEDIES = {
    ".xacro": " Expand it first: xacro robot.urdf.xacro > robot.urdf.",
    ".sdf": " Convert it to one of them first.",
    ".mjcf": " Name MJCF files .xml.",
}
"""What to do about other files of robots."""


def load(path, *, floating: bool | None = None, gravity=None, folders=()) -> Robot:
    """Read a robot from a URDF (`.urdf`) or MJCF (`.xml`) file.

    floating: None as the file says, True puts a free base under a fixed-base model, False welds free bases in place.
    gravity: (3,) in the world, m/s^2; None takes the file's (MJCF) or `[0, 0, -9.81]`.
    folders: whose files the model may name beside those of its own folder and package; others are never opened.
    Raises ModelError that names the file, the element, what was found and what to do.
    """
    path = Path(path)
    readers = {".urdf": urdf, ".xml": None}
    if path.suffix.lower() not in readers:
        raise ModelError(
            f"Model file {path} has suffix '{path.suffix}'; robots are read from .urdf and MJCF .xml files."
            f"{REMEDIES.get(path.suffix.lower(), '')}"
        )
    # both formats are met as .xml: the root element tells
    reader = readers[path.suffix.lower()] or (urdf if parse(path).tag == "robot" else mjcf)
    return reader.load(path, floating=floating, gravity=gravity, folders=reach(path, folders))
