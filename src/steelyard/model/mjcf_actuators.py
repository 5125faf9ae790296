"""Drives in a user's MJCF files: numbers of the actuators that are there, others put in their place or added."""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from steelyard.errors import choices
from steelyard.model.changes import SAME
from steelyard.model.drive import Drive
from steelyard.model.mjcf import direct_drives, joint_name
from steelyard.model.mjcf_drives import (
    INTEGRATOR,
    STEP,
    actuator_element,
    as_text,
    force_range,
    gains,
    hard_friction,
    late,
)
from steelyard.model.mjcf_files import Files, Made, Node
from steelyard.model.xml_edit import (
    Edit,
    NewElement,
    assign,
    insert,
    number_text,
    replace_attribute,
    set_numbers,
    substitute,
)

KEPT = ("name", "joint", "jointinparent", "group", "user")  # of an actuator in whose place one of another kind is put
ACTUATORS = (
    *("general", "motor", "position", "velocity", "intvelocity"),
    *("damper", "cylinder", "muscle", "adhesion", "dcmotor"),
)
PLAIN = {"gear": "1", "ctrllimited": "false", "forcelimited": "false"}  # against defaults of all actuators
OWN_PLAIN = {
    "position": PLAIN | {"timeconst": "0"},
    "general": PLAIN | {"dyntype": "none", "gaintype": "fixed", "biastype": "none"},
}


