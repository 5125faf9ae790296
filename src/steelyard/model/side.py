"""The side file `ROBOT.steelyard.toml`: what a model file cannot say. Version 1 knows motor rotors, closed loops, which
joints have motors, and facts about bodies (docs/side_file.md).

Strict on purpose: a key that is not understood is an error, never ignored.
"""

import tomllib
from dataclasses import replace
from pathlib import Path

from steelyard.errors import ModelError, choices
from steelyard.model.robot import Robot
from steelyard.model.side_known import Known, known
from steelyard.model.side_loop import KEYS as LOOP_KEYS
from steelyard.model.side_loop import loop
from steelyard.model.side_rotor import KEYS, rotor
from steelyard.model.side_table import Table

SUFFIX = ".steelyard.toml"
VERSION = 1
MAX_BYTES = 2**20


def side_path(model) -> Path:
    """Where the side file of a model file is looked for: `arm.steelyard.toml` beside `arm.urdf`."""
    model = Path(model)
    return model.with_name(model.stem + SUFFIX)


def read_side(path, robot: Robot) -> Robot:
    """The robot with what its side file adds.

    path: the `.steelyard.toml` file. Returns a copy of `robot` whose `rotors` are the file's, in its order; its loops
    join those of the model file, and `actuated`, if given, replaces what that says. Raises ModelError that names the
    file, the key and what was expected: unknown or mistyped keys, joints or links that the robot does not have, rotors
    that no body can be.
    """
    document = _document(Path(path))
    known(document.table("known"), robot)  # refused here already, whoever asks for it later
    rotors = []
    for table in document.tables("rotor"):
        table.refuse_unknown(KEYS)
        rotors.append(rotor(table, robot))
        if rotors[-1].joint in [other.joint for other in rotors[:-1]]:
            raise ModelError(f"{table.where} drives joint '{rotors[-1].joint}' again; describe one rotor a joint.")
    robot = replace(robot, rotors=tuple(rotors), loops=(*robot.loops, *_loops(document, robot)))
    driven = document.texts("actuated")
    unknown = [name for name in driven or () if name not in robot.joint_names]
    if unknown:
        document.refuse("actuated", f"names of joints of robot '{robot.name}': {choices(robot.joint_names)}")
    return robot if driven is None else robot.with_actuated(driven)


def _loops(document: Table, robot: Robot):
    names = list(robot.loop_names)
    for table in document.tables("loop"):
        table.refuse_unknown(LOOP_KEYS)
        closure = loop(table, robot)
        if closure.name in names:
            table.refuse("name", "a name that no other loop has")
        names.append(closure.name)
        yield closure


def read_known(path, robot: Robot) -> Known:
    """What a side file knows of the robot's bodies. Raises ModelError as `read_side` does."""
    return known(_document(Path(path)).table("known"), robot)


def _document(path: Path) -> Table:
    document = Table(_parsed(path), str(path))
    document.refuse_unknown(("version", "actuated", "rotor", "loop", "known"))
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
