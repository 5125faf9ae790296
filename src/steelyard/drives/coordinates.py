"""What a refinement may change: numbers of the drives and joints, and masses and centres of mass as far as joints feel.

As coordinates: logarithms of what is positive, all with a weak prior about where they begin.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property

import numpy as np

from steelyard.drives.arrays import LOAD_FRICTION, ODDITIES, DriveArrays
from steelyard.drives.windows import Windows
from steelyard.dynamics import regressor
from steelyard.inertia import from_com_inertia, to_com_inertia
from steelyard.inertia.parameters import TENSOR
from steelyard.model import Robot
from steelyard.numbers import SAME


@dataclass(frozen=True)
class JointNumber:
    """A number that every joint has."""

    change: float  # that its derivative is taken over
    spread: float  # standard deviation of its prior
    unit: float  # that of one motor about the mean of its kind; all of the logarithm, where it has one
    logarithm: bool = True


KINDS = {
    "gain": JointNumber(0.03, 1.0, 0.05),
    "damping": JointNumber(0.03, 1.0, 0.3),
    "frictionloss": JointNumber(0.03, 1.0, 0.3),
    "armature": JointNumber(0.05, 2.0, 0.05),
    "load_friction_motor": JointNumber(0.05, 0.7, 0.3),
    "load_friction_external": JointNumber(0.05, 0.7, 0.3),
    "slope_limit": JointNumber(0.1, 1.0, 0.05),
    "limit": JointNumber(0.05, 1.0, 0.05),
    "delay": JointNumber(2e-3, 0.02, 1e-3, logarithm=False),  # s
    "softness": JointNumber(1.0, 1.0, 1.0, logarithm=False),  # that of MuJoCo by default
    "dead_band": JointNumber(0.1, 1.0, 1.0, logarithm=False),  # friction losses
}
USUAL = 0.3  # of load_friction: gears of servos lose about so much of the torque that they carry
SPREADS = np.repeat([0.5, 0.03, 0.3], [1, 3, 6])  # of the prior of bodies: logarithm of mass, m, of lengths
BODY_CHANGE = 0.05  # of these, that derivatives are taken over
GROUND_SPREADS, GROUND_CHANGES = np.array([0.01, 1.0, 1.0]), np.array([3e-4, 0.1, 0.05])  # as these two
LEAST, FAR = 1e-6, 1e6  # of what has a logarithm
FELT, MOST_DIRECTIONS = 1e-3, 12  # rad or m by which joints must feel a direction, and how many are free
SMALL = 1e-4  # share of the prior's spread, over which bodies are differentiated


@dataclass(frozen=True, eq=False)
class Unknowns:
    """Coordinates x: those of every joint, or of every group of joints alike, for each name in `free`, one after the
    other, then of the bodies, and last, where it may change, the three of the ground.

    bodies: (k, nb, 10) what each of their coordinates adds to the logarithm of mass, to the centre of mass, m, and to
    the logarithm of the stretch about it, xx, xy, yy, xz, yz, zz. known: names and (nv,) of the joints whose value
    stays as it is. weights: (nb, 10) of each group of bodies whose weight is taken for true, as nothing else says its
    scale: their product with the group's inertias stays 1. active: (p,) those whose derivatives are taken; the others
    stay with the prior. None: all.
    """

    drives: DriveArrays
    free: tuple[str, ...]
    bodies: np.ndarray
    places: np.ndarray  # (nv,) which of the coordinates of a name each joint has, -1 for none
    known: Mapping[str, np.ndarray] = field(default_factory=dict)
    soonest: float | np.ndarray = 0.0  # s, below which delays do not go, one or (nv,)
    weights: tuple[np.ndarray, ...] = ()
    groups: tuple[np.ndarray, ...] = ()  # joints each with the same motor
    ground: bool = False
    active: np.ndarray | None = None

    @property
    def each(self) -> int:
        """How many coordinates a name has."""
        return int(self.places.max()) + 1

    @property
    def of_bodies(self) -> slice:
        """Coordinates of the bodies."""
        first = len(self.free) * self.each
        return slice(first, first + len(self.bodies))

    def of(self, name: str) -> np.ndarray:
        """(nv,) coordinates of the joints for a name; that of a joint without one is not to be used."""
        return self.free.index(name) * self.each + self.places

    def gathered(self, values, how=np.mean) -> np.ndarray:
        """(each,) one value of those (nv,) of the joints that share a coordinate."""
        values = np.broadcast_to(values, self.places.shape)
        return np.array([how(values[self.places == k]) for k in range(self.each)])

    def span(self, name: str) -> slice:
        """Coordinates for a name."""
        return slice(first := self.free.index(name) * self.each, first + self.each)

    @cached_property
    def start(self) -> np.ndarray:
        values = [np.asarray(getattr(self.drives, name), dtype=float) for name in self.free]
        with np.errstate(divide="ignore"):  # of a base
            own = [np.log(x) if KINDS[name].logarithm else x for name, x in zip(self.free, values, strict=True)]
        own = [self.gathered(each) for each in own]
        return np.concatenate([*own, np.zeros(len(self.bodies)), self.drives.ground if self.ground else ()])

    def prior(self, x) -> tuple[np.ndarray, np.ndarray]:
        """Mean (p,) and covariance (p, p) of the coordinates before the data: weak about where they begin, next to
        nothing for what is known, and together for what drives of a group have. A motor unlike the others of its group
        counts as such (Student's t of one degree, as the normal distribution that is tangent to it at x)."""
        n, mean = self.each, self.start.copy()
        covariance = np.eye(len(mean))
        if self.ground:
            covariance[self.of_bodies.stop :, self.of_bodies.stop :] = np.diag(GROUND_SPREADS**2)
        for i, name in enumerate(self.free):
            kind, stays = KINDS[name], self.gathered(self.known.get(name, False), np.all)
            first = i * n
            if name in LOAD_FRICTION:
                mean[first : first + n] = np.where(stays, mean[first : first + n], np.log(USUAL))
            for j in range(n):
                covariance[first + j, first + j] = (kind.spread * (SAME if stays[j] else 1.0)) ** 2
            for group in self.groups:
                own = first + np.array([k for k in self.places[group] if not stays[k]], dtype=int)
                if len(own):
                    mean[own] = mean[own].mean()
                    unlike = (kind.unit**2 + (x[own] - np.median(x[own])) ** 2) / 2
                    covariance[np.ix_(own, own)] = kind.spread**2 + np.diag(unlike)
        return mean, covariance

    def within(self, x) -> np.ndarray:
        """Coordinates as near as the bounds allow."""
        x = np.array(x)
        if "delay" in self.free:
            delays = self.span("delay")
            x[delays] = np.maximum(x[delays], self.gathered(self.soonest, np.min))
        for name in set(LOAD_FRICTION) & set(self.free):
            x[self.span(name)] = np.minimum(x[self.span(name)], 0.0)  # of more than all torque, nothing would move
        return x

    def at(self, x) -> DriveArrays:
        """The drives of coordinates x."""
        values, some = {}, self.places >= 0
        for name in self.free:
            own = np.where(some, x[self.of(name)], 0.0)
            found = np.exp(own) if KINDS[name].logarithm else own
            found = np.where(found > 0.99 * FAR, np.inf, found)  # endless again, what `finite` has made finite
            values[name] = np.where(some, found, getattr(self.drives, name))
            if name in LOAD_FRICTION:
                values[name] = np.where(values[name] > 2 * LEAST, values[name], 0.0)
        if len(self.bodies):
            moved = np.tensordot(x[self.of_bodies], self.bodies, axes=1)
            values["inertias"] = at_scale(changed_bodies(self.drives.inertias, moved), self.weights)
        if self.ground:
            values["ground"] = tuple(x[self.of_bodies.stop :].tolist())
        return self.drives.changed(**values)

    def without(self, limits: Mapping[str, np.ndarray], x) -> tuple["Unknowns", np.ndarray]:
        """These without limits of some joints, (nv,) by name, and their coordinates."""
        x, values, known = np.array(x), {}, dict(self.known)
        for name in set(limits) & set(self.free):
            own = limits[name] & (self.places >= 0)
            x[self.of(name)[own]] = np.log(FAR)
            values[name] = np.where(own, FAR, getattr(self.drives, name))
            known[name] = own | known.get(name, False)
        return replace(self, drives=self.drives.changed(**values), known=known), x

    def in_time(self, early: np.ndarray, x) -> tuple["Unknowns", np.ndarray]:
        """These with delays that are not negative but for some joints (nv,), and their coordinates."""
        found = replace(self, soonest=np.where(early, self.soonest, 0.0))
        return found, found.within(x)

    def with_oddities(self, x) -> tuple["Unknowns", np.ndarray, np.ndarray]:
        """These and `ODDITIES`, their coordinates, and (p,) bool: those that x has."""
        found, first = replace(self, free=(*self.free, *ODDITIES)), len(self.free) * self.each
        more = np.zeros(found.of_bodies.start - first)
        return found, np.insert(x, first, more), np.insert(np.ones(len(x), dtype=bool), first, more)

    def changes(self, limbs: np.ndarray) -> list[tuple[np.ndarray, np.ndarray]]:
        """Coordinates to change at once, by how much (p,), and those that the joints' errors then answer to (nv,): one
        of each limb together, as joints (nv,) of different `limbs` do not move each other."""
        n, found = self.each, []
        own = limbs[[int(np.flatnonzero(self.places == place)[0]) for place in range(n)]]  # limbs of coordinates
        for i, name in enumerate(self.free):
            for turn in range(int(np.bincount(own).max())):
                change, at = np.zeros(len(self.start)), np.zeros(len(limbs), dtype=int)
                for limb in np.unique(limbs):
                    places = i * n + np.flatnonzero(own == limb)
                    if turn < len(places):
                        change[places[turn]] = KINDS[name].change
                    at[limbs == limb] = places[min(turn, len(places) - 1)] if len(places) else 0
                found.append((change, at))
        sizes = [BODY_CHANGE] * len(self.bodies) + [*GROUND_CHANGES] * self.ground
        for k, size in enumerate(sizes, len(self.free) * n):
            found.append((size * np.eye(len(self.start))[k], np.full(len(limbs), k)))
        if self.active is not None:
            found = [(change, at) for change, at in found if self.active[at[0]]]
        return found


def changed_bodies(theta, change) -> np.ndarray:
    """(n, 10) of bodies with exp(change[:, 0]) times the mass, their centres moved by change[:, 1:4], m, and their
    matter stretched about it by the exponential of change[:, 4:]: what moves matter leaves a body that can exist."""
    mass, center, inertia = to_com_inertia(theta)
    stretch, turned = np.linalg.eigh(np.einsum("ijk,nk->nij", _SYMMETRIC, change[:, 4:]))
    stretch = (turned * np.exp(stretch)[:, None]) @ turned.transpose(0, 2, 1)
    spread = stretch @ (_about(inertia) / 2 - inertia) @ stretch
    more = np.exp(change[:, 0])
    return from_com_inertia(mass * more, center + change[:, 1:4], more[:, None, None] * (_about(spread) - spread))


def _about(tensor) -> np.ndarray:
    """(n, 3, 3) trace of each times the identity."""
    return np.trace(tensor, axis1=1, axis2=2)[:, None, None] * np.eye(3)


# (3, 3, 6) symmetric matrices of xx, xy, yy, xz, yz, zz
_SYMMETRIC = np.array([[[(i, j) in (e, e[::-1]) for e in TENSOR] for j in range(3)] for i in range(3)], dtype=float)


def unknowns(
    robot: Robot,
    drives: DriveArrays,
    free,
    windows: Windows,
    *,
    inertias: bool = False,
    known: Mapping[str, np.ndarray] | None = None,
    weighed: np.ndarray | None = None,
    weights: tuple[np.ndarray, ...] = (),
    groups: Sequence[np.ndarray] = (),
    soonest: float | np.ndarray = 0.0,
) -> Unknowns:
    """What a log shows of the numbers of drives (of the names `free`) and of bodies, in directions that the torques of
    the motion feel most, as far as the prior lets them go. known: (nv,) joints whose value stays. weighed: (nb,) bodies
    whose mass stays. weights: of `weights_of`. groups: joints with the same motor. soonest: least delay, s."""
    free = tuple(
        name
        for name in free
        if np.isfinite(own := getattr(drives, name)).any()
        and (name not in LOAD_FRICTION or own.any())
        and not np.all((known or {}).get(name, False))
    )
    drives, known = finite(drives, free, dict(known or {}))
    plain = Unknowns(
        drives, free, np.zeros((0, robot.nb, 10)), np.arange(robot.nv), known, soonest, weights, tuple(groups)
    )
    rows = regressor(robot, windows.q, windows.v, windows.a)
    columns = np.zeros((10 * robot.nb, 10 * robot.nb))
    for k, spread in enumerate(SPREADS if inertias else SPREADS[:4]):
        more = np.tile(SMALL * spread * np.eye(10)[k], (robot.nb, 1))
        change = (changed_bodies(drives.inertias, more) - changed_bodies(drives.inertias, -more)) / (2 * SMALL)
        for b in range(robot.nb):
            if k or weighed is None or not weighed[b]:
                columns[10 * b : 10 * b + 10, 10 * b + k] = change[b]
    felt = (rows @ columns / drives.gain[:, None]).reshape(-1, 10 * robot.nb) / np.sqrt(len(windows))
    _, size, axes = np.linalg.svd(felt, full_matrices=False)
    kept = axes[size > FELT][:MOST_DIRECTIONS].reshape(-1, robot.nb, 10)
    return replace(plain, bodies=kept * SPREADS)


def weights_of(robot: Robot, q, groups: Sequence[np.ndarray]) -> tuple[np.ndarray, ...]:
    """(nb, 10) of each group (nb,) of bodies whose scale is open: its product with inertias is how many times as much
    torque at rest they take as those of the model do, at positions q; what takes none counts by mass."""
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


def total_mass(inertias) -> np.ndarray:
    """Weights (nb, 10), as of `weights_of`, that keep the mass of all bodies together."""
    return np.outer(np.ones(len(inertias)), np.eye(10)[0]) / np.sum(inertias[:, 0])


def at_scale(inertias, weights: Iterable[np.ndarray]) -> np.ndarray:
    """Inertias (nb, 10) with each group at the scale of the model. weights: as of `weights_of`."""
    found = np.array(inertias)
    for weight in weights:
        size = np.sum(weight * found)
        if size > 0:
            found[weight.any(axis=1)] /= size
    return found


def finite(
    drives: DriveArrays, free: Iterable[str], known: dict, some: Sequence[int] | slice = slice(None)
) -> tuple[DriveArrays, dict]:
    """Drives whose endless limits are far instead, and stay there; logarithms need numbers above zero."""
    values = {}
    for name in free:
        own = np.array(getattr(drives, name), dtype=float)
        if KINDS[name].logarithm:
            values[name] = own.copy()
            values[name][some] = np.clip(own[some], LEAST, FAR)
            absent = ~np.isfinite(own) | ((own == 0) & (name in LOAD_FRICTION))
            if absent.any():
                known[name] = absent | known.get(name, False)
    return drives.changed(**values), known
