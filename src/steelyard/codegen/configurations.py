"""Configurations of simulators and controllers: a `Configuration` record each, written of what is known of a robot.

Numbers that the logs do not determine are left out, and a comment says so: the destination's own value stays.
"""

import json
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from importlib.metadata import version
from math import pi
from pathlib import Path

from steelyard.arguments import require_type
from steelyard.codegen.generate import MARK
from steelyard.codegen.joint_numbers import Configured, JointNumbers, configured
from steelyard.codegen.languages import harmless
from steelyard.drive_kinds import DRIVE_NUMBERS
from steelyard.errors import OptionError, choices
from steelyard.model import Robot
from steelyard.model.robot import WORLD
from steelyard.model.xml_edit import NewElement, new_file, number_text
from steelyard.report.outputs import write_file

STEP = "PHYSICS_STEP = 0.005  # s, of your simulation: delays are counted in its steps"


@dataclass(frozen=True)
class Configuration:
    """A program whose configuration is written."""

    name: str  # as users say it
    suffix: str  # of the file
    text: str  # what is written, in a few words
    write: Callable[[Configured], str]  # the text of the file, of what is known
    reader: str  # what tests read the file with
    voltages: bool = False  # whether it knows motors that take volts


def configuration(robot: Robot, source, destination: str, path) -> tuple[Path, tuple[str, ...]]:
    """Write the configuration of a simulator or controller.

    Args:
        robot: with the drives of its side file or actuators.
        source: model file that it is from, or the folder of a result: then numbers that its logs do not determine are
            left out.
        destination: a name of `DESTINATIONS`.
        path: of the file.

    Returns:
        The path, and in sentences what was left out.

    Raises:
        OptionError: another destination or suffix, a file that is there and not of this function, or nothing to write.
    """
    require_type(Robot, robot=robot)
    path = Path(path)
    if destination not in DESTINATIONS:
        raise OptionError(f"There is no destination {destination!r}. Choose from {choices(DESTINATIONS)}.")
    chosen = DESTINATIONS[destination]
    if path.suffix != chosen.suffix:
        raise OptionError(f"{path}: the configuration of {destination} is a {chosen.suffix} file.")
    if path.exists() and MARK not in path.read_text(encoding="utf-8", errors="replace"):
        raise OptionError(f"{path} is there, and not written by Steelyard: it stays as it is. Choose another name.")
    known = configured(robot, source)
    if not chosen.voltages:
        known = replace(known, joints=tuple(map(_braked, known.joints)))
    write_file(path, chosen.write(known).encode(), what="Configuration")
    return path, tuple(_left_out(known.joints))


def _braked(joint: JointNumbers) -> JointNumbers:
    """A joint whose voltage drive is an effort: its back-EMF brakes as damping of the joint does."""
    back = joint.numbers.get("kd", 0.0)
    if joint.kind != "voltage" or not back:
        return joint
    numbers = {key: value for key, value in joint.numbers.items() if key != "kd"}
    return replace(joint, numbers=numbers | {"damping": numbers.get("damping", 0.0) + back})


def _left_out(joints: Iterable[JointNumbers]) -> Iterator[str]:
    reasons: dict[tuple[str, str], list[str]] = {}
    for joint in joints:
        for key, reason in joint.left_out.items():
            reasons.setdefault((key, reason), []).append(joint.name)
    for (key, reason), names in reasons.items():
        yield f"Left out: {key} of {', '.join(map(harmless, names))} ({reason})."


def _head(known: Configured, *lines: str) -> list[str]:
    return [
        f"Robot {harmless(known.robot.name)}, from {harmless(known.source)}. {MARK} {version('steelyard')}.",
        *lines,
        *known.notes,
        *_slopes(known),
        *_left_out(known.joints),
    ]


def _comment(lines: Iterable[str]) -> list[str]:
    return [f"# {line}" for line in lines]


def _number(value: float) -> str:
    return f"{float(value):.9g}" if "e" in f"{value:.9g}" or "." in f"{value:.9g}" else f"{value:.9g}.0"


def _alike(joints: Iterable[JointNumbers], key: Callable[[JointNumbers], object]) -> list[list[JointNumbers]]:
    groups: dict[object, list[JointNumbers]] = {}
    for joint in joints:
        groups.setdefault(key(joint), []).append(joint)
    return list(groups.values())


def _pattern(names: Sequence[str]) -> list[str]:
    return [re.escape(name) for name in names]


def _values(joints: Sequence[JointNumbers], values: Sequence[float]) -> str:
    if len(set(values)) == 1:
        return _number(values[0])
    pairs = zip(_pattern([each.name for each in joints]), values, strict=True)
    return "{" + ", ".join(f"{name!r}: {_number(value)}" for name, value in pairs) + "}"


