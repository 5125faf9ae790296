"""Where packages that a model names are kept: what ROS, Gazebo, Python and robot_descriptions call installed.

A name in a file from elsewhere chooses among these folders and never leaves them: it is one plain word, and each place
is searched to a fixed depth.
"""

import os
import re
import sys
from collections.abc import Iterator
from pathlib import Path

WORKSPACES = ("ROS_PACKAGE_PATH", "GAZEBO_MODEL_PATH", "GZ_SIM_RESOURCE_PATH")  # folders of packages
PREFIXES = ("AMENT_PREFIX_PATH", "CMAKE_PREFIX_PATH")  # packages are in their share
MANIFESTS = ("package.xml", "manifest.xml")
MANIFEST_BYTES = 2**16
DEPTH = 3  # levels of a workspace, such as src/franka_ros/franka_description
PLAIN = re.compile(r"[A-Za-z0-9_][A-Za-z0-9_.+-]*")
WAYS = (
    "Install the package (ROS packages are found through ROS_PACKAGE_PATH and AMENT_PREFIX_PATH, those of pip such as "
    "example-robot-data as they are), put it beside the model, or name its folder: --folder DIR."
)


def installed(name: str) -> list[Path]:
    """Folders that an installed package of this name may be, those that exist, in the order in which they count.

    Args:
        name: of the package, as a model file names it.

    Returns:
        The folders, none for a name that is no plain word.
    """
    if not PLAIN.fullmatch(name):
        return []
    return [home for home in dict.fromkeys(_candidates(name)) if _is_folder(home)]


def declared_name(folder: Path) -> str | None:
    """The name that a package gives itself, whatever its folder is called.

    Args:
        folder: of the package.

    Returns:
        What its package.xml says; None where it has none.
    """
    manifest = folder / MANIFESTS[0]
    try:
        if not manifest.is_file():
            return None
        with manifest.open(encoding="utf-8", errors="replace") as file:
            found = re.search(r"<name>\s*([^<>\s]+)\s*</name>", file.read(MANIFEST_BYTES))
    except (OSError, ValueError):
        return None
    return found and found[1]


def _candidates(name: str) -> Iterator[Path]:
    for workspace in _listed(WORKSPACES):
        if workspace.name == name:
            yield workspace
        yield from _below(workspace, name)
    for prefix in _listed(PREFIXES):
        yield prefix / "share" / name
    for site in map(Path, sys.path):
        if site.name in ("site-packages", "dist-packages"):
            yield site / "cmeel.prefix" / "share" / name  # packages of pip that cmake built, as pinocchio's are
            yield site / name
    yield Path(sys.prefix) / "share" / name
    yield from _below(_cache(), name)


def _below(folder: Path, name: str) -> Iterator[Path]:
    """Folders of a name: below a folder itself, further down those that are packages or of a checked-out repository."""
    yield folder / name
    for depth in range(1, DEPTH):
        try:
            deeper = sorted(folder.glob("*/" * depth + name))
        except OSError:
            return
        yield from (each for each in deeper if any((each / marker).is_file() for marker in MANIFESTS))


def _listed(variables: tuple[str, ...]) -> Iterator[Path]:
    for variable in variables:
        named = map(Path, os.environ.get(variable, "").split(os.pathsep))
        yield from (each for each in named if each.is_absolute())


def _cache() -> Path:
    """Where robot_descriptions keeps the repositories that it fetched."""
    home = os.path.expanduser("~")  # noqa: PTH111  Path's raises where there is no home
    return Path(os.environ.get("ROBOT_DESCRIPTIONS_CACHE") or f"{home}/.cache/robot_descriptions")


def _is_folder(path: Path) -> bool:
    try:
        return path.is_dir()
    except OSError:
        return False
