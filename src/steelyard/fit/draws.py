"""Samples of the posterior of a result, to randomise simulations: row i of all arrays is one robot."""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np

from steelyard import storage
from steelyard.arguments import require_type
from steelyard.cards import Card
from steelyard.drive_kinds import DRIVE_NUMBERS
from steelyard.errors import FitError, ModelError, OptionError, choices
from steelyard.fit.joint_normal import JointNormal
from steelyard.inertia import is_consistent
from steelyard.information.files import npz_bytes, read_npz, require_shape
from steelyard.model import Robot
from steelyard.model.drive import Drive
from steelyard.terms import TERMS, ParameterLayout, stated_values

FORMAT = "steelyard draws 1.0"
FILE = "draws.npz"  # beside a result
COUNT, FEWER, MANY = 256, 64, 250  # samples; of robots of more than so many parameters, whose samples take seconds
OF_JOINTS = ("damping", "frictionloss", "armature")  # in model files
LOADED = ("load_friction_motor", "load_friction_external")


@dataclass(frozen=True, eq=False, repr=False)
class Draws(Card):
    """n samples of what a log leaves open. They hold together: another row of one array belongs to another robot.

    Attributes:
        bodies: names of the nb bodies, in whose frames inertias are.
        joints: names of the nv degrees of freedom.
        inertias: (n, nb, 10), each of a body that can exist, kg, kg m and kg m^2.
        values: (n, nv) by name: damping, frictionloss and armature of joints, offset where it was identified; of drives
            gain (torque per unit of what the drive takes), delay, limit and slope_limit (inf without one),
            friction_base, load_friction_motor and load_friction_external. SI units.
        rotors: names of motor rotors that are bodies of their own.
        rotor_inertias: (n, nr, 10) of these in rotor frames.
        ground: (n, 2) coefficient of friction and time constant, s, of contacts with the ground, of a robot that walks.
    """

    bodies: tuple[str, ...]
    joints: tuple[str, ...]
    inertias: np.ndarray
    values: Mapping[str, np.ndarray] = field(default_factory=dict)
    rotors: tuple[str, ...] = ()
    rotor_inertias: np.ndarray | None = None
    ground: np.ndarray | None = None

    def __len__(self) -> int:
        return len(self.inertias)

    def _rows(self):
        return {"samples": len(self), "bodies": self.bodies, "joints": self.joints or None, "values": list(self.values)}

    def robot(self, index: int, robot: Robot) -> Robot:
        """A robot with the values of one row.

        Args:
            index: of the row.
            robot: that the result is of; what the rows do not have stays.

        Returns:
            The robot.

        Raises:
            OptionError: a row that there is not.
            ModelError: a robot of other bodies, joints or rotors.
        """
        if not -len(self) <= index < len(self):
            raise OptionError(f"Row {index}: there are {len(self)} samples, 0 to {len(self) - 1}.")
        for what, own, other in (
            ("bodies", self.bodies, robot.body_names),
            ("joints", self.joints, robot.dof_names),
            ("rotors", self.rotors, tuple(rotor.name for rotor in robot.rotors) if self.rotors else ()),
        ):
            if own != other:
                raise ModelError(
                    f"Robot '{robot.name}' has other {what} ({choices(other) or 'none'}) than these samples "
                    f"({choices(own) or 'none'}): they belong to the model of their own result."
                )
        row = {name: each[index] for name, each in self.values.items()}
        found = robot.with_inertias(self.inertias[index])
        found = found.with_joint_properties(**{name: row[name] for name in OF_JOINTS if name in row})
        if self.rotor_inertias is not None:
            found = found.with_rotor_inertias(self.rotor_inertias[index])
        drives = {
            name: _drawn(drive, {key: float(each[self.joints.index(name)]) for key, each in row.items()})
            for name, drive in robot.drives.items()
            if name in self.joints
        }
        floor = robot.floor
        if floor is not None and self.ground is not None:
            floor = floor.changed(*self.ground[index].tolist())
        return replace(found, drives=dict(robot.drives) | drives, floor=floor)


def _drawn(drive: Drive, row: Mapping[str, float]) -> Drive:
    """A drive with the numbers of a row; those that it does not have stay unstated."""
    values: dict[str, float | None] = {}
    if drive.kind is not None and "gain" in row:
        values[drive.features.gain] = row["gain"]
    for key in ("limit", "slope_limit", "delay"):
        if key in row and getattr(drive, key) is not None:
            values[key] = row[key] if np.isfinite(row[key]) else None
    if drive.friction_base is not None:
        values |= {key: row[key] for key in ("friction_base", *LOADED) if key in row}
    return replace(drive, **values)


