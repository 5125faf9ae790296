"""Drives as MJCF has them: actuators of joints, read, written anew, and edited in a user's files."""

import math
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np

from steelyard.drive_kinds import DRIVE_KINDS
from steelyard.errors import choices
from steelyard.model.drive import Drive, of_affine
from steelyard.model.mjcf_compile import joint_name
from steelyard.model.mjcf_files import Made, MjcfFiles, Node
from steelyard.model.robot import Robot
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
from steelyard.numbers import ROUNDING

STEP = 2e-3
"""s, of simulations with drives that users see."""
INTEGRATOR = "implicitfast"
IMPEDANCE = 0.9999
"""Of friction loss: MuJoCo lets a joint that sticks creep at a rate that its softness decides; gears stand still."""
PRESENT_COMMANDS = (
    "for i in m.actuator_delay.nonzero()[0]: "
    "mujoco.mj_initCtrlHistory(m, d, i, None, d.ctrl[[i]].repeat(m.actuator_history[i, 0])[:, None])"
)
"""Python, of a model m and its data d: commands that are on their way are those that are set now."""


def simulated() -> dict[str, str]:
    """Attributes of `<option>` with which drives move as was found."""
    return {"timestep": number_text([STEP]), "integrator": INTEGRATOR}


def hard_friction(step: float = STEP) -> dict[str, tuple[float, ...]]:
    """Attributes of a joint with friction loss and a drive. step: of the simulation, s; MuJoCo takes no time constant
    below two of them."""
    return {"solreffriction": (2 * step, 1.0), "solimpfriction": (IMPEDANCE, IMPEDANCE, 0.001, 0.5, 2.0)}


def expressible(robot: Robot, step: float = STEP) -> dict[str, Drive]:
    """Drives that actuators can be, as they read back: of joints of one degree of freedom, with known gains; commands
    that come late by less than half a step, s, come in time: those on their way start at zero in MuJoCo, a kick."""
    import mujoco

    single = {joint.name for joint in robot.free_joints if joint.nv == 1}
    drives = {name: drive.read_back for name, drive in robot.drives.items() if name in single}
    found = {name: drive for name, drive in drives.items() if drive is not None}
    least = step / 2 if hasattr(mujoco.MjModel, "actuator_delay") else math.inf
    return {name: drive if _late(drive, least) else replace(drive, delay=None) for name, drive in found.items()}


def _late(drive: Drive, least: float = STEP / 2) -> bool:
    """Whether commands come late by a time, s, or more."""
    return (drive.delay or 0.0) >= least


def actuator_element(name: str, joint: str, drive: Drive, step: float = STEP) -> NewElement:
    """The actuator of a drive of `expressible`; that of a voltage takes volts. step: of the simulation, s."""
    tag = drive.features.element
    attributes = {"name": name, "joint": joint} | as_text(gains(tag, drive))
    if "biasprm" in attributes:
        attributes["biastype"] = "affine"
    if drive.limit is not None:
        attributes |= {"forcelimited": "true", **as_text(force_range(drive.limit))}
    return NewElement(tag, attributes | ({} if drive.delay is None else late(drive.delay, step)))


def as_text(attributes: Mapping[str, tuple[float, ...]]) -> dict[str, str]:
    return {name: number_text(values) for name, values in attributes.items()}


def gains(tag: str, drive: Drive, gear: float = 1.0) -> dict[str, tuple[float, ...]]:
    """Attributes of an actuator that state the gains of a drive. tag: as it is spelled; gear: of the actuator, in whose
    units the commands of servos are, and its torque."""
    assert drive.affine is not None
    a, b, c = drive.affine
    square = gear * gear
    law = a / (square if drive.features.coordinate else gear), b / square, c / square
    spelled = {kind.element: kind.attributes for kind in DRIVE_KINDS.values()}
    return spelled.get(tag, spelled["general"])(*law)


def force_range(limit: float, gear: float = 1.0) -> dict[str, tuple[float, ...]]:
    """Attributes of an actuator that limit the torque of a joint, N m. gear: of the actuator."""
    return {"forcerange": (-limit / abs(gear), limit / abs(gear))}


def late(delay: float, step: float) -> dict[str, str]:
    """Attributes of an actuator whose commands come late, s, in steps of the simulation, s: interpolated, which is the
    mean over a step of commands that hold; MuJoCo would round delays up to whole steps."""
    return {"delay": number_text([delay]), "nsample": str(1 + math.ceil(delay / step)), "interp": "linear"}


def _under_load(name: str, drive: Drive) -> str:
    """What to do about friction that grows with load, which MuJoCo's number of a joint is not."""
    joint = f'm.joint("{name}").dofadr[0]'
    motor, external = drive.load_friction_motor or 0.0, drive.load_friction_external or 0.0
    return (
        f"Friction of {name} grows with load; MuJoCo's friction loss is a constant, in the file the mean. For that of "
        f"the load, a side file has its numbers; in a loop run before each mj_step: k = {joint}; m.dof_frictionloss[k] "
        f"= {drive.friction_base:.4g} + {motor:.4g} * abs(d.qfrc_actuator[k]) + {external:.4g} * abs(d.qfrc_bias[k])"
    )


