"""What a walking robot touches: the floor and the geoms of its own file, with their contact parameters."""

from collections.abc import Collection, Mapping
from dataclasses import dataclass, field
from functools import lru_cache
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np

from steelyard.errors import ModelError
from steelyard.model import Robot, load, save
from steelyard.model.formats import document_of
from steelyard.model.mjcf import MjcfDocument
from steelyard.model.mjcf_compile import body_name, compiled_rotation
from steelyard.model.robot import WORLD
from steelyard.spatial import quaternion_of

ALIKE = ["contype", "conaffinity", "condim", "priority", "friction", "solmix", "solref", "solimp", "margin", "gap"]
OPTIONS = (
    "cone impratio o_margin o_solref o_solimp o_friction enableflags disableflags solver iterations tolerance "
    "noslip_iterations noslip_tolerance ccd_iterations ccd_tolerance jacobian"
)
CENTERED = 0.2  # of their radius, by which spheres of feet may be off their frame, or unlike
NO_FILE = "Robot '{}' has no file whose geometry could touch the ground. Read it from a file to let it walk."
FLOOR = "The file has no ground: a plane at z = 0 of the world is added, with MuJoCo's friction of 1."


@dataclass(frozen=True)
class Ground:
    """What was added to a model. centers: (3,) of mass of links that are fixed to others, by name: the softness of
    their contacts follows from them; their mass is that of the others."""

    options: Mapping[str, Any] = field(default_factory=dict)  # of the file, by name
    centers: Mapping[str, np.ndarray] = field(default_factory=dict)
    notes: tuple[str, ...] = ()  # in words

    def settle(self, m: Any) -> None:
        """Set in the compiled model what its text has no place for."""
        for name, value in self.options.items():
            setattr(m.opt, name, value)
        for name, center in self.centers.items():
            m.body_ipos[m.body(name).id] = center


def with_ground(spec: Any, robot: Robot) -> Ground:
    """Add to the MjSpec of a robot's moving bodies what they touch with, and the ground. Raises ModelError: nothing
    can."""
    import mujoco

    if robot.source is None:
        raise ModelError(NO_FILE.format(robot.name))
    m, links = _compiled(robot)
    bodies = {body.name: body for body in spec.bodies}
    made: dict[int, Any] = {}
    centers = {}
    for geom in range(m.ngeom):
        paired = geom in m.pair_geom1 or geom in m.pair_geom2
        if m.geom_contype[geom] or m.geom_conaffinity[geom] or paired:
            link = links[body_name(m, int(m.geom_bodyid[geom]))]
            if link.body != WORLD and link.name not in bodies:
                on, quaternion = bodies[robot.body_names[link.body]], np.roll(quaternion_of(link.rotation), 1)
                bodies[link.name] = on.add_body(name=link.name, pos=link.position, quat=quaternion)
                centers[link.name] = m.body_ipos[m.geom_bodyid[geom]].copy()
            made[geom] = _geom(spec, spec.worldbody if link.body == WORLD else bodies[link.name], m, geom, link)
    floor = [each for each in made.values() if each.parent.name == "world"]
    if robot.floor is not None:
        highest = max(each.priority for each in made.values())
        for each in floor:
            for key in ("friction", "solref", "solimp", "condim"):
                setattr(each, key, getattr(robot.floor, key))
            each.priority = highest + 1
    if len(made) == len(floor):
        raise ModelError(
            f"Robot '{robot.name}' has no geometry that can touch the ground. Give its feet collision geometry, such "
            "as a sphere each, in the model file."
        )
    for k in range(m.npair):
        ends = [made[int(each[k])].name for each in (m.pair_geom1, m.pair_geom2)]
        pair = spec.add_pair(geomname1=ends[0], geomname2=ends[1], condim=int(m.pair_dim[k]))
        for key in ("solref", "solreffriction", "solimp", "margin", "gap", "friction"):
            setattr(pair, key, getattr(m, f"pair_{key}")[k])
    for one, other in {tuple(sorted((each >> 16, each & 0xFFFF))) for each in m.exclude_signature.tolist()}:
        ends = [links[body_name(m, each)] for each in (one, other)]
        names = ["world" if each.body == WORLD else each.name for each in ends]
        if all(name in bodies for name in names):
            spec.add_exclude(bodyname1=names[0], bodyname2=names[1])
    if not floor:
        spec.worldbody.add_geom(name="ground", type=mujoco.mjtGeom.mjGEOM_PLANE, size=[0, 0, 1])
    options = {name: getattr(m.opt, name) for name in OPTIONS.split()}
    return Ground(options, centers, () if floor else (FLOOR,))


