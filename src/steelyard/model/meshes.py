"""Mesh files of a model, each read once; what is wrong with one is a fault, not an error."""

import os
import warnings
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np

from steelyard.errors import InertiaError
from steelyard.inertia import mesh_files
from steelyard.model.references import Resolved, resolve

MAX_MESH_BYTES = 128 * 2**20
# formats trimesh reads in part, or with further packages only: a failure is not the model's
OPTIONAL = (".dae", ".3mf", ".gltf", ".glb", ".msh", ".usd", ".usda", ".usdz")


@dataclass(eq=False)
class Meshes:
    """Meshes named by one model, whose relative paths start at its folder. folders: where meshes may lie, as of
    `references.reach`."""

    folder: Path
    folders: tuple[Path, ...]
    _read: dict[Path, tuple[np.ndarray, np.ndarray] | Resolved] = field(default_factory=dict)

    def find(self, text: str, starts: list[Path] | None = None) -> Resolved:
        """Where a file of that name is; see `references.resolve`."""
        return resolve(text, starts or [self.folder], self.folders)

    def load(self, text: str, limit: int = MAX_MESH_BYTES) -> tuple[np.ndarray, np.ndarray] | Resolved | None:
        """Vertices (n, 3) in file units and faces (f, 3), or what is wrong; None for more bytes than `limit`."""
        found = self.find(text)
        if found.path is None:
            return found
        if limit < found.path.stat().st_size <= MAX_MESH_BYTES:
            return None
        if found.path not in self._read:
            self._read[found.path] = read_mesh(found.path, text)
        return self._read[found.path]


def read_mesh(path: Path, text: str) -> tuple[np.ndarray, np.ndarray] | Resolved:
    """Vertices (n, 3) in file units and faces (f, 3) of a mesh file, or what is wrong. text: how it is called."""
    return _guarded(path, text, mesh_files.load)


def read_colored(path: Path, text: str) -> tuple[np.ndarray, np.ndarray, np.ndarray | None] | Resolved:
    """The same, and colours (f, 4) of the faces where the file has any."""
    return _guarded(path, text, mesh_files.load_colored)


def _guarded(path: Path, text: str, load):
    try:
        if path.stat().st_size > MAX_MESH_BYTES:
            size = f"{path.stat().st_size / 2**20:.0f} MB"
            return Resolved(
                None, "unreadable", f"'{text[:120]}' has {size}; meshes up to {MAX_MESH_BYTES // 2**20} MB are read."
            )
        if not os.access(path, os.R_OK):
            return Resolved(None, "unreadable", f"'{text[:120]}' may not be read (permission denied).")
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # textures and materials do not matter here
            found = load(path)
    except InertiaError as error:
        if path.suffix.lower() in OPTIONAL and path.stat().st_size:
            said = f"'{text[:120]}' was not read: {path.suffix} is not fully supported here."
            return Resolved(None, "unchecked", said)
        return Resolved(None, "unreadable", f"'{text[:120]}': {error}.")
    if not np.isfinite(found[0]).all():
        return Resolved(None, "unreadable", f"'{text[:120]}' holds coordinates that are not finite.")
    return found
