"""Robots of strangers: vendors' files without friction, arms and limbed robots drawn at random, true links elsewhere.

Everything is text of a URDF and a model of Pinocchio; none of Steelyard's mechanics takes part.
"""

import sys
import xml.etree.ElementTree as ET
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path

import numpy as np
import pinocchio as pin

EXAMPLES = next(Path(place) for place in sys.path if (Path(place) / "cmeel.prefix/share/example-robot-data").is_dir())
EXAMPLES /= "cmeel.prefix/share/example-robot-data/robots"
LEG = [0.0, 0.8, -1.6]
VENDORS = {  # file, posture that motions are about (rad), joints that are held
    "ur5": ("ur_description/urdf/ur5_robot.urdf", [0, -1.3, 1.2, -1.4, -1.5, 0.2], ()),
    "panda": (
        "panda_description/urdf/panda.urdf",
        [0, -0.3, 0, -1.8, 0, 1.7, 0.7],
        ("panda_finger_joint1", "panda_finger_joint2"),
    ),
    "go2": ("go2_description/urdf/go2.urdf", 4 * LEG, ()),
    "ur10": ("ur_description/urdf/ur10_robot.urdf", [0, -1.2, 1.3, -1.5, -1.5, 0.2], ()),
    "z1": ("z1_description/urdf/z1.urdf", [0, 1.3, -1.4, 0.2, 0, 0], ("jointGripper",)),
    "xarm7": ("xarm_description/urdf/xarm7.urdf", [0, -0.4, 0, 1.0, 0, 0.9, 0], ()),
}
ROBOTS = ("ur5", "arm", "go2", "panda", "limbs", "ur10", "arm", "xarm7")
LIMBED = ("go2", "limbs")
WRONG_MASS, WRONG_CENTRE, WRONG_INERTIA = 0.15, 0.05, 0.2  # spread of logarithms, of the place as a share of its lever
AXES = ("0 0 1", "0 1 0", "0 1 0", "0 0 1", "0 1 0", "0 0 1", "0 1 0")


@dataclass(frozen=True, eq=False)
class Robot:
    """A robot as its owner has it and as it is. text: the URDF given; nominal, true: models of Pinocchio.

    home, reach: (n,) rad, middle and half width of motions. limbs: count of equal ones, 1 of an arm.
    lever: (n,) N m, weight that a joint can feel at most, by which friction is drawn.
    """

    name: str
    text: str
    nominal: pin.Model
    true: pin.Model
    home: np.ndarray
    reach: np.ndarray
    limbs: int

    @property
    def n(self) -> int:
        return self.nominal.nv

    @property
    def joints(self) -> list[str]:
        return list(self.nominal.names)[1:]

    @property
    def lever(self) -> np.ndarray:
        return _lever(self.true, self.home)


def drawn(rng, name: str, *, true: bool = False) -> Robot:
    """A robot of `ROBOTS`. true: whether the links of its file are those of the robot."""
    text, home, limbs = _file(rng, name)
    nominal = pin.buildModelFromXML(text)
    low, high = nominal.lowerPositionLimit, nominal.upperPositionLimit
    home = np.clip(home, low + 0.3, high - 0.3)
    reach = np.minimum(rng.uniform(0.5, 1.2, len(home)), 0.95 * np.minimum(home - low, high - home))
    return Robot(name, text, nominal, nominal if true else _changed(nominal, rng), home, reach, limbs)


def torques(model: pin.Model, q, v, a) -> np.ndarray:
    """(n, nv) joint torques of links alone."""
    data = model.createData()
    return np.array([pin.rnea(model, data, *each) for each in zip(q, v, a, strict=True)])


def loaded(model: pin.Model, joint: int, mass: float, at, radius: float = 0.05) -> pin.Model:
    """The same with a ball (kg, m) at a place (m) in the axes of a joint's link."""
    found = model.copy()
    found.inertias[joint] = found.inertias[joint] + pin.Inertia.FromSphere(mass, radius).se3Action(
        pin.SE3(np.eye(3), np.asarray(at))
    )
    return found


def tilted(model: pin.Model, angle: float, heading: float) -> pin.Model:
    """The same on a slope or wall (rad)."""
    found = model.copy()
    axis = np.array([np.cos(heading), np.sin(heading), 0.0])
    found.gravity.linear = pin.exp3(angle * axis) @ found.gravity.linear
    return found


def tip(model: pin.Model, joint: int) -> np.ndarray:
    """Where a joint's link ends (m, its axes): twice its centre of mass."""
    return 2 * model.inertias[joint].lever


def _file(rng, name: str) -> tuple[str, np.ndarray, int]:
    """Text of the file given, posture of motions, equal limbs."""
    if name in VENDORS:
        path, home, held = VENDORS[name]
        return _bare(path, held), np.array(home, dtype=float), 4 if name == "go2" else 1
    if name == "limbs":
        count = int(rng.choice([2, 4, 6]))
        return _limbed(rng, count), np.tile([0.1, 0.6, -1.1], count), count
    count = int(rng.integers(3, 8))
    return _chain(rng, count), rng.uniform(-0.6, 0.6, count), 1


