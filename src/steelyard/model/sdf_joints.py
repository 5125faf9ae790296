"""Joints of an SDF file: axes, limits and properties of each, and what it follows."""

from dataclasses import replace
from typing import Any

import numpy as np

from steelyard.errors import choices
from steelyard.model.joint import KINDS, Joint, bounds_of, revolute_subspace
from steelyard.model.sdf_files import SdfFiles
from steelyard.model.sdf_frames import MODEL_FRAME, SEPARATOR, TRUE, Item, text_of
from steelyard.model.sdf_tree import COUPLING, FIXED, SdfJoint, SdfTree
from steelyard.model.sketch import SketchJoint
from steelyard.model.urdf_geometry import LIMITS, PROPERTIES
from steelyard.model.xml import Element
from steelyard.spatial import identity, inverse

TYPES: dict[str, tuple[str, ...]] = {
    "revolute": ("revolute",),
    "continuous": ("revolute",),
    "prismatic": ("prismatic",),
    "screw": ("revolute",),
    "ball": ("spherical",),
    "universal": ("revolute", "revolute"),
    "revolute2": ("revolute", "revolute"),
    FIXED: (),
}
"""Types of joints in SDF -> kinds of the joints that they are, outermost first."""
BOUNDED = ("revolute", "prismatic", "screw", "universal", "revolute2")  # types whose range counts
HINGES = ("revolute", "continuous")
AXES = ("axis", "axis2")
ROTOR, GEAR = "drake:rotor_inertia", "drake:gear_ratio"
PITCH, OLD_PITCH = "screw_thread_pitch", "thread_pitch"


def joint_names(tree: SdfTree, joint: SdfJoint) -> tuple[str, ...]:
    """Names of the joints that one of the file is: with its axis behind them where it has two."""
    name, count = tree.name(joint.path), len(TYPES.get(joint.kind, ("",)))
    return (name,) if count < 2 else tuple(f"{name}_{axis}" for axis in AXES[:count])


def read_joints(files: SdfFiles, tree: SdfTree) -> dict[int, tuple[SketchJoint, ...]]:
    """Joints of a file by their place in the tree, one an axis, outermost first; couplings and closures are not among
    them."""
    carried = ((body, carrier.joints[0]) for body, carrier in sorted(tree.over.carriers.items()))
    return {index: _joint(files, tree, body, tree.joints[index], turned=end == 0) for body, (index, end) in carried}


def _joint(files: SdfFiles, tree: SdfTree, body: int, joint: SdfJoint, *, turned: bool) -> tuple[SketchJoint, ...]:
    """turned: whether the body is the parent of the joint."""
    item, element = joint.item, joint.item.element
    reader, label = item.sheet.reader, f"joint '{tree.name(joint.path)}'"
    if joint.kind not in TYPES:
        said = f"joint type '{joint.kind[:40]}' is unknown; SDF has {choices(TYPES)}."
        reader.fault("SY506", element, label, said, remedy="")
    kinds, names = TYPES.get(joint.kind, ()), joint_names(tree, joint)
    if turned and "spherical" in kinds:
        said = f"{label} is a ball joint whose <child> carries its <parent>."
        reader.fault("SY505", element, label, said, remedy="Exchange <parent> and <child>.")
    to_body = inverse(tree.bodies[body].pose)
    anchor = to_body[0] @ joint.pose[1] + to_body[1]
    found = []
    for kind, name, axis in zip(kinds, names, AXES, strict=False):
        stated = element.find(axis)
        fields = {}
        subspace = KINDS[kind].subspace(np.zeros(3), anchor)
        if KINDS[kind].has_axis:
            # seen from its child, a joint moves its parent the other way
            direction = (-1.0 if turned else 1.0) * to_body[0] @ axis_of(joint, axis)
            subspace = KINDS[kind].subspace(direction, anchor)
            if joint.kind == "screw":
                subspace = revolute_subspace(direction, anchor=anchor, pitch=_pitch(item, label))
        limits = {} if stated is None else _limits(item, stated, f"{label} > {axis}", joint.kind)
        if KINDS[kind].nq == 1:
            fields = _fields(files, item, stated, label, limits, joint.kind)
            fields |= _mimicked(tree, joint, stated, label, axis)
        placed = Joint(name, kind, subspace, *identity(), **fields)
        found.append(_sketched(tree, joint, body, name, stated, limits, placed))
    if not found:
        found.append(_sketched(tree, joint, body, names[0], None, {}, None))
    return tuple(found[::-1] if turned else found)


