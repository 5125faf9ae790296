"""Geometry of a new model file: primitives that its format states, and mesh files that its readers take.

A mesh stays the file that it is where that can be read from the new place. All others become OBJ files in a folder
beside the model, in metres, one for each colour.
"""

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field, replace
from pathlib import Path

import numpy as np

from steelyard.errors import ModelError, choices
from steelyard.inertia import solids
from steelyard.inertia.hull import hull_of
from steelyard.model.meshes import Piece
from steelyard.model.references import Resolved, allowed_folders, around, is_inside

MOST_COLORS = 16  # of a mesh that is divided by them; one with more is painted, and gets their mean
ROUND = 33, 64  # latitudes and meridians of an ellipsoid, poles and quarters among them: its extents are exact
COLORED = (".obj", ".dae", ".ply", ".glb", ".gltf", ".3mf")  # mesh files that may state colours


@dataclass(frozen=True)
class Shapes:
    """What of geometry a format states.

    problem: why its readers do not take a mesh file, of its name, content and role; empty where they do.
    """

    solids: tuple[str, ...]  # kinds of primitives
    problem: Callable[[str, bytes, str], str]
    colored: bool = True  # whether they see colours that a mesh file states
    flat: bool = True  # whether they take pieces that are `Piece.flat`


def suffix_problem(suffixes: tuple[str, ...], title: str, name: str, content: bytes, role: str) -> str:
    """As of `Shapes.problem`, of a format whose readers share these kinds of files."""
    suffix = Path(name).suffix.lower()
    return "" if suffix in suffixes else f"{suffix} files are not read by all readers of {title}"


@dataclass(frozen=True, eq=False)
class Output:
    """Geometry as a format states it.

    pieces: of links; of a mesh that is written the `name` is that of its file, and it has no `file` yet.
    """

    pieces: tuple[Piece, ...]
    files: dict[str, bytes]  # content by name
    notes: tuple[str, ...]  # what is written otherwise, and what is lost

    def in_folder(self, folder: Path) -> tuple[Piece, ...]:
        """The pieces, with written meshes in a folder."""
        return tuple(
            replace(each, file=Resolved(folder / each.name)) if each.name in self.files and each.file is None else each
            for each in self.pieces
        )


def output(pieces: Iterable[Piece], shapes: Shapes | None, target: Path) -> Output:
    """Geometry of the file that the robot was read from for a new file `target`; shapes: of the new format, None where
    it takes pieces as they are. Its notes name links whose geometry could not be kept."""
    if shapes is None:
        return Output(tuple(pieces), {}, ())
    made = _WrittenPieces(shapes, (*allowed_folders(target), *filter(None, [around(target)])))
    kept = tuple(new for piece in pieces for new in made.stated(piece))
    return Output(kept, made.files, tuple(made.notes()))