@lru_cache
def _bare(path: str, held: tuple[str, ...]) -> str:
    """A vendor's file without friction, shapes and joints that are held."""
    root = ET.parse(EXAMPLES / path).getroot()
    for joint in root.iter("joint"):
        if joint.get("name") in held:
            joint.set("type", "fixed")
    for parent in root.iter():
        for child in [each for each in parent if each.tag in ("visual", "collision", "dynamics", "mimic", "gazebo")]:
            parent.remove(child)
    return ET.tostring(root, encoding="unicode")


def _chain(rng, count: int) -> str:
    links, parent, z = [_link("base", 5.0, 0.1, 0.08, rng)], "base", 0.1
    for k in range(count):
        name, length = f"link{k + 1}", rng.uniform(0.12, 0.35) * (1 if k < count - 2 else 0.5)
        links += [
            _link(name, rng.uniform(1, 4) * 0.75**k, length, 0.05, rng),
            _joint(f"joint{k + 1}", parent, name, (0, 0, z), AXES[k], 2.8),
        ]
        parent, z = name, length
    return f'<robot name="arm">{"".join(links)}</robot>'


def _limbed(rng, count: int) -> str:
    """A trunk with equal limbs of three joints, left and right in turn, as walking robots have them."""
    shape = [rng.uniform(0.15, 0.3), rng.uniform(0.15, 0.3)]
    links, state = [_link("trunk", 6.0, 0.4, 0.1, rng)], rng.integers(2**32)
    for k in range(count):
        own = np.random.default_rng(state)  # equal limbs
        side, limb = (1 if k % 2 == 0 else -1), f"limb{k + 1}"  # in the order of the alphabet, as Pinocchio has them
        x = 0.5 * (k // 2) - 0.25 * (count // 2 - 1)
        links += [
            _link(f"{limb}_hip", 0.8, 0.05, 0.04, own),
            _joint(f"{limb}_hip_joint", "trunk", f"{limb}_hip", (x, 0.1 * side, 0), "1 0 0", 1.0),
            _link(f"{limb}_thigh", own.uniform(0.8, 1.5), -shape[0], 0.03, own),
            _joint(f"{limb}_thigh_joint", f"{limb}_hip", f"{limb}_thigh", (0, 0.08 * side, 0), "0 1 0", 2.5),
            _link(f"{limb}_calf", own.uniform(0.2, 0.5), -shape[1], 0.02, own),
            _joint(f"{limb}_calf_joint", f"{limb}_thigh", f"{limb}_calf", (0, 0, -shape[0]), "0 1 0", 2.7),
        ]
    return f'<robot name="limbs">{"".join(links)}</robot>'


def _link(name: str, mass: float, length: float, radius: float, rng) -> str:
    """A rod along z (m, kg), a little off its axis."""
    x, y = 0.1 * radius * rng.normal(size=2)
    across, along = mass * (3 * radius**2 + length**2) / 12, mass * radius**2 / 2
    return (
        f'<link name="{name}"><inertial><origin xyz="{x:.6g} {y:.6g} {length / 2:.6g}"/><mass value="{mass:.6g}"/>'
        f'<inertia ixx="{across:.6g}" iyy="{across:.6g}" izz="{along:.6g}" ixy="0" ixz="0" iyz="0"/></inertial></link>'
    )


def _joint(name: str, parent: str, child: str, at, axis: str, most: float) -> str:
    return (
        f'<joint name="{name}" type="revolute"><parent link="{parent}"/><child link="{child}"/>'
        f'<origin xyz="{at[0]:.6g} {at[1]:.6g} {at[2]:.6g}"/><axis xyz="{axis}"/>'
        f'<limit lower="{-most}" upper="{most}" velocity="6" effort="500"/></joint>'
    )


def _changed(model: pin.Model, rng) -> pin.Model:
    """True links: the file's by plausible amounts."""
    found = model.copy()
    for k in range(1, model.njoints):
        body = model.inertias[k]
        mass = body.mass * np.exp(WRONG_MASS * rng.normal())
        centre = body.lever + WRONG_CENTRE * max(np.linalg.norm(body.lever), 0.02) * rng.normal(size=3)
        found.inertias[k] = pin.Inertia(
            mass, centre, body.inertia * mass / body.mass * np.exp(WRONG_INERTIA * rng.normal())
        )
    return found


def _lever(model: pin.Model, home) -> np.ndarray:
    data = model.createData()
    pin.centerOfMass(model, data, home)
    found = np.array(
        [9.81 * data.mass[k] * np.linalg.norm(data.com[k] if k else data.com[0]) for k in range(1, model.njoints)]
    )
    return np.maximum(found, 0.02 * found.max())
