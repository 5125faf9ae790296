"""Files a model names: where they are, and whether they may be opened.

A model from elsewhere should not make programs open files of the user's. So a path is followed inside the model's own
folder, inside the package that this folder is a part of, inside packages that are installed, and inside folders that
the user names; nowhere else. A model without a package may name files in the folder around its own, as
`meshdir="../assets"` does, where this holds all that it names. Links are resolved first, so neither `..` nor a symbolic
link leads out; a file outside is reported and never opened.

Installed is what ROS, Gazebo, Python and robot_descriptions call so. A name in a file from elsewhere chooses among
these folders and never leaves them: it is one plain word, and each place is searched to a fixed depth.
"""

import os
import re
import sys
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from urllib.parse import unquote

from steelyard.errors import ModelError

MARKERS = ("package.xml", "model.config", ".git", "pyproject.toml", "setup.py", "manifest.xml")
PYTHON = "__init__.py"  # in every folder of a Python package down to its data
SCHEMES = ("package://", "model://")
INSTALLED = frozenset({"site-packages", "dist-packages"})  # of Python: what is in them is nobody's secret
ASSET_FOLDERS = ("meshdir", "texturedir", "assetdir")  # attributes of MuJoCo's <compiler> that name folders
HOMES = (*INSTALLED, "share")
WORKSPACES = ("ROS_PACKAGE_PATH", "GAZEBO_MODEL_PATH", "GZ_SIM_RESOURCE_PATH")  # folders of packages
PREFIXES = ("AMENT_PREFIX_PATH", "CMAKE_PREFIX_PATH")  # packages are in their share
MANIFESTS = ("package.xml", "manifest.xml")
MANIFEST_BYTES = 2**16
MOST_FILES = 1_000  # that a model names, and packages in a folder; the largest worlds of contests name some hundred
DEPTH = 3  # levels of a workspace, such as src/franka_ros/franka_description
PLAIN = re.compile(r"[A-Za-z0-9_][A-Za-z0-9_.+-]*")
WAYS = (
    "Install the package (ROS packages are found through ROS_PACKAGE_PATH and AMENT_PREFIX_PATH, those of pip such as "
    "example-robot-data as they are), put it beside the model, or name its folder: --folder DIR."
)


@dataclass(frozen=True)
class Resolved:
    """path: the file, when it may be opened. problem: else "missing", "unreadable", "outside" (of the package) or
    "unchecked" (nowhere to look), and message: that in words. cause: what it has in common with other files."""

    path: Path | None
    problem: str = ""
    message: str = ""
    cause: str = ""


def package_of(folder: Path) -> Path:
    """The package a folder belongs to: the nearest folder above with a package marker, else `folder` itself."""
    folder = Path(os.path.realpath(folder))
    found = next((each for each in (folder, *folder.parents) if _is_package(each)), folder)
    while (found / PYTHON).is_file() and (found.parent / PYTHON).is_file() and not _is_common(found.parent):
        found = found.parent
    return found


def around(model) -> Path | None:
    """The folder around a model's own, where a model without a package may name files: "../assets".

    None in a package, whose files are in it, and where that folder is one for everything.
    """
    own = Path(os.path.realpath(Path(model).parent))
    return None if _is_package(package_of(own)) or _is_common(own.parent) else own.parent


def allowed_folders(model, folders: Iterable[str | os.PathLike] = ()) -> tuple[Path, ...]:
    """Folders in which files that a model names may lie, links resolved: its package, its own folder in it, the package
    that an install of links was built from, and further ones that the user named. Raises ModelError for no folder."""
    own = Path(os.path.realpath(Path(model).parent))
    named = [Path(os.path.realpath(folder)) for folder in folders]
    for each in named:
        if not os.path.isdir(each):  # noqa: PTH112  False for names that cannot be
            raise ModelError(
                f"{str(each)[:200]}, given as a folder of files that {Path(model).name} names, is no folder."
            )
    home = package_of(own)
    return tuple(dict.fromkeys((home, own, *_built_from(home, os.path.realpath(model)), *named)))