def radius_of_feet(robot: Robot, frames: Collection[str]) -> float:
    """Radius, m, of the spheres about frames of feet; 0 where feet are not round, or not all alike."""
    import mujoco

    if robot.source is None:
        return 0.0
    m, links = _compiled(robot)
    found: dict[str, float] = {}
    for geom in np.flatnonzero(
        (m.geom_type == mujoco.mjtGeom.mjGEOM_SPHERE) & (m.geom_contype | m.geom_conaffinity > 0)
    ):
        link = links[body_name(m, int(m.geom_bodyid[geom]))]
        center = link.position + link.rotation @ m.geom_pos[geom]
        for name in frames:
            frame = robot.frame(name)
            if frame.body == link.body and np.linalg.norm(frame.position - center) < CENTERED * m.geom_size[geom, 0]:
                found[name] = float(m.geom_size[geom, 0])
    radii = list(found.values())
    alike = len(radii) == len(frames) > 0 and np.allclose(radii, radii[0], rtol=CENTERED)
    return radii[0] if alike else 0.0


@dataclass(frozen=True, eq=False)
class _Loaded:
    """A robot, equal to all others that were read at the same time."""

    robot: Robot

    def __eq__(self, other: object) -> bool:
        return isinstance(other, _Loaded) and self.robot.source is other.robot.source

    def __hash__(self) -> int:
        return id(self.robot.source)


def _compiled(robot: Robot) -> tuple[Any, dict]:
    """MuJoCo's model of what a robot was read from, and its links by name."""
    return _converted(_Loaded(robot))


@lru_cache(maxsize=2)
def _converted(read: _Loaded) -> tuple[Any, dict]:
    robot = read.robot
    document = document_of(robot)
    if isinstance(document, MjcfDocument):
        return document.compiled[0], {link.name: link for link in robot.links}
    with TemporaryDirectory() as folder:
        written = load(save(robot, Path(folder) / "robot.xml").path)
        found = document_of(written)
        assert isinstance(found, MjcfDocument)
        return found.compiled[0], {link.name: link for link in written.links}


def _geom(spec: Any, body: Any, m: Any, geom: int, link: Any) -> Any:
    import mujoco

    kinds = mujoco.mjtGeom
    kind, data, name = kinds(int(m.geom_type[geom])), int(m.geom_dataid[geom]), f"geom {geom}"
    more: dict[str, Any] = {}
    if kind == kinds.mjGEOM_MESH:
        first, count = m.mesh_vertadr[data], m.mesh_vertnum[data]
        spec.add_mesh(name=name, uservert=m.mesh_vert[first : first + count].ravel())
        more["meshname"] = name
    elif kind == kinds.mjGEOM_HFIELD:
        first, rows, columns = m.hfield_adr[data], m.hfield_nrow[data], m.hfield_ncol[data]
        heights = m.hfield_data[first : first + rows * columns]
        spec.add_hfield(name=name, size=m.hfield_size[data], nrow=rows, ncol=columns, userdata=heights)
        more["hfieldname"] = name
    position, R = m.geom_pos[geom], compiled_rotation(m.geom_quat[geom])
    if link.body == WORLD:
        position, R = link.position + link.rotation @ position, link.rotation @ R
    found = body.add_geom(
        name=name,
        type=kind,
        size=m.geom_size[geom],
        pos=position,
        quat=np.roll(quaternion_of(R), 1),
        mass=0.0,
        **more,
    )
    for key in ALIKE:
        setattr(found, key, getattr(m, f"geom_{key}")[geom])
    return found
