"""The robot model: read, frozen, written back."""

from steelyard.model import library, mjcf_write, urdf_write
from steelyard.model.assemble import FLOATING_BASE
from steelyard.model.fingerprint import fingerprint
from steelyard.model.geometry import INFLATE, NOTHING, bounding_ellipsoids
from steelyard.model.joint import (
    ENDLESS,
    ENDLESS_EFFORT,
    KINDS,
    Joint,
    endless,
    multi_dof_pose,
    planar_subspace,
    revolute_subspace,
    twist_pose_coefficients,
)
from steelyard.model.load import load
from steelyard.model.loops import LOOP_KINDS
from steelyard.model.meshes import MAX_MESH_BYTES, Meshes, read_colored
from steelyard.model.mjcf_compile import compile_file
from steelyard.model.mjcf_files import Body, Files, Node, bodies, read_files
from steelyard.model.mjcf_geoms import geom_shape, geom_solid
from steelyard.model.mjcf_move import relocate
from steelyard.model.mjcf_names import body_name, compiled_rotation
from steelyard.model.mjcf_new import draft
from steelyard.model.mjcf_write import ORIENTATIONS
from steelyard.model.mujoco_state import force_from_mujoco, from_mujoco, to_mujoco
from steelyard.model.mujoco_warnings import heard
from steelyard.model.paths import Mover
from steelyard.model.references import Resolved, holds, package_named, reach
from steelyard.model.robot import WORLD, Link, Robot, Source
from steelyard.model.rotor import Rotor
from steelyard.model.save import format_of, save
from steelyard.model.screw import screw
from steelyard.model.side import read_known, read_side, side_path
from steelyard.model.side_known import Known
from steelyard.model.side_write import write_side
from steelyard.model.turned import turned
from steelyard.model.urdf import JOINT_TYPES, origin
from steelyard.model.urdf_geometry import MESH, ROLES, shape_of
from steelyard.model.xml import floats, parse
from steelyard.model.xml_edit import (
    Document,
    Edit,
    Element,
    New,
    apply,
    assign,
    insert,
    number_text,
    read,
    replace_attribute,
    update,
)

__all__ = [
    "ENDLESS",
    "ENDLESS_EFFORT",
    "FLOATING_BASE",
    "INFLATE",
    "JOINT_TYPES",
    "KINDS",
    "LOOP_KINDS",
    "MAX_MESH_BYTES",
    "MESH",
    "NOTHING",
    "ORIENTATIONS",
    "ROLES",
    "WORLD",
    "Body",
    "Document",
    "Edit",
    "Element",
    "Files",
    "Joint",
    "Known",
    "Link",
    "Meshes",
    "Mover",
    "New",
    "Node",
    "Resolved",
    "Robot",
    "Rotor",
    "Source",
    "apply",
    "assign",
    "bodies",
    "body_name",
    "bounding_ellipsoids",
    "compile_file",
    "compiled_rotation",
    "draft",
    "endless",
    "fingerprint",
    "floats",
    "force_from_mujoco",
    "format_of",
    "from_mujoco",
    "geom_shape",
    "geom_solid",
    "heard",
    "holds",
    "insert",
    "library",
    "load",
    "mjcf_write",
    "multi_dof_pose",
    "number_text",
    "origin",
    "package_named",
    "parse",
    "planar_subspace",
    "reach",
    "read",
    "read_colored",
    "read_files",
    "read_known",
    "read_side",
    "relocate",
    "replace_attribute",
    "revolute_subspace",
    "save",
    "screw",
    "shape_of",
    "side_path",
    "to_mujoco",
    "turned",
    "twist_pose_coefficients",
    "update",
    "urdf_write",
    "write_side",
]