def _sketched(
    tree: SdfTree, joint: SdfJoint, body: int, name: str, axis: Element | None, limits, placed: Joint | None
) -> SketchJoint:
    limit, place = None if axis is None else axis.find("limit"), tree.over.order.index(body)
    others = {"mimics": placed is not None and placed.mimics is not None, "placed": placed}
    return joint.item.sheet.reader.joint(joint.item.element, name, joint.kind, place, limits, limit, **others)


def axis_of(joint: SdfJoint, tag: str) -> np.ndarray:
    """(3,) unit axis of a joint in the world, NaN where it has none."""
    item, reader = joint.item, joint.item.sheet.reader
    axis = item.element.find(tag)
    label = f"{item.label} > {tag}"
    if axis is None:
        reader.fault("SY506", item.element, label, f"{item.label} has no <{tag}>.", remedy="State its <xyz>.")
        return np.full(3, np.nan)
    vector = reader.content(axis, "xyz", 3, label, default=(0, 0, 1), code="SY506")
    return _frame_of_axis(joint, axis, label) @ reader.direction(vector, axis, label)


def _frame_of_axis(joint: SdfJoint, axis: Element, label: str) -> np.ndarray:
    """(3, 3) orientation in the world of the frame that an axis is expressed in."""
    item, scope = joint.item, joint.scope
    xyz, old = axis.find("xyz"), text_of(axis, "use_parent_model_frame").lower()
    named = "" if xyz is None else xyz.attributes.get("expressed_in", "").strip()
    if item.sheet.version < (1, 5) or (item.sheet.version < (1, 7) and old in TRUE):
        named = MODEL_FRAME  # up to 1.4 all axes are in the axes of the model
    if not named:
        return joint.pose[0]
    named = item.model_frame if named == MODEL_FRAME else named
    if scope.find(named) is None:
        said = f"the axis of {item.label} is expressed in '{named[:60]}', which is no frame of its model."
        item.sheet.reader.fault("SY506", xyz or axis, label, said, remedy=scope.known)
        return joint.pose[0]
    return scope.absolute(named)[0]


def _pitch(item: Item, label: str) -> float:
    """Pitch of a screw joint, m/rad."""
    reader, element = item.sheet.reader, item.element
    if element.find(PITCH) is not None or element.find(OLD_PITCH) is None:
        # metres a turn, positive of a right-handed thread
        return reader.amount(element, PITCH, label, default=1.0, code="SY506") / (2 * np.pi)
    pitch = reader.amount(element, OLD_PITCH, label, default=1.0, code="SY506")
    if pitch == 0:
        said = f"<{OLD_PITCH}> is 0 rad/m: the joint would slide without end."
        reader.fault("SY506", element, label, said, remedy=f"State <{PITCH}>, m a turn.")
        return np.nan
    return -1 / pitch  # radians a metre, positive of a left-handed thread


def _limits(item: Item, axis: Element, label: str, kind: str) -> dict[str, float]:
    """Limits that an axis states, those left out that stand for none."""
    limit = axis.find("limit")
    if limit is None:
        return {}
    reader, label, used = item.sheet.reader, f"{label} > limit", LIMITS if kind in BOUNDED else ("effort", "velocity")
    found = {
        key: reader.amount(limit, key, label, code="SY506", strict="number" if key in used else "")
        for key in LIMITS
        if text_of(limit, key)
    }
    # -1 was the default of effort and velocity up to 1.9, and means none
    return {key: value for key, value in found.items() if not (key in ("effort", "velocity") and value == -1)}


def _fields(files: SdfFiles, item: Item, axis: Element | None, label: str, limits, kind: str) -> dict:
    lower, upper = limits.get("lower", -np.inf), limits.get("upper", np.inf)
    if kind in BOUNDED and lower == upper:
        where = f"{item.sheet.document.path.name}, line {item.sheet.document.line(item.element)}"
        files.notes.append(
            f"{where}: {label} may move from {lower:g} to {upper:g} only; it was taken to move without limits. Let it "
            "stand still: --lock JOINT=VALUE."
        )
    reader, dynamics = item.sheet.reader, None if axis is None else axis.find("dynamics")
    found = {}
    if dynamics is not None:
        place = f"{label} > dynamics"
        found = {f: reader.amount(dynamics, tag, place, default=0.0, code=None) for f, tag in PROPERTIES.items()}
    if axis is item.element.find(AXES[0]) and item.element.find(ROTOR) is not None:
        rotor = reader.amount(item.element, ROTOR, label, default=0.0, code=None)
        found["armature"] = rotor * gear_of(item) ** 2
    return bounds_of(limits, ranged=kind in BOUNDED) | found


