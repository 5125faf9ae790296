"""The side file `ROBOT.steelyard.toml`: what a model file cannot say. Version 1 knows motor rotors and facts
about bodies (docs/side_file.md).

Strict on purpose: a key that is not understood is an error, never ignored.
"""

import tomllib
from dataclasses import replace
from pathlib import Path

from steelyard.errors import ModelError
from steelyard.model.robot import Robot
from steelyard.model.side_known import Known, known
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

    path: the `.steelyard.toml` file. Returns a copy of `robot` whose `rotors` are the file's, in its order. Raises
    ModelError that names the file, the key and what was expected: unknown or mistyped keys, joints or links that the
    robot does not have, rotors that no body can be.
    """
    document = _document(Path(path))
    known(document.table("known"), robot)  # refused here already, whoever asks for it later
    rotors = []
    for table in document.tables("rotor"):
        table.refuse_unknown(KEYS)
        rotors.append(rotor(table, robot))
        if rotors[-1].joint in [other.joint for other in rotors[:-1]]:
            raise ModelError(f"{table.where} drives joint '{rotors[-1].joint}' again; describe one rotor a joint.")
    return replace(robot, rotors=tuple(rotors))


def read_known(path, robot: Robot) -> Known:
    """What a side file knows of the robot's bodies. Raises ModelError as `read_side` does."""
    return known(_document(Path(path)).table("known"), robot)


def _document(path: Path) -> Table:
    document = Table(_parsed(path), str(path))
    document.refuse_unknown(("version", "rotor", "known"))
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
    except tomllib.TOMLDecodeError as error:
        raise ModelError(f"Side file {path} is not valid TOML: {error}.") from error
