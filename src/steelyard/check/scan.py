"""Reading a model file for the linter, whatever it is: dispatch by the root element."""

import os
from pathlib import Path

from steelyard.check import scan_mjcf, scan_urdf
from steelyard.check.parts import Sketch
from steelyard.errors import ModelError
from steelyard.model import holds, reach, read

SUFFIXES = (".urdf", ".xml", ".mjcf")


def scan(path, *, meshes: bool = True, folders=()) -> Sketch:
    """Sketch of a URDF or MJCF file. meshes: whether mesh files are read. folders: as of `load`.

    Raises ModelError, one message, for a file that is no model or cannot be read.
    """
    path = Path(path)
    document = read(path)
    if document.root.tag == "robot":
        return scan_urdf.scan(document, reach(path, folders), meshes=meshes)
    if document.root.tag == "mujoco":
        return scan_mjcf.scan(document, reach(path, folders), meshes=meshes)
    raise ModelError(
        f"{path}: the root element is <{document.root.tag[:60]}>; a URDF starts with <robot>, an MJCF with <mujoco>."
    )


def models_in(path) -> list[Path]:
    """The model files a path stands for: itself, or for a folder every URDF and MJCF model in it.

    Hidden files, links out of the folder, parts of models and XML files that are no models are left out. Raises
    ModelError for a folder without models.
    """
    path = Path(path)
    if not path.is_dir():
        return [path]
    found = [each for suffix in SUFFIXES for each in sorted(path.rglob(f"*{suffix}"))]
    inside = (Path(os.path.realpath(path)),)
    found = [each for each in found if each.is_file() and not each.name.startswith(".") and holds(inside, each)]
    models = [each for each in found if each.suffix == ".urdf" or _is_model(each)]
    if not models:
        raise ModelError(f"Folder {path} holds no .urdf and no MJCF .xml file.")
    return models


def _is_model(path: Path) -> bool:
    """Whether an XML file is a whole model: a robot, or a mujoco with a world of its own."""
    try:
        root = read(path).root
    except ModelError:
        return False
    return root.tag == "robot" or (root.tag == "mujoco" and root.find("worldbody") is not None)