def gear_of(item: Item) -> float:
    return item.sheet.reader.amount(item.element, GEAR, item.label, default=1.0, code=None)


def _mimicked(tree: SdfTree, joint: SdfJoint, axis: Element | None, label: str, own: str) -> dict:
    item, reader, label = joint.item, joint.item.sheet.reader, f"{label} > mimic"
    stated = None if axis is None else axis.find("mimic")
    numbers = {"multiplier": 1.0, "offset": 0.0, "reference": 0.0}
    if stated is not None:
        ratio, offset, reference = (
            reader.amount(stated, tag, label, default=each, code=None) for tag, each in numbers.items()
        )
    elif own == AXES[0] and (stated := item.element.find("drake:mimic")) is not None:
        ratio, offset, reference = (
            reader.number(stated, tag, label, default=each, code=None) for tag, each in numbers.items()
        )
    else:
        return {}
    name, side = stated.attributes.get("joint", ""), stated.attributes.get("axis", AXES[0])
    master = tree.by_path.get((*joint.scope.path, *name.split(SEPARATOR)))
    names = () if master is None else joint_names(tree, master)
    if master is None or side not in AXES[: len(names)] or not TYPES.get(master.kind):
        said = f"it mimics '{name[:60]}', which is no movable joint of its model."
        known = choices([each.item.name for each in tree.joints if each.scope is joint.scope])
        remedy = f"Correct the name, or remove the <mimic>, and it moves on its own. Joints there: {known}."
        reader.fault("SY507", stated, label, said, remedy=remedy)
        return {}
    return {"mimics": names[AXES.index(side)], "ratio": ratio, "offset": offset - ratio * reference}


def geared(tree: SdfTree, readings: dict[int, tuple[SketchJoint, ...]]) -> list[SketchJoint]:
    """The joints, with those that follow another through a gearbox.

    A gearbox says theta_2 = -ratio theta_1 of the angles of its parent and child against a reference link, which two
    hinges carry them on.
    """
    found: dict[str, dict[str, Any]] = {}
    for box in (each for each in tree.joints if each.kind == COUPLING):
        item, reader = box.item, box.item.sheet.reader
        name = text_of(item.element, "gearbox_reference_body")
        carrier = box.scope.carrier(name) if name and box.scope.find(name) is not None else None
        reference = next((i for i, body in enumerate(tree.bodies) if carrier and body.item is carrier[1]), None)
        leader, follower = (_hinge(tree, readings, reference, end) for end in (box.parent, box.child))
        first = second = 0.0
        if leader is not None and follower is not None:
            first = _side(tree, leader, reference, axis_of(box, AXES[0]))
            second = _side(tree, follower, reference, axis_of(box, AXES[1]))
        if leader is None or follower is None or not first or not second:
            said = f"{item.label} is a gearbox without a hinge about its axis on either side of a reference link."
            remedy = "State gearbox_reference_body, and the hinges of parent and child on it; or use <mimic>."
            reader.fault("SY506", item.element, item.label, said, remedy=remedy)
            continue
        ratio = reader.amount(item.element, "gearbox_ratio", item.label, default=1.0, code="SY506")
        master = readings[leader][0].name
        found[readings[follower][0].name] = {"mimics": master, "ratio": -ratio * first * second, "offset": 0.0}
    return [
        each
        if each.name not in found
        else replace(each, placed=each.placed and replace(each.placed, **found[each.name]))
        for reading in readings.values()
        for each in reading
    ]


def _hinge(tree: SdfTree, readings: dict[int, tuple[SketchJoint, ...]], reference: int | None, end: int) -> int | None:
    """The hinge between a reference link and one end of a gearbox."""
    ends = {reference, end}
    for index, reading in readings.items():
        joint = tree.joints[index]
        if reference is not None and joint.kind in HINGES and {joint.parent, joint.child} == ends and reading[0].placed:
            return index
    return None


def _side(tree: SdfTree, hinge: int, reference: int | None, axis: np.ndarray) -> float:
    """+-1: the sign of a hinge's angle in the sense of a gearbox's; 0 where its axis is another line."""
    joint = tree.joints[hinge]
    along = float(axis_of(joint, AXES[0]) @ axis)
    turned = along if joint.parent == reference else -along
    return float(np.sign(turned)) if abs(abs(along) - 1) < 1e-6 else 0.0