@dataclass(eq=False)
class _WrittenPieces:
    """What became of pieces so far. folders: where files may lie that the new file names."""

    shapes: Shapes
    folders: tuple[Path, ...]
    files: dict[str, bytes] = field(default_factory=dict)
    _known: dict[tuple, tuple[Piece, ...]] = field(default_factory=dict)
    _problems: dict[str, dict[str, None]] = field(default_factory=dict)  # what is said -> links

    def stated(self, piece: Piece) -> tuple[Piece, ...]:
        """The pieces that stand for one in the format; none where it is lost, which the notes say."""
        if not piece.role and not piece.problem:
            return self._lost(piece, "Geometry that is neither shown nor touched")
        if piece.flat and not self.shapes.flat:
            return self._lost(piece, "Geometry with a size of zero")
        if piece.solid is not None and piece.solid[0] in self.shapes.solids:
            return (piece,)
        if piece.solid is not None and piece.solid[0] == "capsule":
            return self._capsule(piece)
        key = (*piece.key, piece.role, piece.color is None)
        if piece.problem or key not in self._known:
            try:
                self._known[key] = self._mesh(piece)
            except ModelError as error:
                return self._lost(piece, f"Geometry ({str(error).rstrip('.')})")
        return tuple(
            replace(
                each, link=piece.link, rotation=piece.rotation, position=piece.position, color=piece.color or each.color
            )
            for each in self._known[key]
        )

    def notes(self) -> Iterator[str]:
        for what, links in self._problems.items():
            yield f"{what} is not in the new file: that of {choices(links)}."

    def _lost(self, piece: Piece, what: str) -> tuple[()]:
        self._problems.setdefault(what, {})[f"'{piece.link}'"] = None
        return ()

    def _capsule(self, piece: Piece) -> tuple[Piece, ...]:
        """A cylinder between two spheres: the same points."""
        assert piece.solid is not None
        radius, length = piece.solid[1]
        ends = (replace(piece, solid=("sphere", (radius,)), position=piece.position + piece.rotation[:, 2] * z)
                for z in (-length / 2, length / 2))  # fmt: skip
        return (replace(piece, solid=("cylinder", (radius, length))), *ends)

    def _mesh(self, piece: Piece) -> tuple[Piece, ...]:
        """A mesh as files that are read. Raises ModelError where there is none."""
        if piece.solid is None and piece.file is not None and piece.file.path is not None:
            kept = self._as_it_is(piece, piece.file.path)
            if kept is not None:
                return (kept,)
        vertices, faces, colors = _surface(piece)
        parts = [(faces, None)] if piece.color is not None or piece.role != "visual" else _by_color(faces, colors)
        made = []
        for part, color in parts:
            content = obj_text(vertices, part)
            name = self._named(piece, content)
            made.append(
                replace(
                    piece,
                    solid=None,
                    vertices=None,
                    faces=None,
                    file=None,
                    name=name,
                    key=(name, piece.role),
                    scale=np.ones(3),
                    color=color,
                )
            )
        return tuple(made)

    def _as_it_is(self, piece: Piece, path: Path) -> Piece | None:
        """The piece with the file that it has, where that can be read from the new place and keeps its colours."""
        if not is_inside(self.folders, path):
            return None
        try:
            content = path.read_bytes()
        except OSError:
            return None
        if self.shapes.problem(path.name, content, piece.role):
            return None
        suffix = path.suffix.lower()
        colored = b"mtllib" in content if suffix == ".obj" else suffix in COLORED
        if piece.role != "visual" or piece.color is not None or self.shapes.colored or not colored:
            return piece
        _, faces, colors = piece.colored_mesh()
        assert faces is not None  # of a file
        parts = _by_color(faces, colors)
        return replace(piece, color=parts[0][1]) if len(parts) == 1 else None

    def _named(self, piece: Piece, content: bytes) -> str:
        """Name of the file with a content, put among the files. Raises ModelError for one that is not read."""
        given = Path(piece.name or str(piece.key[0])).stem.removeprefix("mesh ")
        # signs that no system or URI takes for something else
        plain = "".join(each if each.isalnum() or each in "-_." else "_" for each in given)
        stem = plain.lstrip(".")[:80] or "mesh"
        number, name = 1, f"{stem}.obj"
        while self.files.get(name, content) != content:
            number += 1
            name = f"{stem}_{number}.obj"
        if name not in self.files:
            if problem := self.shapes.problem(name, content, piece.role):
                raise ModelError(problem)
            self.files[name] = content
        return name


def _surface(piece: Piece) -> tuple[np.ndarray, np.ndarray, np.ndarray | None]:
    """Vertices (n, 3) m, faces (f, 3) and their colours (f, 4) or None. Raises ModelError for what has none."""
    if piece.solid is not None and piece.solid[0] == "ellipsoid":
        vertices, faces = solids.round_surface(piece.solid[1], *ROUND)
        return vertices, faces, None
    vertices, faces, colors = piece.colored_mesh()
    if faces is None:
        hull = hull_of(vertices)
        if hull is None:
            raise ModelError("a hull without volume")
        faces = hull.faces
    if not np.isfinite(vertices).all():
        raise ModelError("a mesh with coordinates that are not finite")
    return vertices, faces, colors


def _by_color(faces, colors) -> list[tuple[np.ndarray, tuple[float, ...] | None]]:
    """Faces (f, 3) of each colour; all with their mean where there are many. colors: (f, 4) bytes or None."""
    if colors is None:
        return [(faces, None)]
    found, of = np.unique(colors, axis=0, return_inverse=True)
    if len(found) > MOST_COLORS:
        return [(faces, _shade(colors.mean(axis=0)))]
    return [(faces[of.ravel() == i], _shade(color)) for i, color in enumerate(found)]


def _shade(color) -> tuple[float, ...]:
    return tuple(round(float(each) / 255, 4) for each in color)


def obj_text(vertices, faces) -> bytes:
    """Content of an OBJ file, in the nine digits of single precision. vertices: (n, 3), m; faces: (f, 3), of which
    vertices that no face has are left out."""
    used, at = np.unique(faces, return_inverse=True)
    corners = "".join(f"v {x:.9g} {y:.9g} {z:.9g}\n" for x, y, z in vertices[used].tolist())
    return (corners + "".join(f"f {a} {b} {c}\n" for a, b, c in (at.reshape(-1, 3) + 1).tolist())).encode()
