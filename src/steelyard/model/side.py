"""The side file `ROBOT.steelyard.toml`: what a model file cannot say. Version 1 knows motor rotors, closed loops, which
joints have motors, what drives them, and facts about bodies (docs/side_file.md).

Strict on purpose: a key that is not understood is an error, never ignored.
"""

import json
import tomllib
from collections.abc import Iterator, Mapping
from dataclasses import replace
from pathlib import Path

import numpy as np

from steelyard.errors import ModelError, choices
from steelyard.inertia import to_com_inertia
from steelyard.model.compare import TOLERANCE
from steelyard.model.drive import KEYS, NUMBERS, Drive
from steelyard.model.loops import Loop
from steelyard.model.robot import Robot
from steelyard.model.rotor import Rotor
from steelyard.model.side_known import Known, known
from steelyard.model.side_mechanism import GROUND, LOOP_KEYS, ROTOR_KEYS, read_loop, read_rotor
from steelyard.model.side_table import Table
from steelyard.spatial import rpy_from_rotation

SUFFIX = ".steelyard.toml"
VERSION = 1
MAX_BYTES = 2**20


def side_path(model) -> Path:
    """Where the side file of a model file is looked for: `arm.steelyard.toml` beside `arm.urdf`.

    Args:
        model: path of the model file.

    Returns:
        The path.
    """
    model = Path(model)
    return model.with_name(model.stem + SUFFIX)


def read_side(path, robot: Robot) -> Robot:
    """The robot with what its side file adds.

    Args:
        path: of the `.steelyard.toml` file.
        robot: the robot that it belongs to.

    Returns:
        A copy of `robot` whose `rotors` are the file's, in its order; its loops join those of the model file,
        `actuated`, if given, replaces what that says, and `drives` count over those of its actuators.

    Raises:
        ModelError: names the file, the key and what was expected: unknown or mistyped keys, joints or links that the
            robot does not have, rotors that no body can be.
    """
    document = _document(Path(path))
    known(document.table("known"), robot)  # refused here already, whoever asks for it later
    rotors = []
    for table in document.tables("rotor"):
        table.refuse_unknown(ROTOR_KEYS)
        rotor = read_rotor(table, robot)
        alike = sum([joint for joint, _ in each.gears] == [joint for joint, _ in rotor.gears] for each in rotors)
        rotors.append(replace(rotor, number=1 + alike))
    robot = replace(robot, rotors=tuple(rotors), loops=(*robot.loops, *_loops(document, robot)))
    driven = document.texts("actuated")
    unknown = [name for name in driven or () if name not in robot.joint_names]
    if unknown:
        document.refuse("actuated", f"names of joints of robot '{robot.name}': {choices(robot.joint_names)}")
    robot = robot if driven is None else robot.with_actuated(driven)
    return replace(robot, drives=_drives(document.table("drives"), robot))


def _loops(document: Table, robot: Robot):
    names = list(robot.loop_names)
    for table in document.tables("loop"):
        table.refuse_unknown(LOOP_KEYS)
        closure = read_loop(table, robot)
        if closure.name in names:
            table.refuse("name", "a name that no other loop has")
        names.append(closure.name)
        yield closure


def _drives(table: Table, robot: Robot) -> dict[str, Drive]:
    """Drives by joint: what `[drives]` says of all, and `[drives.JOINT]` of one, which counts more; `robot.drives`
    where both leave it open. Raises ModelError that names the key."""
    own = {key: value for key, value in table.values.items() if isinstance(value, dict)}
    common = _drive(Table({key: value for key, value in table.values.items() if key not in own}, table.where))
    names = [robot.dof_names[dof] for dof in robot.driven_dofs]
    for name in own:
        if name not in names:
            raise ModelError(
                f"{table.name(name)}: robot '{robot.name}' has no joint '{name}' with a motor. Its joints: "
                f"{choices(names)}."
            )
    told = {name: _drive(table.table(name)).over(common) for name in own}
    if common != Drive():
        told = dict.fromkeys(names, common) | told
    return dict(robot.drives) | {name: drive.over(robot.drives.get(name)) for name, drive in told.items()}


def _drive(table: Table) -> Drive:
    table.refuse_unknown(KEYS)
    numbers = {key: table.number(key) for key in NUMBERS}
    try:
        return Drive(table.text("kind"), group=table.text("group"), **numbers)
    except ModelError as error:
        raise ModelError(f"{table.where}: {error}.") from error


def read_known(path, robot: Robot) -> Known:
    """What a side file knows of the robot's bodies.

    Args:
        path: of the `.steelyard.toml` file.
        robot: the robot that it belongs to.

    Returns:
        The Known, as `fit.consistent` takes its fields.

    Raises:
        ModelError: as `read_side`.
    """
    return known(_document(Path(path)).table("known"), robot)


def _document(path: Path) -> Table:
    document = Table(_parsed(path), str(path))
    document.refuse_unknown(("version", "actuated", "rotor", "loop", "known", "drives"))
    version = document.values.get("version", VERSION)
    if version != VERSION or isinstance(version, bool):
        raise ModelError(f"{path}: version is {version!r}; this release reads side files of version {VERSION}.")
    return document