def drawn(
    joint: JointNormal, layout: ParameterLayout, robot: Robot | None, lower, *, count: int | None = None, seed: int = 0
) -> Draws:
    """Samples of a posterior, equalities met, as Draws. lower: (p,) bounds of friction and armature. count: by default
    `COUNT`, of large robots `FEWER`. Raises OptionError for a count below one."""
    if layout is not layout.plain:  # of the others nothing is drawn
        columns = layout.in_plain
        joint, layout = joint.of_columns(columns), layout.plain
        lower = None if lower is None else lower[columns]
    count = (FEWER if layout.size > MANY else COUNT) if count is None else count
    if count < 1:
        raise OptionError(f"count={count}: at least one sample is drawn.")
    lower = np.full(layout.size, -np.inf) if lower is None else lower
    x = joint.samples(count, lower, np.random.default_rng(seed))
    values = {}
    if robot is not None:
        stated = stated_values(robot)
        for term in layout.terms:
            each = np.repeat(np.asarray(stated.get(term, np.zeros(robot.nv)), float)[None], count, axis=0)
            each[:, list(layout.dofs)] = x[:, layout.term(term)]
            values[TERMS[term].stated or term] = each
    return Draws(
        bodies=layout.body_names,
        joints=() if robot is None else robot.dof_names,
        inertias=x[:, layout.links].reshape(count, -1, 10),
        values=values,
        rotors=layout.rotor_names,
        rotor_inertias=x[:, layout.rotors].reshape(count, -1, 10) if layout.rotor_names else None,
    )


def save_draws(draws: Draws, path) -> Path:
    """Write samples to an NPZ file, as docs/files.md says.

    Args:
        draws: what is written.
        path: of the file.

    Returns:
        The path.
    """
    require_type(Draws, draws=draws)
    arrays = {"body_names": np.array(draws.bodies, dtype=str), "joint_names": np.array(draws.joints, dtype=str)}
    arrays |= {"inertias": draws.inertias, **draws.values}
    if draws.rotor_inertias is not None:
        arrays |= {"rotor_names": np.array(draws.rotors, dtype=str), "rotor_inertias": draws.rotor_inertias}
    if draws.ground is not None:
        arrays |= {"ground": draws.ground}
    storage.write_bytes(path, npz_bytes({"format": FORMAT}, arrays))
    return Path(path)


def load_draws(path) -> Draws:
    """Read samples back.

    Args:
        path: of the file, or of the folder of a result.

    Returns:
        The Draws.

    Raises:
        FitError: another file, arrays that do not belong together, or bodies that cannot exist.
    """
    path = Path(path) / FILE if Path(path).is_dir() else Path(path)
    if not path.is_file():
        raise FitError(f"{path} is missing: no samples were written there. Identify again with --out.")
    _, arrays = read_npz(path, FORMAT, "a file of samples (draws.npz of a result)")
    try:
        return _checked(arrays)
    except (ValueError, KeyError, IndexError) as error:
        raise FitError(f"{path} is damaged ({error}); identify again.") from error


def _checked(arrays: dict[str, Any]) -> Draws:
    names = {key: tuple(map(str, arrays.pop(f"{key}_names", ()))) for key in ("body", "joint", "rotor")}
    inertias, rotors, ground = arrays.pop("inertias"), arrays.pop("rotor_inertias", None), arrays.pop("ground", None)
    n = len(inertias)
    require_shape("inertias", inertias, (n, len(names["body"]), 10))
    known = (*DRIVE_NUMBERS, *(term for term in TERMS))
    for name, each in arrays.items():
        if name not in known:
            raise ValueError(f"array {name!r} is not known")
        require_shape(name, each, (n, len(names["joint"])))
        if name in OF_JOINTS and not (np.isfinite(each).all() and (each >= 0).all()):
            raise ValueError(f"{name} is negative or not finite")
    if not is_consistent(inertias).all():
        raise ValueError("inertias of bodies that cannot exist")
    if rotors is not None:
        require_shape("rotor_inertias", rotors, (n, len(names["rotor"]), 10))
    if ground is not None:
        require_shape("ground", ground, (n, 2))
        if not (np.isfinite(ground).all() and (ground > 0).all()):
            raise ValueError("ground is not positive")
    return Draws(names["body"], names["joint"], inertias, arrays, names["rotor"], rotors, ground)
