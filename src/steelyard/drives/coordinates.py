"""What a refinement may change: numbers of the drives and joints, and masses and centres of mass as far as joints feel.

As coordinates: logarithms of what is positive, all with a weak prior about where they begin.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property

import numpy as np

from steelyard.drives.arrays import DriveArrays
from steelyard.dynamics import regressor
from steelyard.inertia import from_com_inertia, to_com_inertia
from steelyard.model import Robot


@dataclass(frozen=True)
class Kind:
    """A number that every joint has. change: that its derivative is taken over; spread: standard deviation of its
    prior; both of the logarithm, where it has one."""

    change: float
    spread: float
    logarithm: bool = True


KINDS = {
    "gain": Kind(0.03, 1.0),
    "damping": Kind(0.03, 1.0),
    "frictionloss": Kind(0.03, 1.0),
    "armature": Kind(0.05, 2.0),
    "slope_limit": Kind(0.1, 1.0),
    "limit": Kind(0.05, 1.0),
    "delay": Kind(2e-3, 0.02, logarithm=False),  # s
}
MASS_SPREAD, CENTER_SPREAD = 0.5, 0.03  # of the prior of bodies: logarithm of mass, m
BODY_CHANGE = 0.05  # of these, that derivatives are taken over
LEAST, FAR = 1e-6, 1e6  # of what has a logarithm
KNOWN = 1e-6  # times the spread, of what is known
FELT, MOST_DIRECTIONS = 1e-3, 10  # rad or m by which a joint at rest must feel a direction, and how many are free


@dataclass(frozen=True, eq=False)
class Unknowns:
    """Coordinates x: those of every joint for each name in `free`, one after the other, then of the bodies.

    bodies: (k, nb, 4) what each of their coordinates adds to the logarithm of mass and to the centre of mass, m.
    known: names and (nv,) of the joints whose value stays as it is. soonest: s, below which delays do not go. weights:
    (nb, 10) of each group of bodies whose weight is taken for true, as nothing else says its scale: their product with
    the group's inertias stays 1.
    """

    drives: DriveArrays
    free: tuple[str, ...]
    bodies: np.ndarray
    known: Mapping[str, np.ndarray] = field(default_factory=dict)
    soonest: float = 0.0
    weights: tuple[np.ndarray, ...] = ()

    @property
    def joints(self) -> int:
        return len(self.drives.gain)

    @cached_property
    def start(self) -> np.ndarray:
        values = [np.asarray(getattr(self.drives, name), dtype=float) for name in self.free]
        own = [np.log(x) if KINDS[name].logarithm else x for name, x in zip(self.free, values, strict=True)]
        return np.concatenate([*own, np.zeros(len(self.bodies))])

    @cached_property
    def spread(self) -> np.ndarray:
        """Standard deviations of the prior, next to nothing for what is known."""
        stays = [np.broadcast_to(self.known.get(name, False), self.joints) for name in self.free]
        own = [KINDS[name].spread * np.where(at, KNOWN, 1.0) for name, at in zip(self.free, stays, strict=True)]
        return np.concatenate([*own, np.ones(len(self.bodies))])

    def within(self, x) -> np.ndarray:
        """Coordinates as near as the bounds allow."""
        x = np.array(x)
        if "delay" in self.free:
            first = self.free.index("delay") * self.joints
            delays = slice(first, first + self.joints)
            x[delays] = np.maximum(x[delays], np.minimum(self.soonest, self.drives.delay))
        return x

    def at(self, x) -> DriveArrays:
        """The drives of coordinates x."""
        n, values = self.joints, {}
        for i, name in enumerate(self.free):
            own = x[i * n : (i + 1) * n]
            values[name] = _without_limit(np.exp(own)) if KINDS[name].logarithm else own
        if len(self.bodies):
            moved = np.tensordot(x[len(self.free) * n :], self.bodies, axes=1)
            found = np.stack([_changed(t, c) for t, c in zip(self.drives.inertias, moved, strict=True)])
            values["inertias"] = at_scale(found, self.weights)
        return self.drives.changed(**values)

    def without(self, limits: Mapping[str, np.ndarray], x) -> tuple["Unknowns", np.ndarray]:
        """These without limits of some joints, (nv,) by name, and their coordinates."""
        x, values, known = np.array(x), {}, dict(self.known)
        for name in set(limits) & set(self.free):
            first, own = self.free.index(name) * self.joints, limits[name]
            x[first : first + self.joints][own] = np.log(FAR)
            values[name] = np.where(own, FAR, getattr(self.drives, name))
            known[name] = own | known.get(name, False)
        return replace(self, drives=self.drives.changed(**values), known=known), x

    def changes(self, *, together: bool) -> list[tuple[np.ndarray, np.ndarray]]:
        """Coordinates to change at once, by how much (p,), and those that the joints' errors then answer to (nv,).

        together: all joints at once, each answering to its own coordinate alone; else one coordinate after the other.
        """
        n, found = self.joints, []
        for i, name in enumerate(self.free):
            at = i * n + np.arange(n)
            for own in [at] if together else at[:, None]:
                change = np.zeros(len(self.start))
                change[own] = KINDS[name].change
                found.append((change, np.broadcast_to(own, n)))
        for k in range(len(self.free) * n, len(self.start)):
            found.append((BODY_CHANGE * np.eye(len(self.start))[k], np.full(n, k)))
        return found


def _without_limit(values) -> np.ndarray:
    """Endless again, what `_finite` has made finite."""
    return np.where(values > 0.99 * FAR, np.inf, values)


def _changed(theta, change) -> np.ndarray:
    """(10,) of a body whose mass is exp(change[0]) times as large, and its centre moved by change[1:], m."""
    mass, center, inertia = to_com_inertia(theta)
    more = np.exp(change[0])
    return from_com_inertia(mass * more, center + change[1:], inertia * more)


def unknowns(
    robot: Robot,
    drives: DriveArrays,
    free,
    q,
    *,
    bodies: bool = True,
    known: Mapping[str, np.ndarray] | None = None,
    weighed: np.ndarray | None = None,
    weights: tuple[np.ndarray, ...] = (),
    soonest: float = 0.0,
) -> Unknowns:
    """What a log shows of the numbers of drives and of the bodies.

    Directions of the bodies are those that joints at rest feel most, as far as the prior lets them go.

    Args:
        robot: the model.
        drives: where they begin.
        free: names of `KINDS`; those of which no joint has one that is finite stay as they are.
        q: (n, nq) positions where the robot was.
        bodies: whether masses and centres of mass may change.
        known: by name, (nv,) the joints whose value stays.
        weighed: (nb,) bodies whose mass stays; None: of none.
        weights: of groups of bodies whose scale is open, as `weights_of` gives them.
        soonest: least delay, s: negative where samples may be stamped later than they were taken.

    Returns:
        The Unknowns.
    """
    free = tuple(name for name in free if np.isfinite(getattr(drives, name)).any())
    drives, known = _finite(drives, free, dict(known or {}))
    if not bodies:
        return Unknowns(drives, free, np.zeros((0, robot.nb, 4)), known, soonest)
    rows = regressor(robot, q, np.zeros((len(q), robot.nv)), np.zeros((len(q), robot.nv)))
    columns = np.zeros((10 * robot.nb, 4 * robot.nb))
    for b, (mass, *moment) in enumerate(drives.inertias[:, :4]):
        if weighed is None or not weighed[b]:
            columns[10 * b : 10 * b + 4, 4 * b] = MASS_SPREAD * np.array([mass, *moment])
        columns[10 * b + 1 : 10 * b + 4, 4 * b + 1 : 4 * b + 4] = CENTER_SPREAD * mass * np.eye(3)
    felt = (rows @ columns / drives.gain[:, None]).reshape(-1, 4 * robot.nb) / np.sqrt(len(q))
    _, size, axes = np.linalg.svd(felt, full_matrices=False)
    kept = axes[size > FELT][:MOST_DIRECTIONS].reshape(-1, robot.nb, 4)
    return Unknowns(drives, free, kept * [MASS_SPREAD, *[CENTER_SPREAD] * 3], known, soonest, weights)


def weights_of(robot: Robot, q, groups: Sequence[np.ndarray]) -> tuple[np.ndarray, ...]:
    """How many times as much torque at rest, on the whole, bodies take as those of the model do.

    Args:
        robot: the model.
        q: (n, nq) positions where the robot was.
        groups: (nb,) bool of each group of bodies whose scale is open.

    Returns:
        (nb, 10) of each group, whose product with inertias is that number; with what takes no torque, of masses.
    """
    still, found = np.zeros((len(q), robot.nv)), []
    rows = regressor(robot, q, still, still).reshape(-1, robot.nb, 10)
    for group in groups:
        own = rows * np.asarray(group)[:, None]
        torque = np.einsum("nbk,bk->n", own, robot.inertias)
        if np.abs(torque).max() > FELT:
            found.append(np.einsum("n,nbk->bk", torque, own) / (torque @ torque))
        else:
            found.append(np.outer(group, np.eye(10)[0]) / np.sum(robot.inertias[group, 0]))
    return tuple(found)


def at_scale(inertias, weights: Iterable[np.ndarray]) -> np.ndarray:
    """Inertias (nb, 10) with each group at the scale of the model. weights: as of `weights_of`."""
    found = np.array(inertias)
    for weight in weights:
        size = np.sum(weight * found)
        if size > 0:
            found[weight.any(axis=1)] /= size
    return found


def _finite(drives: DriveArrays, free, known: dict) -> tuple[DriveArrays, dict]:
    """Drives whose endless limits are far instead, and stay there; logarithms need numbers above zero."""
    values = {}
    for name in free:
        own = np.asarray(getattr(drives, name), dtype=float)
        if KINDS[name].logarithm:
            values[name] = np.clip(own, LEAST, FAR)
            if (endless := ~np.isfinite(own)).any():
                known[name] = endless | known.get(name, False)
    return drives.changed(**values), known
