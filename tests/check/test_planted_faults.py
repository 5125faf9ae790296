"""Faults planted one at a time in published robots are named, and published robots without them are silent."""

import xml.etree.ElementTree as ET
from pathlib import Path

import numpy as np
import pytest

import steelyard as sy
from robots import package_folder, urdf
from steelyard import check

QUADRUPED, PUMA = (Path(sy.library.__file__).parent / "data" / f"{name}.urdf" for name in ("quadruped", "puma560"))
LEGS = ("a1", "go1", "laikago", "solo12")
ARMS = ("panda", "xarm7", "ur5_robot", "z1")
MANY = ("go1", "xarm7", "ur5_robot", "solo12")
NEW = ("SY306", "SY401", "SY407", "SY513", "SY514", "SY515", "SY516", "SY517", "SY605", "SY606")


def tree_of(stem):
    return ET.parse(urdf(stem))


def moving(tree):
    """Joints that move, with the links that they carry, where these have inertials."""
    links = {link.get("name"): link for link in tree.iter("link")}
    joints = [j for j in tree.iter("joint") if j.get("type") in ("revolute", "continuous", "prismatic")]
    pairs = [(joint, links[joint.find("child").get("link")]) for joint in joints if joint.find("limit") is not None]
    return [(joint, link) for joint, link in pairs if link.find("inertial") is not None]


def numbers(element, key):
    return np.array([float(x) for x in element.get(key).split()])


def write(element, key, values):
    element.set(key, " ".join(f"{x:.9g}" for x in np.atleast_1d(values)))


def origin(element):
    found = element.find("origin")
    found = ET.SubElement(element, "origin") if found is None else found
    for key in ("xyz", "rpy"):
        found.set(key, found.get(key) or "0 0 0")
    return found


def dynamics(joint):
    found = joint.find("dynamics")
    return ET.SubElement(joint, "dynamics") if found is None else found


def damped(tree):
    dynamics(moving(tree)[1][0]).set("damping", "-0.5")


def rubbed(tree):
    dynamics(moving(tree)[-1][0]).set("friction", "-0.2")


def centres(tree):
    for _, link in moving(tree):
        origin(link.find("inertial")).set("xyz", "0 0 0")


def tensors(tree):
    for link in tree.iter("link"):
        inertial = link.find("inertial")
        if inertial is not None and not numbers(origin(inertial), "rpy").any():
            m, c = float(inertial.find("mass").get("value")), numbers(origin(inertial), "xyz")
            about = m * (c @ c * np.eye(3) - np.outer(c, c))
            for i, j in ((0, 0), (0, 1), (0, 2), (1, 1), (1, 2), (2, 2)):
                key = f"i{'xyz'[i]}{'xyz'[j]}"
                write(inertial.find("inertia"), key, float(inertial.find("inertia").get(key)) + about[i, j])


def other_side(tree, at):
    """Left and right joints of the same name but for the side, and their links."""
    found = moving(tree)
    for joint, link in found:
        name = joint.get("name")
        for one, other in (("FL", "FR"), ("left", "right"), ("l_", "r_"), ("LF", "RF"), ("L", "R")):
            if name.startswith(one):
                for twin, body in found:
                    if twin.get("name") == other + name.removeprefix(one):
                        at -= 1
                        if at < 0:
                            return (joint, link), (twin, body)
    raise AssertionError


def copied_centre(tree):
    """The centre of the link that lies farthest off the middle."""
    pairs = []
    for at in range(3):
        (_, a), (_, b) = other_side(tree, at)
        pairs.append((origin(a.find("inertial")), origin(b.find("inertial"))))
    a, b = max(pairs, key=lambda pair: abs(numbers(pair[0], "xyz")[1]))
    b.set("xyz", a.get("xyz"))


def flipped_axis(tree):
    for at in range(3):
        _, (joint, _) = other_side(tree, at)
        limit = joint.find("limit")
    axis = joint.find("axis")
    write(axis, "xyz", -numbers(axis, "xyz"))
    assert limit is not None


def mirrored_limits(tree):
    limit = next(
        limit
        for at in range(3)
        if abs(float((limit := other_side(tree, at)[1][0].find("limit")).get("lower")) + float(limit.get("upper")))
        > 0.5
    )
    lower, upper = limit.get("lower"), limit.get("upper")
    write(limit, "lower", -float(upper))
    write(limit, "upper", -float(lower))


def scaled(key, factor):
    def plant(tree):
        limit = moving(tree)[2][0].find("limit")
        write(limit, key, factor * float(limit.get(key)))

    return plant


def fixed(tree):
    moving(tree)[-2][0].set("type", "fixed")


def viscous(tree):
    joint, _ = moving(tree)[5]
    dynamics(joint).set(
        "damping", f"{1.5 * float(joint.find('limit').get('effort')) / float(joint.find('limit').get('velocity'))}"
    )


def degrees(tree):
    for joint, _ in moving(tree):
        limit = joint.find("limit")
        for key in ("lower", "upper"):
            limit.set(key, f"{np.degrees(float(limit.get(key))):.0f}")


def turned(tree):
    origin(moving(tree)[2][0]).set("rpy", "0 0 90")


def shrunk(tree):
    for _, link in moving(tree)[:3]:
        for mesh in link.findall("collision/geometry/mesh"):
            write(mesh, "scale", 1e-3 * (numbers(mesh, "scale") if mesh.get("scale") else np.ones(3)))
        for solid in (
            each for kind in ("box", "cylinder", "sphere") for each in link.findall(f"collision/geometry/{kind}")
        ):
            for key in solid.attrib:
                write(solid, key, 1e-3 * numbers(solid, key))


FAULTS = {
    "SY513 damping": (damped, "SY513", MANY),
    "SY513 friction": (rubbed, "SY513", MANY),
    "SY306 centres": (centres, "SY306", MANY),
    "SY305 tensors": (tensors, "SY305", MANY),
    "SY407 centre": (copied_centre, "SY407", LEGS),
    "SY514 axis": (flipped_axis, "SY514", LEGS),
    "SY514 limits": (mirrored_limits, "SY514", ("a1", "go1", "go2", "b1")),
    "SY515 effort/100": (scaled("effort", 0.01), "SY515", MANY),
    "SY515 effort*100": (scaled("effort", 100), "SY515", MANY),
    "SY515 effort*1000": (scaled("effort", 1000), "SY515", MANY),
    "SY515 velocity/100": (scaled("velocity", 0.01), "SY515", MANY),
    "SY515 velocity*100": (scaled("velocity", 100), "SY515", MANY),
    "SY516": (fixed, "SY516", LEGS),
    "SY517": (viscous, "SY517", ARMS),
    "SY511 limits": (degrees, "SY511", MANY),
    "SY511 rpy": (turned, "SY511", MANY),
    "SY605": (shrunk, "SY605", MANY),
}