def is_inside(folders: Iterable[Path], path) -> bool:
    """Whether a path, its links resolved, lies in one of the folders, or in a package that is installed for Python."""
    real = Path(os.path.realpath(path))
    return any(real.is_relative_to(folder) for folder in folders) or not INSTALLED.isdisjoint(real.parent.parts)


def remedy(path) -> str:
    """How to allow a file outside, in words."""
    folder = os.path.dirname(os.path.realpath(path))  # noqa: PTH120
    return f"If it belongs to the model, name its folder: --folder {folder} (folders=[{folder!r}])."


def left_behind(folders: Iterable[Path], target: Path) -> tuple[str, ...]:
    """What to say of a copy at `target` that names files in these folders: nothing where it may be read as it is."""
    own = (*allowed_folders(target), *filter(None, [around(target)]))
    lost = [folder for folder in folders if not is_inside(own, folder)]
    outer = [str(folder) for folder in lost if not any(folder.is_relative_to(each) for each in lost if each != folder)]
    if not outer:
        return ()
    options = " ".join(f"--folder {folder}" for folder in outer)
    return (f"Files that it names stay where they are, so it is read with {options} (folders={outer}).",)


def _is_package(folder: Path) -> bool:
    """Whether a folder is a package. A home folder and those above it are none, whatever is in them."""
    if _holds_home(folder):
        return False
    marked = any((folder / marker).exists() for marker in (*MARKERS, PYTHON))
    if marked or folder.parent.name in HOMES:
        return True
    # pip's `--target` may have any name, and has notes of what was installed in it
    return not _holds_home(folder.parent) and any(folder.parent.glob("*.dist-info"))


def _holds_home(folder: Path) -> bool:
    return Path(os.path.realpath(os.path.expanduser("~"))).is_relative_to(folder)  # noqa: PTH111


def _is_common(folder: Path) -> bool:
    """Whether a folder is one for everything: a home or above it, a drive, and what lies on it, such as /tmp."""
    return _holds_home(folder) or folder.parent == Path(folder.anchor)


def package_named(text: str) -> str | None:
    """The package that a URI such as package://NAME/... starts with; None for paths and other addresses."""
    if not text.startswith(SCHEMES):
        return None
    return unquote(text.split("://", 1)[1]).partition("/")[0]


def resolve(text: str, starts: list[Path], folders: tuple[Path, ...]) -> Resolved:
    """Find a file named in a model. text: as the model has it; starts: folders where relative paths start, in order;
    folders: where it may lie."""
    if text.startswith(SCHEMES):
        return _in_named_package(text, folders, starts[0])
    if "://" in text and not text.startswith("file://"):
        return Resolved(None, "unchecked", f"'{text[:120]}' is not a local file and was not checked.")
    name = Path(unquote(text.removeprefix("file://")) if text.startswith("file://") else text)
    if name.is_absolute():
        return _inside(name, folders, text)
    tried = [_inside(start / name, folders, text) for start in starts]
    return next((found for found in tried if found.path), tried[0])


def _in_named_package(text: str, folders: tuple[Path, ...], start: Path) -> Resolved:
    """A file of a package around the model or in one of the folders, else an installed one. A folder of that name
    counts where it is a package, holds the model, or lies in one of the folders: in "/", any folder would be one."""
    name, _, rest = unquote(text.split("://", 1)[1]).partition("/")
    if not name:
        return Resolved(None, "missing", f"'{text[:120]}' names no package before its third slash.")
    homes, folders = _homes(name, folders, start)
    for home in homes:
        found = _inside(home / rest, (Path(os.path.realpath(home)), *folders, *_built_from(home, rest)), text)
        if found.problem != "missing" or home in folders:
            return found
    if homes:
        return Resolved(None, "missing", f"'{text[:120]}' is not in package '{name}'.")
    cause = f"package '{name[:80]}' is neither beside the model nor installed"
    return Resolved(None, "unchecked", f"{cause}, so '{text[:120]}' was not checked.", cause)


def package_folder(name: str, folders: tuple[Path, ...], start: Path) -> Path | None:
    """The folder of a package that lies around the model or in one of the folders, else one that is installed, or
    None."""
    if not PLAIN.fullmatch(name):
        return None
    return next(iter(_homes(name, folders, start)[0]), None) or next(_renamed_beside(name, folders, start), None)