def _parsed(path: Path) -> dict:
    try:
        if not path.is_file():
            raise ModelError(f"Side file {path} is missing. Give the path of a {SUFFIX} file, or leave it out.")
        if path.stat().st_size > MAX_BYTES:
            raise ModelError(f"Side file {path} is larger than {MAX_BYTES // 2**20} MB; it holds a few short tables.")
        return tomllib.loads(path.read_bytes().decode())
    except OSError as error:
        raise ModelError(f"Side file {path} cannot be read: {error.strerror or error}.") from error
    except UnicodeDecodeError as error:
        raise ModelError(f"Side file {path} is not UTF-8 text; TOML files are. Save it as UTF-8.") from error
    except (tomllib.TOMLDecodeError, RecursionError) as error:  # the latter from lists in lists
        raise ModelError(f"Side file {path} is not valid TOML: {error}.") from error


UPPER = (np.array([0, 0, 0, 1, 1, 2]), np.array([0, 1, 2, 1, 2, 2]))  # ixx ixy ixz iyy iyz izz


def write_side(robot: Robot, path, *, known=(), driven: Mapping[str, Drive] | None = None) -> Path:
    """Write rotors, loops and drives of a robot to a `.steelyard.toml` file.

    Args:
        robot: the robot.
        path: of the file.
        known: names of loops that the model file has.
        driven: drives that the model file has; what they leave open or have otherwise is written.

    Returns:
        The path.
    """
    path = Path(path)
    path.write_text(side_text(robot, known=known, driven=driven), encoding="utf-8")
    return path


def side_text(robot: Robot, *, known=(), driven: Mapping[str, Drive] | None = None) -> str:
    """Content of the side file of a robot; known, driven: as of `write_side`."""
    lines = ["version = 1"]
    loops = [loop for loop in robot.loops if loop.name not in known]
    if loops and robot.actuated:
        lines.append(f"actuated = {json.dumps(list(robot.actuated))}")
    for loop in loops:
        lines += ["", "[[loop]]", *(f"{key} = {value}" for key, value in _closure(robot, loop))]
    for rotor in robot.rotors:
        lines += ["", "[[rotor]]", *(f"{key} = {value}" for key, value in _entry(robot, rotor))]
    for name, drive in robot.drives.items():
        told = _told(drive, Drive() if driven is None else driven.get(name, Drive()))
        if told:
            lines += ["", f"[drives.{json.dumps(name)}]", *told]
    return "\n".join(lines) + "\n"


def _told(drive: Drive, before: Drive) -> list[str]:
    """Lines of the numbers of a drive that another description of it does not say; of all where it has another kind."""
    keys = drive.differing(before, TOLERANCE)
    found = {key: getattr(drive, key) for key in (KEYS if keys == KEYS[:1] else keys)}
    return [f"{key} = {json.dumps(value)}" for key, value in found.items() if value is not None]


def _closure(robot: Robot, loop: Loop) -> Iterator[tuple[str, str]]:
    yield "name", json.dumps(loop.name)
    yield "kind", json.dumps(loop.kind)
    for key, prefix, body, R_body, p_body in zip(
        ("link", "other"), ("", "other_"), loop.bodies, loop.rotations, loop.positions, strict=True
    ):
        R, p = _link_pose(robot, body)
        yield key, json.dumps(body or GROUND)
        yield f"{prefix}position", _numbers(R.T @ (p_body - p))
        yield f"{prefix}rotation", _numbers(rpy_from_rotation(R.T @ R_body))


def _link_pose(robot: Robot, name: str | None):
    """Pose in its body of the link with a body's name, whose frame the numbers of the file are in."""
    for link in robot.links:
        if link.name == name:
            return link.rotation, link.position
    return np.eye(3), np.zeros(3)


def _entry(robot: Robot, rotor: Rotor) -> Iterator[tuple[str, str]]:
    R, p = _link_pose(robot, rotor.carrier)
    joints, ratios = zip(*rotor.gears, strict=True)
    yield "joint", json.dumps(list(joints) if rotor.also else rotor.joint)
    yield "gear_ratio", _numbers(ratios) if rotor.also else repr(float(rotor.gear_ratio))
    yield "carrier", json.dumps(rotor.carrier or GROUND)
    yield "axis", _numbers(R.T @ rotor.axis)
    yield "position", _numbers(R.T @ (rotor.position - p))
    yield "rotation", _numbers(rpy_from_rotation(R.T @ rotor.rotation))
    if rotor.theta.any():
        mass, com, inertia = to_com_inertia(rotor.theta)
        yield "mass", repr(float(mass))
        yield "com", _numbers(com)
        yield "inertia", _numbers(inertia[UPPER])
    yield "symmetric", "true" if rotor.symmetric else "false"


def _numbers(values) -> str:
    return json.dumps([float(value) for value in values])