def unwritten(drives: Mapping[str, Drive]) -> Iterator[str]:
    """What of drives has no place in MJCF, and what their actuators take, in words."""
    found = {
        "Gains of drives that are not known": [n for n, d in drives.items() if d.kind is not None and d.affine is None],
        "Slope limits of commands": [name for name, drive in drives.items() if drive.slope_limit is not None],
        "Positions that are stamped early": [name for name, drive in drives.items() if drive.early],
        "Delays of less than half a step": [name for name, drive in drives.items() if drive.delay and not _late(drive)],
    }
    for what, names in found.items():
        if names:
            yield f"{what} ({choices(names)}) have no place in MJCF; a side file has one."
    yield from (_under_load(name, drive) for name, drive in drives.items() if drive.friction_base is not None)
    yield from dict.fromkeys(note for drive in drives.values() if drive.kind and (note := drive.features.note))
    if any(map(_late, drives.values())):
        yield (
            "MuJoCo's late commands start at zero, in key frames, too. To start from d.ctrl, run once: "
            f"{PRESENT_COMMANDS}"
        )


def joint_drives(m, robot: Robot) -> dict[str, Drive]:
    found: dict[str, list[Drive | None]] = {}
    for actuator, joint in direct_drives(m):
        found.setdefault(joint_name(m, joint), []).append(actuator_drive(m, actuator))
    alone = {name: drives[0] for name, drives in found.items() if len(drives) == 1}
    return {name: drive for name in robot.dof_names if (drive := alone.get(name)) is not None}


def direct_drives(m) -> Iterator[tuple[int, int]]:
    """Actuators that drive a joint directly, with that joint."""
    import mujoco

    direct = (int(mujoco.mjtTrn.mjTRN_JOINT), int(mujoco.mjtTrn.mjTRN_JOINTINPARENT))
    for actuator in range(len(m.actuator_trntype)):  # since MuJoCo 4.0 one may have several controls
        if int(m.actuator_trntype[actuator]) in direct:
            yield actuator, int(m.actuator_trnid[actuator, 0])


def actuator_drive(m, actuator: int) -> Drive | None:
    """The drive, in units of the joint, that an actuator on a joint of one degree is, its gear in its numbers; None for
    unknown ones."""
    import mujoco

    direct = m.actuator_dyntype[actuator] == mujoco.mjtDyn.mjDYN_NONE
    if (
        not direct
        or m.actuator_gaintype[actuator] != mujoco.mjtGain.mjGAIN_FIXED
        or m.actuator_gear[actuator, 1:].any()
    ):
        return None
    gear, gain = float(m.actuator_gear[actuator, 0]), float(m.actuator_gainprm[actuator, 0])
    affine = m.actuator_biastype[actuator] == mujoco.mjtBias.mjBIAS_AFFINE
    offset, stiffness, damping = m.actuator_biasprm[actuator, :3] if affine else (0.0, 0.0, 0.0)
    if offset or gear == 0 or not gain or not (affine or m.actuator_biastype[actuator] == mujoco.mjtBias.mjBIAS_NONE):
        return None
    late = float(m.actuator_delay[actuator]) if hasattr(m, "actuator_delay") else 0.0  # older ones know none
    about = {"limit": _limit(m, actuator, gear), "delay": late or None}
    return of_affine(gain, float(stiffness), float(damping), gear, **about)


def _limit(m, actuator: int, gear: float) -> float | None:
    """N m; None where there is none, or another in each direction."""
    low, high = m.actuator_forcerange[actuator]
    same = m.actuator_forcelimited[actuator] and high > 0 and np.isclose(-low, high)
    return float(abs(gear) * high) if same else None


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
    """Actuators of a model."""

    files: MjcfFiles
    m: Any  # as compiled from the files
    joints: Mapping[str, Node]  # elements of its joints by name
    ratios: frozenset[int]  # numbers of the actuators whose damping MuJoCo finds from inertias (`dampratio`)

    @cached_property
    def listed(self) -> list[Node]:
        """Elements in MuJoCo's order."""
        return self._children("actuator")

    @cached_property
    def of_joints(self) -> dict[str, list[int]]:
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
                changed = drive.differing(before[name], ROUNDING)
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

        own = ((name, self.of_joints.get(name)) for name, drive in drives.items() if drive.features.coordinate)
        geared = [name for name, numbers in own if numbers and float(self.m.actuator_gear[numbers[0], 0]) != 1]
        if geared:
            yield f"Controls of {choices(geared)} are commands times the gear, unless the kind of drive is another now."
        own = mujoco.mjtIntegrator(self.m.opt.integrator).name.removeprefix("mjINT_").lower()
        if own != INTEGRATOR or self.m.opt.timestep > STEP:
            yield (
                f"Drives are found with integrator {INTEGRATOR} and steps of at most {STEP:g} s; <option> of the file "
                f"stays as it is ({own}, {self.m.opt.timestep:g} s)."
            )

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
        if not any(each.element.tag in ACTUATORS for each in self._children("default")):
            return new
        return NewElement(new.tag, OWN_PLAIN.get(new.tag, PLAIN) | new.attributes)

    def _unused(self, name: str) -> str:
        taken = {self.m.actuator(i).name for i in range(len(self.m.actuator_trntype))}
        return name if name not in taken else self._unused(f"{name}_drive")
