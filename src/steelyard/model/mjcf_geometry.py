"""Geometry of links as geoms of MJCF, and what MuJoCo takes for a mesh."""

from collections.abc import Iterator, Mapping
from pathlib import Path

import numpy as np

from steelyard.inertia.rotation import to_quaternion
from steelyard.model.changes import unused
from steelyard.model.meshes import Piece
from steelyard.model.references import Relocation
from steelyard.model.xml_edit import NewElement, number_text

MESHES = (".stl", ".obj", ".msh")
# shown and touched geoms, as collections of MuJoCo's models have them; a shell may be open or flat
DEFAULTS = (
    NewElement(
        "default",
        {},
        (
            NewElement("mesh", {"inertia": "shell"}),
            NewElement(
                "default",
                {"class": "visual"},
                (NewElement("geom", {"group": "2", "contype": "0", "conaffinity": "0"}),),
            ),
            NewElement("default", {"class": "collision"}, (NewElement("geom", {"group": "3"}),)),
        ),
    ),
)
PROBE = (
    '<mujoco><asset><mesh name="m" file="{file}" inertia="shell"/></asset>'
    '<worldbody><geom type="mesh" mesh="m"{untouched}/></worldbody></mujoco>'
)
UNTOUCHED = ' contype="0" conaffinity="0"'


def mesh_problem(name: str, content: bytes, role: str) -> str:
    """As of `Shapes.problem`: MuJoCo itself is asked, as its rules are many."""
    import mujoco

    from steelyard.model.mjcf_compile import captured_warnings

    suffix = Path(name).suffix.lower()
    if suffix not in MESHES:
        return f"MuJoCo does not read {suffix} files"
    file = f"mesh{suffix}"
    text = PROBE.format(file=file, untouched=UNTOUCHED if role == "visual" else "")
    try:
        with captured_warnings():
            m = mujoco.MjModel.from_xml_string(text, {file: content})
    except (ValueError, RuntimeError) as error:
        said, _, _ = str(error).removeprefix("Error: ").partition("Element name")
        return "MuJoCo: " + " ".join(said.split())
    lost = _triangles_in_groups(content) - int(m.mesh_facenum[0]) if suffix == ".obj" else 0
    return f"MuJoCo leaves out {lost} triangles that are in groups" if lost > 0 else ""


def _triangles_in_groups(content: bytes) -> int:
    """Number of triangles of an OBJ file with several groups, of which MuJoCo (4.0) reads one; 0 of any other."""
    words = [line.split() for line in content.splitlines() if line[:1] in b"fgou"]
    groups = sum(line[:1] in ([b"g"], [b"o"], [b"usemtl"]) for line in words)
    return sum(len(line) - 3 for line in words if line[:1] == [b"f"]) if groups > 1 else 0


def overlapping(text: bytes, folder: Path) -> list[tuple[str, str]]:
    """Pairs of bodies whose geoms overlap where every joint is at zero, or at the limit nearest to it.

    Args:
        text: of an MJCF file.
        folder: where it is.

    Returns:
        Names of the bodies; none of a file that does not compile.
    """
    import mujoco

    from steelyard.model.mjcf_compile import captured_warnings

    try:
        with captured_warnings():
            spec = mujoco.MjSpec.from_string(text.decode())
            spec.modelfiledir = str(folder)
            m = spec.compile()
            d = mujoco.MjData(m)
            limited = np.flatnonzero(m.jnt_limited & (m.jnt_type >= int(mujoco.mjtJoint.mjJNT_SLIDE)))
            for joint in limited:
                at = m.jnt_qposadr[joint]
                d.qpos[at] = np.clip(d.qpos[at], *m.jnt_range[joint])
            mujoco.mj_kinematics(m, d)
            mujoco.mj_comPos(m, d)
            mujoco.mj_collision(m, d)
    except (ValueError, RuntimeError):  # reading it back says why
        return []
    deep = [sorted(m.geom_bodyid[[each.geom1, each.geom2]].tolist()) for each in d.contact if each.dist < 0]
    return [(m.body(a).name, m.body(b).name) for a, b in dict.fromkeys(map(tuple, deep))]


class Geometry:
    """Geoms of links, and the meshes that they name.

    assets: `<mesh>` elements.
    """

    def __init__(self, target: Path, pieces: Mapping[str, list[Piece]]):
        """target: the file. pieces: of links."""
        self.assets: list[NewElement] = []
        self._geoms: dict[str, list[NewElement]] = {}
        self._solid: set[str] = set()
        self._names: dict[tuple, str] = {}
        self._here = Relocation(target.parent, target.parent)
        for link, each in pieces.items():
            self._geoms[link] = [self._geom(piece) for piece in each]
            if any(piece.role == "collision" for piece in each):
                self._solid.add(link)

    def of(self, link: str) -> list[NewElement]:
        """Geoms of a link."""
        return self._geoms.get(link, [])

    @property
    def solids(self) -> int:
        """Number of links with geoms that touch others."""
        return len(self._solid)

    def touches(self, link: str) -> bool:
        """Whether a link has geoms that touch others."""
        return link in self._solid

    def _geom(self, piece: Piece) -> NewElement:
        attributes = {"class": piece.role} | dict(self._shape(piece))
        if piece.position.any():
            attributes["pos"] = number_text(piece.position)
        if not np.array_equal(piece.rotation, np.eye(3)):
            attributes["quat"] = number_text(np.roll(to_quaternion(piece.rotation), 1))
        if piece.color is not None:
            attributes["rgba"] = number_text(piece.color)
        return NewElement("geom", attributes)

    def _shape(self, piece: Piece) -> Iterator[tuple[str, str]]:
        if piece.solid is None:
            yield from (("type", "mesh"), ("mesh", self._mesh(piece)))
            return
        kind, sizes = piece.solid
        yield "type", kind
        match kind:
            case "box":
                sizes = tuple(size / 2 for size in sizes)
            case "cylinder" | "capsule":
                sizes = (sizes[0], sizes[1] / 2)
        yield "size", number_text(sizes)

    def _mesh(self, piece: Piece) -> str:
        """Name of the `<mesh>` of a file and scale, made where it is new."""
        assert piece.file is not None and piece.file.path is not None and piece.scale is not None  # of `shape_output`
        file = self._here.seen(piece.file.path)
        key = (file, *piece.scale)
        if key not in self._names:
            self._names[key] = unused(piece.file.path.stem, self._names.values())
            attributes = {"name": self._names[key], "file": file}
            if not np.array_equal(piece.scale, np.ones(3)):
                attributes["scale"] = number_text(piece.scale)
            self.assets.append(NewElement("mesh", attributes))
        return self._names[key]