@dataclass(frozen=True, eq=False)
class Actuators:
    """Actuators of a model. m: as compiled from the files. joints: elements of its joints by name. ratios: numbers of
    the actuators whose damping MuJoCo finds from inertias (`dampratio`)."""

    files: Files
    m: Any
    joints: Mapping[str, Node]
    ratios: frozenset[int]

    @cached_property
    def listed(self) -> list[Node]:
        """Elements in MuJoCo's order."""
        return self._children("actuator")

    @cached_property
    def of_joints(self) -> dict[str, list[int]]:
        """Numbers of actuators by the joint that they drive."""
        found: dict[str, list[int]] = {}
        for actuator, joint in direct_drives(self.m):
            found.setdefault(joint_name(self.m, joint), []).append(actuator)
        return found

    def obstacle(self, joint: str) -> str | None:
        """Why the drive of a joint cannot be written, None where it can."""
        own = self.of_joints.get(joint, [])
        if len(self.listed) != len(self.m.actuator_trntype):
            return "the file has actuators that are not written in it"
        if len(own) > 1:
            return "several actuators of the file drive it"
        if not own and (joint not in self.joints or "name" not in self.joints[joint].element.attributes):
            return "it has no name in the file"
        if not own and any("ctrl" in key.element.attributes for key in self._children("keyframe")):
            return "it would need an actuator that the file's keyframes do not know"
        return None

    def edits(self, drives: Mapping[str, Drive], before: Mapping[str, Drive]) -> Iterator[Made]:
        """Make actuators what drives are. before: drives as the file has them."""
        new = []
        for name, drive in drives.items():
            own = self.of_joints.get(name)
            if own is None:
                new.append(actuator_element(self._unused(name), name, drive, self.m.opt.timestep))
            elif name in before and before[name].kind == drive.kind:
                changed = drive.differing(before[name], SAME)
                yield (*self._numbers(own[0], drive, changed), f"joint '{name}': {', '.join(changed)} of its drive")
            else:
                yield (*self._other(own[0], name, drive), f"joint '{name}': {drive.kind} drive")
        yield from self._added(new)

    def settled(self, drives: Mapping[str, Drive]) -> Iterator[Made]:
        """State the damping that a ratio stood for, which follows inertias. drives: as the file has them."""
        for name, drive in drives.items():
            (actuator,) = self.of_joints[name]
            if actuator in self.ratios:
                words = f"joint '{name}': damping that dampratio stood for"
                yield (*self._numbers(actuator, drive, ("kd",)), words)

    def hardened(self, joints: Iterable[str]) -> Iterator[Made]:
        """Make friction of joints as hard as that of gears."""
        for name in joints:
            node, values = self.joints[name], hard_friction(self.m.opt.timestep)
            edits = [
                e for key, numbers in values.items() for e in set_numbers(node.document, node.element, key, numbers)
            ]
            if edits:
                yield node, edits, f"joint '{name}': hard friction"

    def notes(self, drives: Mapping[str, Drive]) -> Iterator[str]:
        """What else a script that moves the written drives has to know."""
        import mujoco

        geared = [name for name, drive in drives.items() if drive.features.coordinate and self._gear(name) != 1]
        if geared:
            yield f"Controls of {choices(geared)} are commands times the gear, unless the kind of drive is another now."
        own = mujoco.mjtIntegrator(self.m.opt.integrator).name.removeprefix("mjINT_").lower()
        if own != INTEGRATOR or self.m.opt.timestep > STEP:
            yield (
                f"Drives are found with integrator {INTEGRATOR} and steps of at most {STEP:g} s; <option> of the file "
                f"stays as it is ({own}, {self.m.opt.timestep:g} s)."
            )

    def _gear(self, joint: str) -> float:
        own = self.of_joints.get(joint)
        return 1.0 if own is None else float(self.m.actuator_gear[own[0], 0])

    def _children(self, tag: str) -> list[Node]:
        return [child for section in self.files.sections(tag) for child in self.files.children(section)]

    def _numbers(self, actuator: int, drive: Drive, changed: tuple[str, ...]) -> tuple[Node, list[Edit]]:
        """Other numbers of a drive of the same kind; what it states itself counts over its class."""
        node, gear = self.listed[actuator], float(self.m.actuator_gear[actuator, 0])
        element, values, words = node.element, {}, {}
        if {"kp", "kd", "gain"} & set(changed):
            values |= gains(element.tag, drive, gear)
        if "limit" in changed:
            if bool(self.m.actuator_forcelimited[actuator]) != (drive.limit is not None):
                words["forcelimited"] = "false" if drive.limit is None else "true"
            values |= {} if drive.limit is None else force_range(drive.limit, gear)
        if "delay" in changed:
            words |= {"delay": "0"} if drive.delay is None else late(drive.delay, self.m.opt.timestep)
        if "gainprm" in values and element.tag != "general":  # <motor>, whose gain is one
            new = NewElement("general", element.attributes | as_text(values) | words)
            return node, substitute(node.document, element, new)
        edits = [edit for key, text in words.items() for edit in assign(node.document, element, key, text)]
        for key, numbers in values.items():
            if key == "kv" and "dampratio" in element.attributes:
                edits += replace_attribute(node.document, element, "dampratio", key, number_text(numbers))
            else:
                edits += set_numbers(node.document, element, key, numbers)
        return node, edits

    def _other(self, actuator: int, joint: str, drive: Drive) -> tuple[Node, list[Edit]]:
        """An actuator of another kind in the place of one: its gear and ranges were those of other commands."""
        node = self.listed[actuator]
        new = self._plain(actuator_element("", joint, drive, self.m.opt.timestep))
        kept = {key: text for key, text in node.element.attributes.items() if key in KEPT}
        own = {key: text for key, text in new.attributes.items() if key not in KEPT}
        return node, substitute(node.document, node.element, NewElement(new.tag, kept | own))

    def _added(self, new: list[NewElement]) -> Iterator[Made]:
        """New actuators behind the others, which keep their places among the controls."""
        if not new:
            return
        words = f"joints {', '.join(repr(each.attributes['joint']) for each in new)}: new actuators"
        elements = [self._plain(each) for each in new]
        sections = [node for node in self.files.sections("actuator") if node.element.children]
        if sections:
            node = sections[-1]
            edits = [edit for each in elements for edit in insert(node.document, node.element, each, last=True)]
        else:
            node = Node(self.files.main, self.files.main.root)
            edits = insert(node.document, node.element, NewElement("actuator", {}, tuple(elements)), last=True)
        yield node, edits, words

    def _plain(self, new: NewElement) -> NewElement:
        """An actuator that no defaults of all actuators change."""
        if not any(each.element.tag in ACTUATORS for each in self._children("default")):
            return new
        return NewElement(new.tag, OWN_PLAIN.get(new.tag, PLAIN) | new.attributes)

    def _unused(self, name: str) -> str:
        taken = {self.m.actuator(i).name for i in range(len(self.m.actuator_trntype))}
        return name if name not in taken else self._unused(f"{name}_drive")
