"""Geometry that a model file names: pieces of links, and mesh files, each read once."""

import os
import warnings
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np

from steelyard.errors import InertiaError, ModelError, OptionError
from steelyard.inertia import mesh, mesh_files, solids
from steelyard.inertia.mesh_files import MOST_BYTES
from steelyard.model.references import Resolved, resolve

PICTURE = 4 * 2**20  # bytes of a mesh, above which it is left out where collision geometry stands for it

# formats trimesh reads in part, or with further packages only: a failure is not the model's
OPTIONAL = (".dae", ".3mf", ".gltf", ".glb", ".msh", ".usd", ".usda", ".usdz")


@dataclass(frozen=True, eq=False)
class Piece:
    """A piece of geometry of a link, as the model file names it; a mesh file is not read yet.

    role: "collision", "visual", or empty for what is neither shown nor touched. rotation (3, 3), position (3,): its
    pose in the link's frame. solid: of a primitive, its kind and sizes, as of `inertia.solids.SIZES`. vertices: (n, 3)
    m in its own frame and faces: (f, 3), None where the hull is meant; or file: a mesh.
    """

    link: str
    role: str
    rotation: np.ndarray = field(default_factory=lambda: np.eye(3))
    position: np.ndarray = field(default_factory=lambda: np.zeros(3))
    key: tuple = ()  # equal for equal geometry
    solid: tuple[str, tuple[float, ...]] | None = None
    vertices: np.ndarray | None = None
    faces: np.ndarray | None = None
    file: Resolved | None = None
    name: str = ""  # what the model calls it
    scale: np.ndarray | None = None  # (3,) of its coordinates
    color: tuple[float, ...] | None = None  # red, green, blue, opacity from 0 to 1
    problem: str = ""  # why nothing else is known of it

    @property
    def flat(self) -> bool:
        """Whether a solid has a size of zero, or a mesh is scaled to a line or a point."""
        sizes = self.scale if self.solid is None else self.solid[1]
        return sizes is not None and bool(np.count_nonzero(sizes) < (2 if self.solid is None else len(sizes)))

    def colored_mesh(self) -> tuple[np.ndarray, np.ndarray | None, np.ndarray | None]:
        """Vertices (n, 3) m, faces (f, 3) or None, and colours (f, 4) of the faces or None.

        Raises ModelError for geometry that is not known.
        """
        if self.problem:
            raise ModelError(self.problem)
        if self.file is None:
            assert self.vertices is not None
            return self.vertices, self.faces, None
        if self.file.path is None:
            raise ModelError(self.file.message)
        assert self.scale is not None
        mesh = _guarded(self.file.path, self.name, mesh_files.load_colored)
        if isinstance(mesh, Resolved):
            raise ModelError(mesh.message)
        vertices, faces, colors = mesh
        return vertices * self.scale, faces[:, ::-1] if np.prod(self.scale) < 0 else faces, colors


@dataclass(eq=False)
class Meshes:
    """Meshes named by one model, whose relative paths start at its folder."""

    folder: Path
    folders: tuple[Path, ...]  # where meshes may lie, as of `allowed_folders`
    _read: dict[Path, tuple[np.ndarray, np.ndarray] | Resolved] = field(default_factory=dict)

    def find(self, text: str, starts: list[Path] | None = None) -> Resolved:
        """Where a file of that name is; see `references.resolve`."""
        return resolve(text, starts or [self.folder], self.folders)

    def triangles(self, piece: Piece, limit: int = MOST_BYTES):
        """Vertices (n, 3) m of a piece in its own frame and faces (f, 3) or None; or what is wrong with its file; None
        for more bytes than `limit`."""
        if piece.vertices is not None:
            if piece.solid is None:
                return piece.vertices, None
            kind = piece.solid[0]
            return piece.vertices, solids.faces_of_urdf("sphere" if kind == "ellipsoid" else kind)
        found = piece.file or self.find(piece.name)
        if not limit or found.path is None or limit < found.path.stat().st_size <= MOST_BYTES:
            return found if limit and found.path is None else None
        if found.path not in self._read:
            self._read[found.path] = read_mesh(found.path, piece.name)
        loaded = self._read[found.path]
        if isinstance(loaded, Resolved):
            return loaded
        assert piece.scale is not None
        return loaded[0] * piece.scale, loaded[1] if np.prod(piece.scale) > 0 else loaded[1][:, ::-1]

    def filled(self, piece: Piece, density: float) -> np.ndarray | str:
        """(10,) inertial parameters of a piece in its own frame, or why there are none. density: kg/m^3."""
        if piece.problem:
            return piece.problem
        if piece.vertices is not None:
            return solids.filled(piece.key[0], piece.key[1:], density)
        found = self.triangles(piece)
        if found is None or isinstance(found, Resolved):
            return f"'{piece.name[:80]}' was not read" if found is None else found.message.rstrip(".")
        try:
            return mesh.parameters(*found, density=density)
        except InertiaError as error:
            return f"'{piece.name[:80]}': {error}".rstrip(".")


def read_mesh(path: Path, text: str) -> tuple[np.ndarray, np.ndarray] | Resolved:
    """Vertices (n, 3) in file units and faces (f, 3) of a mesh file, or what is wrong. text: how it is called."""
    return _guarded(path, text, mesh_files.load)


def _guarded(path: Path, text: str, load):
    try:
        if path.stat().st_size > MOST_BYTES:
            size = f"{path.stat().st_size / 2**20:.0f} MB"
            return Resolved(
                None, "unreadable", f"'{text[:120]}' has {size}; meshes up to {MOST_BYTES // 2**20} MB are read."
            )
        if not os.access(path, os.R_OK):
            return Resolved(None, "unreadable", f"'{text[:120]}' may not be read (permission denied).")
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # textures and materials do not matter here
            found = load(path)
    except OptionError as error:  # the library for meshes is not installed: no fault of the file
        return Resolved(None, "unchecked", f"'{text[:120]}' was not read: {error}")
    except InertiaError as error:
        if path.suffix.lower() in OPTIONAL and path.stat().st_size:
            said = f"'{text[:120]}' was not read: {path.suffix} is not fully supported here."
            return Resolved(None, "unchecked", said)
        return Resolved(None, "unreadable", f"'{text[:120]}': {error}.")
    if not np.isfinite(found[0]).all():
        return Resolved(None, "unreadable", f"'{text[:120]}' holds coordinates that are not finite.")
    return found
