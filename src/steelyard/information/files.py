"""Information as an NPZ file, with the fingerprint of its robot, so that models cannot be mixed up.

docs/files.md describes the file; any tool that reads NumPy's arrays and JSON can use it.
"""

import io
import json
from pathlib import Path
from typing import Any

import numpy as np

from steelyard import storage
from steelyard.arguments import require_type
from steelyard.errors import FitError, LogError, OptionError
from steelyard.identifiable.basis import Basis
from steelyard.information.gram import Squares
from steelyard.information.sums import Information
from steelyard.log.npz import members
from steelyard.model import Robot
from steelyard.model.compare import fingerprint
from steelyard.storage import require_readable
from steelyard.terms import ParameterLayout
from steelyard.weighed_columns import Extra

FORMAT = "steelyard information 1.1"
ARRAYS = ("gram", "moment", "energy", "counts", "weights", "columns")
OPTIONAL = ("factors", "projection")
PARTS = ("columns", "regrouping", "null_space")  # of the basis


def save_information(info: Information, path) -> Path | str:
    """Write an Information to an NPZ file; an interrupted write leaves what was there. Returns the path.

    Args:
        info: with columns of a robot or of a raw regression.
        path: of this machine, or a URL that fsspec knows.

    Raises:
        OptionError: when it has columns of the user, whose functions no file can hold.

    Example:
        >>> import tempfile, numpy as np, steelyard as sy
        >>> info = sy.Information.from_arrays(np.eye(3), np.ones(3))
        >>> path = sy.save_information(info, tempfile.mkdtemp() + "/sums.npz")
        >>> sy.load_information(path).n
        3
    """
    require_type(Information, info=info)
    about, arrays = packed(info)
    storage.write_bytes(path, npz_bytes({"format": FORMAT} | about, arrays))
    return str(path) if storage.is_url(path) else Path(path)


def is_information(path: Path) -> bool:
    """Whether a file is an NPZ archive with the member of a saved Information that no log has; False for what cannot be
    read."""
    try:
        with members(path) as file:
            return "about" in file.keys
    except LogError:
        return False


def load_information(path, robot: Robot | None = None) -> Information:
    """Read an Information back, for the robot it was made with (none for a raw regression).

    Args:
        path: as of `save_information`.
        robot: the one that the Information was accumulated with.

    Raises:
        FitError: when the file is something else, belongs to a robot of other kinematics, or is of a newer major
            version; a newer minor version is read with a NewerFormat warning.
    """
    about, arrays = read_npz(path, FORMAT, "a saved Information")
    return unpacked(about, arrays, robot, path)


def packed(info: Information) -> tuple[dict[str, Any], dict[str, np.ndarray]]:
    """What a file says about an Information, plain JSON values, and its arrays. Raises OptionError for columns of the
    user."""
    layout = info.layout
    if any(extra.function is not None for extra in layout.extras):
        raise OptionError("An Information with the user's own columns cannot be saved: their functions would be lost.")
    about = {
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
        "contacts": info.contacts if isinstance(info.contacts, str) else dict(info.contacts),
        "engine": info.engine,
        "model_facts": info.model_facts,
    }
    arrays = {name: getattr(info, name) for name in ARRAYS}
    arrays |= {f"basis_{name}": getattr(info.basis, name) for name in PARTS}
    arrays |= {name: value for name in OPTIONAL if (value := getattr(info, name)) is not None}
    return about, arrays


def unpacked(about: dict[str, Any], arrays: dict[str, np.ndarray], robot: Robot | None, path) -> Information:
    """The Information of `packed`, for a robot or None. path: of the file, for messages. Raises FitError for a robot of
    other kinematics."""
    try:
        return _unpacked(about, arrays, robot, path)
    except (ArithmeticError, AttributeError, KeyError, OptionError, TypeError, ValueError) as error:
        raise FitError(f"{path} is no whole Information ({type(error).__name__}: {error}). Save it again.") from error


def _unpacked(about, arrays, robot, path) -> Information:
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
    layout = ParameterLayout(*names, extras=tuple(extras), rotor_names=rotors)
    _require_shapes(arrays, len(about["groups"]), layout.size)
    return Information(
        squares=Squares.of(arrays["gram"]),
        **{name: arrays[name] for name in ARRAYS[1:]},
        group_names=tuple(about["groups"]),
        layout=layout,
        basis=Basis(*(arrays[f"basis_{name}"] for name in PARTS)),
        robot=robot,
        coulomb_width=about["coulomb_width"],
        independence=about["independence"],
        contacts=about.get("contacts", "point"),
        engine=about["engine"],
        model_facts=bool(about.get("model_facts", False)),
        **{name: arrays.get(name) for name in OPTIONAL},
    )


def _require_shapes(arrays: dict[str, np.ndarray], groups: int, size: int) -> None:
    """Raises ValueError for arrays that are no numbers, or of shapes that do not belong together."""
    k, r = len(arrays["columns"]), len(arrays["basis_columns"])
    expected = {
        "gram": (groups, k, k),
        "moment": (groups, k),
        "energy": (groups,),
        "counts": (groups,),
        "weights": (groups,),
        "columns": (k,),
        "basis_columns": (r,),
        "basis_regrouping": (r, size),
        "basis_null_space": (size, size - r),
        "factors": (groups, k + 1, k + 1),
        "projection": (groups,),
    }
    for name, shape in expected.items():
        if name in arrays:
            require_shape(name, arrays[name], shape)


def require_shape(name: str, array: np.ndarray, shape: tuple[int, ...]) -> None:
    """Raise ValueError for an array that is no numbers or of another shape."""
    if array.shape != shape or array.dtype.kind not in "fiu":
        raise ValueError(f"{name} is {array.dtype} of shape {array.shape}, expected numbers of shape {shape}")


def npz_bytes(about: dict[str, Any], arrays: dict[str, np.ndarray]) -> bytes:
    """An NPZ file with JSON text among its arrays."""
    buffer = io.BytesIO()
    np.savez_compressed(buffer, allow_pickle=False, **arrays, about=np.array(json.dumps(about)))
    return buffer.getvalue()


def read_npz(path, expected: str, what: str) -> tuple[dict[str, Any], dict[str, np.ndarray]]:
    """What a file of `npz_bytes` says, and its arrays. expected: the format that its text has to name; what: it is to
    hold, for messages. Raises FitError for another file, or a version that is not read."""
    try:
        with members(Path(path), io.BytesIO(storage.read_bytes(path))) as file:
            arrays = file.everything()
        about = json.loads(str(arrays.pop("about")))
        found = about["format"]
    except (LogError, OSError, ValueError, KeyError, TypeError, RecursionError) as error:
        raise FitError(f"{path} is not {what} ({error}).") from error
    require_readable(found, expected, path, FitError)
    return about, arrays