SERVOS = {"position": ("kp", "kd"), "velocity": (None, "kd")}  # numbers that are stiffness and damping of a servo
ISAAC_LAB = {  # of joints, whatever drives them
    "armature": ("armature",),
    "frictionloss": ("friction", "dynamic_friction"),
    "damping": ("viscous_friction",),
}


def _isaac_lab(known: Configured) -> str:

    def key(joint: JointNumbers):
        return joint.kind, joint.numbers.get("delay", 0.0) > 0, frozenset(joint.numbers), joint.numbers.get("delay")

    blocks = []
    for group in _alike(known.joints, key):
        first = group[0]
        late = first.numbers.get("delay", 0.0) > 0 and first.kind in SERVOS
        lines = [f"        joint_names_expr={_pattern([each.name for each in group])!r},"]
        if first.kind is None:
            lines += [
                f"        {name}=None,  # not identified: that of the USD file" for name in ("stiffness", "damping")
            ]
        else:
            stiffness, damping = SERVOS.get(first.kind, (None, None))
            for name, number in (("stiffness", stiffness), ("damping", damping)):
                own = [each.numbers.get(number, 0.0) if number else 0.0 for each in group]
                lines.append(f"        {name}={_values(group, own)},")
        for number, names in ISAAC_LAB.items():
            if number in first.numbers:
                own = _values(group, [each.numbers[number] for each in group])
                lines += [f"        {name}={own}," for name in names]
        if "limit" in first.numbers:
            name = "actuator_effort_limit" if late else "joint_effort_limit"
            lines.append(f"        {name}={_values(group, [each.numbers['limit'] for each in group])},")
        if late:
            steps = f"round({_number(first.numbers['delay'])} / PHYSICS_STEP)"
            lines += [f"        {name}={steps}," for name in ("min_delay", "max_delay")]
        kind = "DelayedPDActuatorCfg" if late else "ImplicitActuatorCfg"
        blocks.append([f"    {_title(group)!r}: {kind}(", *lines, "    ),"])
    used = sorted({line[0].split(": ")[-1].rstrip("(") for line in blocks})
    head = (
        "ArticulationCfg(..., actuators=ACTUATORS) takes them.",
        "friction is an effort since Isaac Sim 5. Before, it is a share of the transmitted force: leave it out there.",
        "Isaac Lab 2 has effort_limit_sim for joint_effort_limit, and effort_limit for actuator_effort_limit.",
        *_efforts(known),
    )
    body = [line for block in blocks for line in block]
    return _actuators(known, head, f"from isaaclab.actuators import {', '.join(used)}", "{}", body)


def _actuators(known: Configured, head: Iterable[str], imports: str, brackets: str, body: Sequence[str]) -> str:
    """Text of a module with `ACTUATORS`, and with the step where delays are counted in it."""
    delayed = [STEP, ""] if any("PHYSICS_STEP" in line for line in body) else []
    opens, closes = brackets
    lines = [*_comment(_head(known, *head)), imports, "", *delayed, f"ACTUATORS = {opens}", *body, closes, ""]
    return "\n".join(lines)


def _title(group: Sequence[JointNumbers]) -> str:
    return group[0].name if len(group) == 1 else f"{group[0].name} and {len(group) - 1} more"


def _efforts(known: Configured) -> Iterator[str]:
    """What commands of drives that take no positions or speeds become."""
    for joint in known.joints:
        if joint.kind in ("voltage", "current", "torque") and "gain" in joint.numbers:
            yield f"{harmless(joint.name)}: its effort is {_number(joint.numbers['gain'])} times its {joint.kind}."


MJLAB = {"armature": "armature", "frictionloss": "frictionloss", "damping": "viscous_damping"}


def _mjlab(known: Configured) -> str:
    blocks, used = [], set()
    for group in _alike(known.joints, lambda joint: (joint.kind, tuple(sorted(joint.numbers.items())))):
        first, names = group[0], tuple(_pattern([each.name for each in group]))
        numbers = first.numbers
        lines = [f"    target_names_expr={names!r},"]
        if first.kind == "position":
            kind = "BuiltinPositionActuatorCfg"
            lines += [f"    stiffness={_number(numbers['kp'])},", f"    damping={_number(numbers.get('kd', 0.0))},"]
        elif first.kind == "velocity":
            kind = "BuiltinVelocityActuatorCfg"
            lines.append(f"    damping={_number(numbers['kd'])},")
        else:
            kind = "BuiltinMotorActuatorCfg"
        if "limit" in numbers:
            lines.append(f"    effort_limit={_number(numbers['limit'])},")
        elif kind == "BuiltinMotorActuatorCfg":
            lines.append('    effort_limit=float("inf"),  # not identified: give that of the motor')
        lines += [f"    {name}={_number(numbers[key])}," for key, name in MJLAB.items() if key in numbers]
        if numbers.get("delay", 0.0) > 0:
            steps = f"round({_number(numbers['delay'])} / PHYSICS_STEP)"
            lines += [f"    {name}={steps}," for name in ("delay_min_lag", "delay_max_lag")]
        used.add(kind)
        blocks += [f"  {kind}(", *(f"  {line}" for line in lines), "  ),"]
    head = "EntityArticulationInfoCfg(actuators=ACTUATORS) takes them.", *_efforts(known)
    return _actuators(known, head, f"from mjlab.actuator import {', '.join(sorted(used))}", "()", blocks)