def _renamed_beside(name: str, folders: tuple[Path, ...], start: Path) -> Iterator[Path]:
    """Packages of this name beside the model's own, or in one of the folders, in a folder of another name."""
    around_package = package_of(start).parent
    for each in (*(() if _is_common(around_package) else (around_package,)), *folders):
        for manifest in islice(each.glob(f"*/{MANIFESTS[0]}"), MOST_FILES):
            if declared_name(manifest.parent) == name:
                yield manifest.parent


def _homes(name: str, folders: tuple[Path, ...], start: Path) -> tuple[list[Path], tuple[Path, ...]]:
    """Folders that a package of this name may be, and the folders without the one that is for plain paths."""
    here = Path(os.path.realpath(start))
    folders = folders[1:] if folders[:1] == (around(here / name),) else folders
    return [*_around_model(name, folders, here), *installed(name)], folders


def _around_model(name: str, folders: tuple[Path, ...], here: Path) -> list[Path]:
    user = Path(os.path.realpath(os.path.expanduser("~")))  # noqa: PTH111
    above = (here, *here.parents, *folders)
    beside = [home for each in above for home in (each, each / name) if home.name == name]
    renamed = [each for each in above if each.name != name and declared_name(each) == name]
    return [
        home
        for home in dict.fromkeys((*beside, *renamed))
        if home.is_dir()
        and not user.is_relative_to(home)
        and (_is_package(home) or is_inside(folders, home) or (here.is_relative_to(home) and not _is_common(home)))
    ]


def _built_from(home: Path, rest: str) -> tuple[Path, ...]:
    """The source folder of a package whose install is links to it, as colcon's --symlink-install makes."""
    source = package_of(Path(os.path.realpath(home / rest)).parent)
    return (source,) if declared_name(source) == home.name == declared_name(home) else ()


def _inside(path: Path, folders: tuple[Path, ...], text: str) -> Resolved:
    shown = text[:120]
    try:
        if not is_inside(folders, path):
            why = "is an absolute path outside" if Path(text).is_absolute() else "leaves"
            return Resolved(
                None, "outside", f"'{shown}' {why} the model's folder ({folders[0].name}); the file was not opened."
            )
        real = Path(os.path.realpath(path))
        if not real.exists():
            return Resolved(None, "missing", f"'{shown}' does not exist.")
        if not real.is_file():
            return Resolved(None, "unreadable", f"'{shown}' is not a regular file.")
    except (OSError, ValueError) as error:
        reason = getattr(error, "strerror", None) or str(error)
        return Resolved(None, "unreadable", f"'{shown}' cannot be looked up ({reason}).")
    return Resolved(real)


@dataclass(frozen=True)
class Relocation:
    """From one folder to another."""

    old: Path
    new: Path

    @property
    def stays(self) -> bool:
        return os.path.realpath(self.old) == os.path.realpath(self.new)

    def moved(self, text: str | None) -> str | None:
        """A relative path in the old folder as seen from the new one; None where it can stay (absolute, a URL, or
        nowhere)."""
        if not text or self.stays or "://" in text or Path(text).is_absolute() or not os.path.exists(self.old / text):  # noqa: PTH110
            return None
        seen = self.seen(self.old / text)
        return None if os.path.normpath(text) == os.path.normpath(seen) else seen

    def seen(self, path: Path) -> str:
        """A file as seen from the new folder: relative, or absolute where the two share no root."""
        # folders are resolved, so that `..` means the same to everyone; the name stays, even that of a symbolic link
        path = Path(os.path.realpath(path.parent)) / path.name
        try:
            return Path(os.path.relpath(path, os.path.realpath(self.new))).as_posix()
        except ValueError:  # on another drive
            return path.as_posix()


def installed(name: str) -> list[Path]:
    """Folders that an installed package of this name may be, those that exist, in the order in which they count; none
    for a name that is no plain word."""
    if not PLAIN.fullmatch(name):
        return []
    return [home for home in dict.fromkeys(_candidates(name)) if _is_folder(home)]


def declared_name(folder: Path) -> str | None:
    """The name that a package gives itself in its package.xml, whatever its folder is called; None for none."""
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
