"""Writing a robot of a xacro file back: the URDF that the file stands for, with the identified values in it."""

from dataclasses import replace
from pathlib import Path

from steelyard.model import urdf_write
from steelyard.model.changes import Draft
from steelyard.model.robot import Robot
from steelyard.model.xacro.xacro_document import XacroDocument


def edited(model: XacroDocument, robot: Robot, reference: Robot, target: Path) -> Draft:
    """As of `ModelDocument.edited`."""
    draft = urdf_write.edited(model, robot, reference, target)
    note = f"{model.path.name} was expanded: {target.name} holds its values, not its macros."
    return replace(draft, notes=(note, *draft.notes))
