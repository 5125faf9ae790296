"""Information as an NPZ file, with the fingerprint of its robot, so that models cannot be mixed up."""

import json
from pathlib import Path
from zipfile import BadZipFile

import numpy as np

from steelyard.errors import FitError, OptionError
from steelyard.identifiability.basis import Basis
from steelyard.information.sums import Information
from steelyard.model.fingerprint import fingerprint
from steelyard.model.robot import Robot
from steelyard.parameters import Extra, ParameterLayout

FORMAT = "steelyard information 1"
ARRAYS = ("gram", "moment", "energy", "counts", "weights", "columns")
PARTS = ("columns", "regrouping", "null_space")  # of the basis


def save_information(info: Information, path) -> Path:
    """Write an Information to an NPZ file; an interrupted write leaves what was there. Returns the path.

    Raises OptionError when it has columns of the user, whose functions no file can hold.
    """
    path = Path(path)
    layout = info.layout
    if any(extra.function is not None for extra in layout.extras):
        raise OptionError("An Information with the user's own columns cannot be saved: their functions would be lost.")
    about = {
        "format": FORMAT,
        "robot": None if info.robot is None else info.robot.name,
        "fingerprint": None if info.robot is None else fingerprint(info.robot, rotors=bool(layout.rotor_names)),
        "bodies": layout.body_names,
        "rotors": layout.rotor_names,
        "dof_names": layout.dof_names,
        "dofs": layout.dofs,
        "terms": layout.terms,
        "extras": [[e.name, e.unit, e.kind, e.dofs, e.ratios] for e in layout.extras],
        "groups": info.group_names,
        "coulomb_width": info.coulomb_width,
        "independence": info.independence,
        "engine": info.engine,
    }
    arrays = {name: getattr(info, name) for name in ARRAYS}
    arrays |= {f"basis_{name}": getattr(info.basis, name) for name in PARTS}
    if info.factors is not None:
        arrays["factors"] = info.factors
    partial = path.with_name(f".{path.name}.partial")
    try:
        with partial.open("wb") as file:
            np.savez(file, about=json.dumps(about), **arrays)
        partial.replace(path)
    finally:
        partial.unlink(missing_ok=True)
    return path


def load_information(path, robot: Robot | None = None) -> Information:
    """Read an Information back, for the robot it was made with (none for a raw regression).

    Raises FitError when the file is something else or belongs to a robot of other kinematics.
    """
    try:
        with np.load(path, allow_pickle=False) as file:
            about, arrays = json.loads(str(file["about"])), {name: file[name] for name in file.files if name != "about"}
        recognised = about["format"] == FORMAT
    except (OSError, EOFError, ValueError, KeyError, TypeError, BadZipFile) as error:
        raise FitError(f"{path} is not a saved Information ({error}).") from error
    if not recognised:
        raise FitError(f"{path} has format '{about['format']}'; this version reads '{FORMAT}'.")
    rotors = tuple(about.get("rotors", ()))
    given = None if robot is None else fingerprint(robot, rotors=bool(rotors))
    if given != about["fingerprint"]:
        name = "none" if robot is None else f"'{robot.name}'"
        raise FitError(
            f"{path} belongs to robot '{about['robot']}' with other joints, rotors, frames or gravity than the one "
            f"given ({name}). Load the model it was accumulated with."
        )
    extras = (Extra(name, unit, kind, tuple(dofs), tuple(r)) for name, unit, kind, dofs, r in about["extras"])
    names = (tuple(about[key]) for key in ("bodies", "dof_names", "dofs", "terms"))
    return Information(
        **{name: arrays[name] for name in ARRAYS},
        group_names=tuple(about["groups"]),
        layout=ParameterLayout(*names, extras=tuple(extras), rotor_names=rotors),
        basis=Basis(*(arrays[f"basis_{name}"] for name in PARTS)),
        robot=robot,
        coulomb_width=about["coulomb_width"],
        independence=about["independence"],
        engine=about["engine"],
        factors=arrays.get("factors"),
    )
