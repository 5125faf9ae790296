"""The `[known]` tables of a side file: masses, what stays as in the model, ties, and where mass can be."""

from collections.abc import Iterator
from dataclasses import dataclass, field, replace

import numpy as np

from steelyard.errors import InertiaError, ModelError, choices
from steelyard.inertia import Ellipsoid
from steelyard.model.robot import WORLD, Link, Robot
from steelyard.model.side_table import Table
from steelyard.spatial import rotation_from_rpy

KEYS = ("masses", "fixed", "tie", "ellipsoid")
PARTS = ("mass", "com", "inertia", "all")
ALL = "all"
MASS, CENTER = "mass", "com"  # what an ellipsoid holds


@dataclass(frozen=True, eq=False)
class SideKnown:
    """What a side file knows of bodies, by body name; arguments of `fit.consistent`.

    masses: kg of a body, of several (a tuple of names) or of "all"; fixed: parts that stay as in the model; tied:
    (first, second, mirror axis or None); ellipsoids: in body frames, their union holds the body's mass; centers: in
    body frames, hold its centre of mass. Rotors are bodies, in their own frames.
    """

    masses: dict[str | tuple[str, ...], float] = field(default_factory=dict)
    fixed: dict[str, tuple[str, ...] | str] = field(default_factory=dict)
    tied: tuple[tuple[str, str, str | None], ...] = ()
    ellipsoids: dict[str, list[Ellipsoid]] = field(default_factory=dict)
    centers: dict[str, Ellipsoid] = field(default_factory=dict)

    def without_rotors(self, robot: Robot) -> "SideKnown":
        """The same for a fit in which rotors are no bodies."""
        rotors = {rotor.name for rotor in robot.rotors}
        sets, held = ({k: x for k, x in each.items() if k not in rotors} for each in (self.ellipsoids, self.centers))
        return replace(self, ellipsoids=sets, centers=held)

    def words(self) -> Iterator[str]:
        """What is known, in a few words, for the notes of a run."""
        for names, mass in self.masses.items():
            yield f"mass of {names if isinstance(names, str) else ' + '.join(names)} is {mass:g} kg."
        for name, parts in self.fixed.items():
            yield f"{name} keeps {parts if isinstance(parts, str) else ', '.join(parts)} of the model."
        for first, second, mirror in self.tied:
            yield f"{second} {f'is the {mirror} mirror image of' if mirror else 'equals'} {first}."
        if self.ellipsoids:
            yield f"ellipsoids hold the mass of {choices(self.ellipsoids)}."
        if self.centers:
            yield f"ellipsoids hold the centre of mass of {choices(self.centers)}."


def known(table: Table, robot: Robot) -> SideKnown:
    """Knowledge of a `[known]` table. Raises ModelError that names the key."""
    table.refuse_unknown(KEYS)
    ellipsoids: dict[str, list[Ellipsoid]] = {}
    centers: dict[str, Ellipsoid] = {}
    for entry in table.tables("ellipsoid"):
        name, ellipsoid = _ellipsoid(entry, robot)
        holds = entry.text("holds") or MASS
        if holds not in (MASS, CENTER):
            entry.refuse("holds", f'"{MASS}" or "{CENTER}"')
        if holds == MASS:
            ellipsoids.setdefault(name, []).append(ellipsoid)
        elif name in centers:
            raise ModelError(f"{entry.where}: the centre of mass of '{name}' has an ellipsoid already; give one.")
        else:
            centers[name] = ellipsoid
    return SideKnown(
        dict(_mass(table.table("masses"), key, robot) for key in table.table("masses").values),
        dict(_fixed(table.table("fixed"), key, robot) for key in table.table("fixed").values),
        tuple(_tie(entry, robot) for entry in table.tables("tie")),
        ellipsoids,
        centers,
    )


def _mass(table: Table, key: str, robot: Robot):
    mass = table.number(key)
    if not mass or mass < 0:
        table.refuse(key, "a positive number of kilograms")
    names = tuple(name.strip() for name in key.split("+"))
    if names == (ALL,):
        return ALL, mass
    for name in names:
        _require_body(table.name(key), name, robot)
    return names[0] if len(names) == 1 else names, mass


def _fixed(table: Table, key: str, robot: Robot):
    _require_body(table.name(key), key, robot)
    value = table.values[key]
    parts = [value] if isinstance(value, str) else value
    if not isinstance(parts, list) or not parts or any(part not in PARTS for part in parts):
        table.refuse(key, f'a list of "mass", "com" and "inertia", or "{ALL}"')
    return key, ALL if ALL in parts else tuple(parts)


def _tie(table: Table, robot: Robot) -> tuple[str, str, str | None]:
    table.refuse_unknown(("first", "second", "mirror"))
    first, second = (_named(table, key, robot.body_names, robot) for key in ("first", "second"))
    mirror = table.text("mirror")
    if mirror is not None and mirror not in ("x", "y", "z"):
        table.refuse("mirror", '"x", "y" or "z", the axis normal to the mirror plane')
    return first, second, mirror


def _ellipsoid(table: Table, robot: Robot) -> tuple[str, Ellipsoid]:
    table.refuse_unknown(("link", "rotor", "holds", "center", "semi_axes", "rotation"))
    center, lengths, rpy = (table.numbers(key, 3) for key in ("center", "semi_axes", "rotation"))
    if lengths is None:
        raise ModelError(f"{table.name('semi_axes')} is missing; expected three lengths in m.")
    R, place = rotation_from_rpy(np.zeros(3) if rpy is None else rpy), np.zeros(3) if center is None else center
    if "rotor" in table.values:
        if "link" in table.values:
            raise ModelError(f"{table.where} names a link and a rotor; an ellipsoid belongs to one of them.")
        name = _named(table, "rotor", {rotor.name for rotor in robot.rotors}, robot, "rotor")
    else:
        moving = {link.name: link for link in robot.links if link.body != WORLD}
        link: Link = moving[_named(table, "link", moving, robot)]
        R, place = link.rotation @ R, link.position + link.rotation @ place
        name = robot.body_names[link.body]
    try:
        return name, Ellipsoid.from_semi_axes(lengths, center=place, rotation=R)
    except InertiaError as error:
        raise ModelError(f"{table.where}: {error}.") from error


def _named(table: Table, key: str, names, robot: Robot, kind: str = "moving link") -> str:
    name = table.text(key)
    there = choices(names) if names else f"no {kind}s"
    if name is None:
        raise ModelError(f"{table.name(key)} is missing. Robot '{robot.name}' has {there}.")
    if name not in names:
        raise ModelError(f"{table.name(key)} is '{name}', which is no {kind} of robot '{robot.name}'. It has {there}.")
    return name


def _require_body(where: str, name: str, robot: Robot):
    if name not in robot.body_names:
        raise ModelError(
            f"{where}: robot '{robot.name}' has no body '{name}'. Its bodies: {choices(robot.body_names)}."
        )
