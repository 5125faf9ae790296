"""Files a model names: where they are, and whether they may be opened.

A path is followed inside the model's package only. Links are resolved first, so neither `..` nor a symbolic link leads
out of it; a file outside is reported and never opened.
"""

import os
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import unquote

MARKERS = ("package.xml", ".git", "pyproject.toml", "setup.py", "manifest.xml")
SCHEMES = ("package://", "model://")
HOMES = ("site-packages", "dist-packages", "share")


@dataclass(frozen=True)
class Resolved:
    """path: the file, when it may be opened. problem: else "missing", "unreadable", "outside" (of the package) or
    "unchecked" (nowhere to look), and message: that in words. cause: what it has in common with other files."""

    path: Path | None
    problem: str = ""
    message: str = ""
    cause: str = ""


def package_of(folder: Path) -> Path:
    """The package a folder belongs to: the nearest folder above with a package marker, else the one above `folder`."""
    folder = Path(os.path.realpath(folder))
    for each in (folder, *folder.parents):
        if any((each / marker).exists() for marker in MARKERS) or each.parent.name in HOMES:
            return each
    return folder.parent if folder.parent != Path(folder.anchor) else folder


def package_named(text: str) -> str | None:
    """The package that a URI such as package://NAME/... starts with; None for paths and other addresses."""
    if not text.startswith(SCHEMES):
        return None
    return unquote(text.split("://", 1)[1]).partition("/")[0]


def resolve(text: str, folders: list[Path], package: Path) -> Resolved:
    """Find a file named in a model. folders: where relative paths start, in order; package: the model's own."""
    if text.startswith(SCHEMES):
        return _in_named_package(text, package, folders[0])
    if "://" in text and not text.startswith("file://"):
        return Resolved(None, "unchecked", f"'{text[:120]}' is not a local file and was not checked.")
    name = Path(unquote(text.removeprefix("file://")) if text.startswith("file://") else text)
    if name.is_absolute():
        return _inside(name, package, text, absolute=True)
    tried = [_inside(folder / name, package, text) for folder in folders]
    return next((found for found in tried if found.path), tried[0])


def _in_named_package(text: str, package: Path, folder: Path) -> Resolved:
    name, _, rest = unquote(text.split("://", 1)[1]).partition("/")
    here = Path(os.path.realpath(folder))
    if not name:
        return Resolved(None, "missing", f"'{text[:120]}' names no package before its third slash.")
    for above in (here, *here.parents):
        for home in (above, above / name):
            if home.name == name and home.is_dir() and (home == above or home != above.parent):
                found = _inside(home / rest, home, text)
                if found.problem != "missing" or home == package:
                    return found
    for above in (here, *here.parents):
        if above.name == name or (above / name).is_dir():
            return Resolved(None, "missing", f"'{text[:120]}' is not in package '{name}'.")
    cause = f"package '{name[:80]}' is not beside the model"
    return Resolved(None, "unchecked", f"{cause}, so '{text[:120]}' was not checked.", cause)


def _inside(path: Path, package: Path, text: str, *, absolute: bool = False) -> Resolved:
    shown = text[:120]
    try:
        real = Path(os.path.realpath(path))
        if not real.is_relative_to(os.path.realpath(package)):
            why = "is an absolute path outside" if absolute else "leaves"
            message = f"'{shown}' {why} the model's package ({package.name}); the file was not opened."
            return Resolved(None, "outside", message)
        if not real.exists():
            return Resolved(None, "missing", f"'{shown}' does not exist.")
        if not real.is_file():
            return Resolved(None, "unreadable", f"'{shown}' is not a regular file.")
    except (OSError, ValueError) as error:
        reason = getattr(error, "strerror", None) or str(error)
        return Resolved(None, "unreadable", f"'{shown}' cannot be looked up ({reason}).")
    return Resolved(real)
