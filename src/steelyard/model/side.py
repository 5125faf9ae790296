"""The side file `ROBOT.steelyard.toml`: what a model file cannot say. Version 1 knows motor rotors, closed loops, which
joints have motors, what drives them, what else of joints and of gravity has no place, and facts about bodies
(docs/side_file.md).

Strict on purpose: a key that is not understood is an error, never ignored.
"""

import tomllib
from dataclasses import replace
from pathlib import Path

import numpy as np

from steelyard.errors import ModelError, choices
from steelyard.model.compare import PROPERTIES, loop_difference
from steelyard.model.drive import KEYS, NUMBERS, Drive
from steelyard.model.robot import Frame, Robot
from steelyard.model.side_known import SideKnown, known
from steelyard.model.side_mechanism import LOOP_KEYS, ROTOR_KEYS, read_loop, read_rotor
from steelyard.model.side_table import Table

SUFFIX = ".steelyard.toml"
MAX_BYTES = 2**20
VERSION = 1
REST_KEYS = ("gravity", "sites", "joints")
LIMITS = {"lower": "nq", "upper": "nq", "velocity_limit": "nv", "effort_limit": "nv"}
"""Limits of a joint, and the size of each."""


def side_path(model) -> Path:
    """Where the side file of a model file is looked for: `arm.steelyard.toml` beside `arm.urdf`."""
    model = Path(model)
    return model.with_name(model.stem + SUFFIX)


def read_side(path, robot: Robot, *, gravity=None) -> Robot:
    """The robot with what its side file adds.

    Args:
        path: of the `.steelyard.toml` file.
        robot: the robot that it belongs to.
        gravity: (3,) m/s^2 that counts over the file's; None for the file's.

    Returns:
        A copy of `robot` whose `rotors` are the file's, in its order; its loops join those of the model file,
        `actuated`, if given, replaces what that says, and gravity, properties and limits of joints, and `drives` count
        over those of the model file. Links that are `sites` are sites.

    Raises:
        ModelError: names the file, the key and what was expected: unknown or mistyped keys, joints or links that the
            robot does not have, rotors that no body can be.
    """
    document = _document(Path(path))
    robot = read_rest(document, robot)
    if gravity is not None:
        robot = replace(robot, gravity=np.asarray(gravity, dtype=float))
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
    known(document.table("known"), robot)  # refused here already, whoever asks for it later
    return replace(robot, drives=_drives(document.table("drives"), robot))


def _loops(document: Table, robot: Robot):
    names, own = [], {loop.name: loop for loop in robot.loops}
    for table in document.tables("loop"):
        table.refuse_unknown(LOOP_KEYS)
        closure = read_loop(table, robot)
        known = own.get(closure.name)
        if closure.name in names or (known is not None and loop_difference(known, closure)):
            table.refuse("name", "a name that no other loop has")
        names.append(closure.name)
        if known is None:  # else the model file says the same
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


def read_known(path, robot: Robot) -> SideKnown:
    """What a side file knows of the robot's bodies, as `fit.consistent` takes its fields. Raises ModelError as
    `read_side`."""
    return known(_document(Path(path)).table("known"), robot)


def _document(path: Path) -> Table:
    document = Table(_parsed(path), str(path))
    document.refuse_unknown(("version", "actuated", "rotor", "loop", "known", "drives", *REST_KEYS))
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


def read_rest(document: Table, robot: Robot) -> Robot:
    """The robot with what a side file says of gravity, sites and joints. Raises ModelError that names the key."""
    gravity = document.numbers("gravity", 3)
    if gravity is not None:
        robot = replace(robot, gravity=gravity)
    return _with_joints(document.table("joints"), _with_sites(document, robot))


def _with_sites(document: Table, robot: Robot) -> Robot:
    """The robot with links that are sites in the model that its file was made from."""
    names = document.texts("sites") or ()
    links = {link.name: link for link in robot.links if link.name not in robot.body_names and not link.theta.any()}
    if set(names) - set(links) - {site.name for site in robot.sites}:
        document.refuse("sites", f"names of links without mass that are fixed to others: {choices(links)}")
    sites = tuple(
        Frame(name, links[name].body, links[name].rotation, links[name].position) for name in names if name in links
    )
    kept = tuple(link for link in robot.links if link.name not in {site.name for site in sites})
    return replace(robot, links=kept, sites=(*robot.sites, *sites))


def _with_joints(table: Table, robot: Robot) -> Robot:
    arrays = {field: getattr(robot, field).copy() for field in PROPERTIES}
    joints = []
    known = {joint.name: joint for joint in robot.joints}
    for name in table.values:
        if name not in known:
            table.refuse(name, f"the table of a joint of robot '{robot.name}': {choices(known)}")
    for joint, place in zip(robot.joints, robot.v_slices, strict=True):
        own = table.table(joint.name)
        own.refuse_unknown((*LIMITS, *(() if joint.mimics else PROPERTIES)))
        for field, array in arrays.items():
            values = _values(own, field, joint.nv)
            if values is not None:
                if (values < 0).any():
                    own.refuse(field, "numbers that are not negative")
                array[place] = values
        found = {key: _values(own, key, getattr(joint, size)) for key, size in LIMITS.items()}
        joints.append(replace(joint, **{key: values for key, values in found.items() if values is not None}))
    return replace(robot, joints=tuple(joints), **arrays)


def with_limits(robot: Robot, other: Robot) -> Robot:
    limits = {joint.name: {key: getattr(joint, key) for key in LIMITS} for joint in other.joints}
    return replace(robot, joints=tuple(replace(joint, **limits.get(joint.name, {})) for joint in robot.joints))


def _values(table: Table, key: str, count: int) -> np.ndarray | None:
    if isinstance(table.values.get(key), list):
        return table.numbers(key, count)
    number = table.number(key)
    return None if number is None else np.full(count, number)
