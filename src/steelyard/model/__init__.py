"""The robot model: files read, tolerantly as a `Sketch` or strictly as a `Robot`, and written back."""

from typing import TYPE_CHECKING

from steelyard.lazy import lazy
from steelyard.model import library
from steelyard.model.formats import load
from steelyard.model.joint import Joint, revolute_subspace
from steelyard.model.robot import Robot, with_moved_axes
from steelyard.model.side_write import write_side

if TYPE_CHECKING:
    from steelyard.model.mjcf_drives import STEP
    from steelyard.model.mujoco_state import from_mujoco
    from steelyard.model.write_back import save
    from steelyard.model.write_new import mjcf_text

# Loaded on first use.
__getattr__ = lazy(
    __name__, {"STEP": "mjcf_drives", "from_mujoco": "mujoco_state", "mjcf_text": "write_new", "save": "write_back"}
)

__all__ = [
    "STEP",
    "Joint",
    "Robot",
    "from_mujoco",
    "library",
    "load",
    "mjcf_text",
    "revolute_subspace",
    "save",
    "with_moved_axes",
    "write_side",
]