def _dc_motors(known: Configured) -> str:
    """`<dcmotor>` actuators: torque K / R (volts - K v). Of a drive with torque g volts - kd v, K = kd / g."""
    motors = []
    for joint in known.joints:
        gain, back = joint.numbers.get("gain"), joint.numbers.get("kd")
        if joint.kind == "voltage" and gain and back:
            K = back / gain
            attributes = {"name": joint.name, "joint": joint.name, "motorconst": number_text([K])}
            attributes |= {"resistance": number_text([K / gain])}
            if "limit" in joint.numbers:
                attributes["saturation"] = number_text([joint.numbers["limit"]])
            motors.append(NewElement("dcmotor", attributes))
    if not motors:
        raise OptionError(
            "No joint has a voltage drive whose back-EMF (kd) is known: torque per volt and back-EMF make a <dcmotor>. "
            "State kd in [drives] of the side file, or write the model itself, whose <general> actuators have the sum "
            "of back-EMF and damping."
        )
    told = "Controls are volts. Inductance, temperature, cogging and LuGre friction were not identified."
    text = new_file(NewElement("mujoco", {}, (NewElement("actuator", {}, tuple(motors)),))).decode()
    declaration, body = text.split("\n", 1)
    return f"{declaration}\n<!-- {' '.join(_head(known, told)).replace('--', '-')} -->\n{body}"


NEWTON = {
    "armature": "joint_armature",
    "frictionloss": "joint_friction",
    "damping": "joint_damping",
    "limit": "joint_effort_limit",
}
NEWTON_FUNCTION = '''

def configure(builder):
    """Set these numbers of the joints of a newton.ModelBuilder, before it is finalized."""
    from newton import JointTargetMode

    labels = [label.rsplit("/", 1)[-1] for label in builder.joint_label]
    missing = [joint for joint in JOINTS if joint not in labels]
    if missing:
        raise KeyError(f"the builder has no joints {missing}")
    for index, label in enumerate(labels):
        for name, value in JOINTS.get(label, {}).items():
            mode = name == "joint_target_mode"
            getattr(builder, name)[builder.joint_qd_start[index]] = JointTargetMode[value] if mode else value
'''


def _newton(known: Configured) -> str:
    lines = []
    for joint in known.joints:
        numbers = {name: _number(joint.numbers[key]) for key, name in NEWTON.items() if key in joint.numbers}
        if joint.kind in SERVOS:
            stiffness = joint.numbers.get("kp", 0.0) if joint.kind == "position" else 0.0
            numbers |= {"joint_target_ke": _number(stiffness), "joint_target_kd": _number(joint.numbers.get("kd", 0.0))}
            numbers["joint_target_mode"] = repr(joint.kind.upper())
        told = ", ".join(f"{name!r}: {value}" for name, value in numbers.items())
        lines.append(f"    {joint.name!r}: {{{told}}},")
    head = _head(known, *_delays(known), *_efforts(known))
    return "\n".join([*_comment(head), "JOINTS = {", *lines, "}", NEWTON_FUNCTION])


def _delays(known: Configured) -> Iterator[str]:
    for joint in known.joints:
        if joint.numbers.get("delay"):
            yield f"{harmless(joint.name)}: delay its commands by {_number(joint.numbers['delay'])} s yourself."


def _slopes(known: Configured) -> Iterator[str]:
    """Limits of the slope of commands, which no destination has a place for."""
    for joint in known.joints:
        if joint.kind in SERVOS and "slope_limit" in joint.numbers:
            unit = DRIVE_NUMBERS["slope_limit"].units[joint.slides]
            limit = _number(joint.numbers["slope_limit"])
            yield f"{harmless(joint.name)}: let its commands change by at most {limit} {unit}."


