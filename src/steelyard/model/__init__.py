"""The robot model: files read, tolerantly as a `Sketch` or strictly as a `Robot`, and written back."""

from typing import TYPE_CHECKING

from steelyard.lazy import lazy
from steelyard.model import library
from steelyard.model.assemble import FLOATING_BASE
from steelyard.model.bounding import INFLATE, NOTHING, bounding_ellipsoids, unread_geometry
from steelyard.model.compare import fingerprint
from steelyard.model.document import ModelDocument
from steelyard.model.drive import Drive
from steelyard.model.formats import (
    FORMATS,
    MODEL_SUFFIXES,
    document_of,
    load,
    models_in,
    opened,
    read_sketch,
)
from steelyard.model.joint import (
    ENDLESS,
    ENDLESS_EFFORT,
    KINDS,
    Joint,
    ball_anchor,
    displaced,
    endless,
    joint_pose,
    planar_subspace,
    revolute_subspace,
    screw,
    twist_pose_coefficients,
)
from steelyard.model.locking import locked, resting_position
from steelyard.model.loops import LOOP_KINDS
from steelyard.model.meshes import Piece
from steelyard.model.references import WAYS, Relocation, allowed_folders, package_named, resolve
from steelyard.model.robot import WORLD, Frame, Link, Robot, Source, with_moved_axes
from steelyard.model.rotor import Rotor
from steelyard.model.side import read_known, read_side, side_path, write_side
from steelyard.model.side_known import Known
from steelyard.model.side_mechanism import rest_poses
from steelyard.model.sketch import Inertial, Part, Place, Shape, Sketch

if TYPE_CHECKING:
    from steelyard.model.mjcf_compile import captured_warnings
    from steelyard.model.mjcf_drives import IMPEDANCE, STEP
    from steelyard.model.mjcf_new import mjcf_text
    from steelyard.model.mjcf_write import principal_moments
    from steelyard.model.mujoco_state import force_from_mujoco, from_mujoco, to_mujoco
    from steelyard.model.write_back import format_of, save

# Loaded on first use: what MuJoCo and writers need.
__getattr__ = lazy(
    __name__,
    {
        "captured_warnings": "mjcf_compile",
        **dict.fromkeys(("IMPEDANCE", "STEP"), "mjcf_drives"),
        "mjcf_text": "mjcf_new",
        "principal_moments": "mjcf_write",
        **dict.fromkeys(("force_from_mujoco", "from_mujoco", "to_mujoco"), "mujoco_state"),
        **dict.fromkeys(("format_of", "save"), "write_back"),
    },
)

__all__ = [
    "ENDLESS",
    "ENDLESS_EFFORT",
    "FLOATING_BASE",
    "FORMATS",
    "IMPEDANCE",
    "INFLATE",
    "KINDS",
    "LOOP_KINDS",
    "MODEL_SUFFIXES",
    "NOTHING",
    "STEP",
    "WAYS",
    "WORLD",
    "Drive",
    "Frame",
    "Inertial",
    "Joint",
    "Known",
    "Link",
    "ModelDocument",
    "Part",
    "Piece",
    "Place",
    "Relocation",
    "Robot",
    "Rotor",
    "Shape",
    "Sketch",
    "Source",
    "allowed_folders",
    "ball_anchor",
    "bounding_ellipsoids",
    "captured_warnings",
    "displaced",
    "document_of",
    "endless",
    "fingerprint",
    "force_from_mujoco",
    "format_of",
    "from_mujoco",
    "joint_pose",
    "library",
    "load",
    "locked",
    "mjcf_text",
    "models_in",
    "opened",
    "package_named",
    "planar_subspace",
    "principal_moments",
    "read_known",
    "read_side",
    "read_sketch",
    "resolve",
    "rest_poses",
    "resting_position",
    "revolute_subspace",
    "save",
    "screw",
    "side_path",
    "to_mujoco",
    "twist_pose_coefficients",
    "unread_geometry",
    "with_moved_axes",
    "write_side",
]