USD_FUNCTION = '''

def configure(stage):
    """Set these numbers of the joints of a stage, in its edit target."""
    from pxr import Sdf, UsdPhysics

    found = set()
    for prim in stage.Traverse():
        if prim.GetName() not in JOINTS or not prim.IsA(UsdPhysics.Joint):
            continue
        kind, drive, newton = JOINTS[prim.GetName()]
        found.add(prim.GetName())
        if drive:
            api = UsdPhysics.DriveAPI.Apply(prim, kind)
            api.CreateTypeAttr("force")
            for name, value in drive.items():
                getattr(api, f"Create{name}Attr")(value)
        prim.AddAppliedSchema("NewtonJointAPI")
        for name, value in newton.items():
            prim.CreateAttribute(f"newton:{name}", Sdf.ValueTypeNames.Float).Set(value)
    if missing := set(JOINTS) - found:
        raise KeyError(f"the stage has no joints {sorted(missing)}")
'''
USD = {"armature": "armature", "frictionloss": "friction", "damping": "damping"}


def _usd(known: Configured) -> str:
    """A function that sets drives and `NewtonJointAPI` of a USD stage, of angular joints per degree."""
    lines = []
    for joint in known.joints:
        per = 1.0 if joint.slides else pi / 180
        drive = {}
        if joint.kind in SERVOS:
            stiffness = joint.numbers.get("kp", 0.0) if joint.kind == "position" else 0.0
            drive = {"Stiffness": _number(per * stiffness), "Damping": _number(per * joint.numbers.get("kd", 0.0))}
            if "limit" in joint.numbers:
                drive["MaxForce"] = _number(joint.numbers["limit"])
        own = {
            name: _number(joint.numbers[key] * (per if key == "damping" else 1.0))
            for key, name in USD.items()
            if key in joint.numbers
        }
        kind = "linear" if joint.slides else "angular"
        lines.append(f"    {joint.name!r}: ({kind!r}, {_dict(drive)}, {_dict(own)}),")
    told = "Stiffness and damping of joints that turn are per degree, as USD has them."
    return "\n".join(
        [*_comment(_head(known, told, *_delays(known), *_efforts(known))), "JOINTS = {", *lines, "}", USD_FUNCTION]
    )


def _dict(values: Mapping[str, str]) -> str:
    return "{" + ", ".join(f"{name!r}: {value}" for name, value in values.items()) + "}"


def _ros2_control(known: Configured) -> str:
    """Parameters of `gravity_compensation_pd_controller` of ros2_controllers."""
    chain = _chain(known.robot)
    if chain is None:
        raise OptionError("The controller compensates gravity of one chain of links; this robot branches or floats.")
    root, tip = chain
    names = [joint.name for joint in known.joints]
    lines = [
        "gravity_compensation_pd_controller:",
        "  ros__parameters:",
        "    type: gravity_compensation_pd_controller/GravityCompensationPDController",
        f"    joints: [{', '.join(json.dumps(name) for name in names)}]",
        "    compensate_gravity: true",
        "    dynamics_solver:",
        "      dynamics_solver_plugin: kdl_inverse_dynamics_solver/KDLInverseDynamicsSolver",
        f"      root: {json.dumps(root)}",
        f"      tip: {json.dumps(tip)}",
    ]
    servos = all(joint.kind == "position" for joint in known.joints)
    gains = ["p_gains, d_gains: yours, as no position drives were identified."]
    if servos:
        gains = []
        for key, number in (("p_gains", "kp"), ("d_gains", "kd")):
            values = ", ".join(_number(joint.numbers.get(number, 0.0)) for joint in known.joints)
            lines.append(f"    {key}: [{values}]")
    told = ["robot_description has to be the identified model: the solver takes inertias from it.", *gains]
    return "\n".join([*_comment(_head(known, *told)), *lines, ""])


def _chain(robot: Robot) -> tuple[str, str] | None:
    """First and last link of a robot that is one chain on a fixed base."""
    parents = robot.parents.tolist()
    if robot.floating or len(set(parents)) != len(parents):
        return None
    base = next((link.name for link in robot.links if link.body == WORLD), robot.body_names[0])
    return base, robot.body_names[-1]


DESTINATIONS = {
    each.name: each
    for each in (
        Configuration(
            "isaaclab", ".py", "actuators of an Isaac Lab ArticulationCfg", _isaac_lab, "its dataclasses' fields"
        ),
        Configuration("mjlab", ".py", "actuators of an mjlab entity", _mjlab, "mjlab.actuator and MuJoCo"),
        Configuration("dcmotor", ".xml", "<dcmotor> actuators to include in MJCF", _dc_motors, "MuJoCo", voltages=True),
        Configuration("newton", ".py", "a function for newton.ModelBuilder", _newton, "Newton"),
        Configuration("usd", ".py", "a function for joints of a USD stage", _usd, "usd-core, and Newton's USD reader"),
        Configuration("ros2_control", ".yaml", "gravity compensation of ros2_controllers", _ros2_control, "YAML"),
    )
}
