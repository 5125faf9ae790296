"""Rows of robots in contact and their sums: what unknown forces at known places leave of the equations of joints.

Contacts add `J^T f` with forces f that nobody measured. With row weights W the best forces are eliminated exactly: of
rows `y`, what no force can explain is left,

    y - J^T (J W J^T)^+ J W y = W^-1/2 (1 - Q Q^T) W^1/2 y,      Q an orthonormal basis of the columns of W^1/2 J^T,

still one row a degree and in its unit, so that each keeps a noise of its own. Of `nv` rows `rank J` are lost: a row
counts for its `1 - |Q_i|^2`, which add up to what is left. Weights have to be known here, because rows are mixed.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import lru_cache

import numpy as np

from steelyard.dynamics.contact_forces import contact_jacobian, orthonormal, require_contact_kinds
from steelyard.dynamics.external_wrenches import external_rows, external_torque
from steelyard.dynamics.kinematics import coordinate_map, tree
from steelyard.errors import LogError, choices
from steelyard.information.gram import Grams, Triangles, merged_factors
from steelyard.information.regression_rows import chunk_rows
from steelyard.information.row_kinds import OF_JOINTS
from steelyard.log import Log
from steelyard.log.checks import require_finite
from steelyard.model import Robot
from steelyard.model.robot import WORLD
from steelyard.namespaces import array_namespace
from steelyard.native import LONG_CHUNK
from steelyard.numbers import ROUNDING

CLOSE = 1.5  # median steps between samples that follow each other


@dataclass(frozen=True)
class Contacts:
    """Where forces that nobody measured may act: frames, and the kind of contact of each. weights (nv,): of rows."""

    robot: Robot
    frames: tuple[str, ...]
    kinds: tuple[str, ...]
    weights: tuple[float, ...]

    @property
    def degrees(self) -> np.ndarray:
        """Degrees of freedom that forces there can act on."""
        return _degrees(self.robot, self.frames)


def contacts_of(robot: Robot, frames, kinds: str | Mapping[str, str], weights) -> Contacts:
    """Contacts of a robot. kinds: one for all or by frame (points where it says nothing); weights: (nv,) of the rows,
    None for equal ones. Raises ModelError for no such frame, OptionError for an unknown kind."""
    for frame in frames:
        robot.frame(frame)
    named = dict.fromkeys(frames, kinds) if isinstance(kinds, str) else dict(kinds)
    require_contact_kinds(kinds)
    return Contacts(
        robot,
        tuple(frames),
        tuple(named.get(frame, "point") for frame in frames),
        tuple(np.ones(robot.nv) if weights is None else weights),
    )


def flags_of(log: Log) -> np.ndarray:
    """(n, c) bool, whether each contact of `log.contacts` touches."""
    if not log.contacts:
        return np.zeros((len(log), 0), dtype=bool)
    return np.stack([np.asarray(each) != 0 for each in log.contacts.values()], axis=1)


def require_usable(robot: Robot, kinds: tuple[str, ...], log: Log) -> np.ndarray:
    """Flags of a log as of `flags_of`. Raises LogError where rows of these kinds have no place for its contacts or
    wrenches."""
    flags, about = flags_of(log), f"Log '{log.name}' has"
    if flags.any() and (kinds != ("joints",) or robot.loops):
        raise LogError(
            f"{about} contacts, whose unknown forces are in rows of {choices(kinds)}"
            + (", and the robot has closed loops" if robot.loops else "")
            + ". Use rows of joints, of a robot without loops, or samples without contacts."
        )
    if log.external and (not set(kinds) <= set(OF_JOINTS) or robot.loops):
        raise LogError(
            f"{about} wrenches from outside ({choices(log.external)}), which go with rows of joints of a robot without "
            f"closed loops, not with {choices(kinds)}. Leave them out of the log, or these rows out of the fit."
        )
    return flags


def require_steady(log: Log) -> None:
    """Raise LogError for a filtered log with samples beside changes of contact: masses fitted to it come out wrong."""
    flags, steps = flags_of(log), np.diff(log.t)
    if log.bandwidth is None or not flags.any() or not len(steps):
        return
    changes = (flags[1:] != flags[:-1]).any(axis=1)
    if (changes & (steps < CLOSE * np.median(steps))).any():
        raise LogError(
            f"Log '{log.name}' has samples beside changes of contact, over which its filters smear impacts: masses "
            "come out wrong. Make the log as recorded ready: from steelyard.prepare import prepare; log = prepare(log, "
            "robot).log"
        )


def explained_torque(robot: Robot, log: Log, q, tau):
    """(n, nv) what motion has to explain at q (n, nq): measured torques, and what known wrenches on the robot add to
    them. Raises LogError for a wrench that is not finite, ModelError for one on a frame that there is not."""
    if not log.external:
        return tau
    parts = []
    for name, wrench in log.external.items():
        require_finite(log, f"external wrench on {name}", wrench)
    for start in range(0, len(q), LONG_CHUNK):
        part = slice(start, start + LONG_CHUNK)
        here, at = {name: wrench[part] for name, wrench in log.external.items()}, np.asarray(q[part]).T
        parts.append(external_torque(robot, at, external_rows(robot, at.shape[1:], here, at)).T)
    return tau + array_namespace(tau).asarray(np.concatenate(parts), dtype=tau.dtype)


def contact_sets(flags: np.ndarray) -> Iterator[tuple[np.ndarray, np.ndarray]]:
    """Samples by what touches there: indices of contacts (none in flight) and of samples. flags: (n, c)."""
    sets, which = np.unique(flags, axis=0, return_inverse=True)
    order = np.argsort(which.ravel(), kind="stable")
    edges = np.searchsorted(which.ravel()[order], np.arange(len(sets) + 1))
    for touching, start, stop in zip(sets, edges[:-1], edges[1:], strict=True):
        yield np.flatnonzero(touching), order[start:stop]


def force_directions(contacts: Contacts, touching, q, roots) -> np.ndarray:
    """(n, d, m) orthonormal directions of rows that contact forces reach, columns of zeros where the rank is lower.
    touching: indices of contacts; q: (nq, n); roots: (n, d) of all weights of the degrees that contacts reach."""
    frames, kinds = ([each[i] for i in touching] for each in (contacts.frames, contacts.kinds))
    columns = contact_jacobian(contacts.robot, q, frames, kinds)[:, contacts.degrees]
    return orthonormal(columns * roots[:, :, None])


def projectors(contacts: Contacts, touching, q, roots) -> tuple[np.ndarray, np.ndarray]:
    """What makes of rows what no contact force explains of them, see `force_directions`.

    roots: (n, d) of the sample weights, or ones. Returns (n, d, d): times rows of these degrees, rows whose squares are
    weighed by the roots' squares; and (n, d), the share of each row that is left.
    """
    fixed = np.sqrt(np.array(contacts.weights))[contacts.degrees]
    Q = force_directions(contacts, touching, q, roots * fixed)
    left = np.eye(len(fixed)) - Q @ Q.mT
    share = np.diagonal(left, axis1=1, axis2=2)
    share = np.where(share > ROUNDING, share, 0.0)  # of rows that forces explain, only rounding is left
    return (share > 0)[:, :, None] * left * (roots * fixed)[:, None, :] / fixed[:, None], share


def unexplained(contacts: Contacts, flags, q, torque) -> np.ndarray:
    """(n, nv) torques that no contact force explains; where nothing touches, the torques themselves. flags: (n, c)."""
    left, degrees = np.array(torque, dtype=float), contacts.degrees
    for touching, samples in contact_sets(flags):
        for start in range(0, len(samples) if len(touching) else 0, LONG_CHUNK):
            part = samples[start : start + LONG_CHUNK]
            at, here = np.ascontiguousarray(np.asarray(q[part]).T), np.ix_(part, degrees)
            project, _ = projectors(contacts, touching, at, np.ones((len(part), len(degrees))))
            left[here] = (project @ left[here][:, :, None])[:, :, 0]
    return left


def without_forces(robot: Robot, log: Log, torque, *, contacts: str | Mapping[str, str] = "point", row_weights=None):
    """(n, nv) errors of torques less what forces from outside make of them: wrenches of the log, and the best ones at
    contacts.

    torque: measured torques less those of a model that knows of no forces. contacts, row_weights: as of `accumulate`.
    Raises LogError for closed loops, or a wrench that is not finite.
    """
    flags = require_usable(robot, ("joints",), log)
    (q,) = log.require("q")
    left = explained_torque(robot, log, q, torque)
    if not flags.any():
        return left
    return unexplained(contacts_of(robot, tuple(log.contacts), contacts, row_weights), flags, q, left)


@lru_cache(maxsize=64)
def _degrees(robot: Robot, frames: tuple[str, ...]) -> np.ndarray:
    constants, moved = tree(robot), np.zeros(len(tree(robot).coordinates), dtype=bool)
    for frame in frames:
        body = robot.frame(frame).body
        if body != WORLD:
            moved |= constants.ancestors[robot.body_joints[body]] != 0
    return np.flatnonzero((coordinate_map(robot) != 0) @ moved)


ENTRIES = 1_200_000  # of dense rows in a pass; they are several times those of the tree


@dataclass(frozen=True, eq=False)
class _Dense:
    """Where rows of the degrees that contacts reach lie among their common columns, and the torque behind them.

    degrees (d,); places (k,) of the common columns; own: of each degree, its columns among them.
    """

    degrees: np.ndarray
    places: np.ndarray
    own: tuple[np.ndarray, ...]


class ContactSums:
    """Sums of projected rows of joints. Logs with other contacts reach other rows, and have sums of their own.

    spec: a RegressionSpec.
    """

    def __init__(self, spec):
        self.spec = spec
        self.parts: dict[tuple[int, ...], Grams | Triangles] = {}
        self.weights: np.ndarray | None = None  # by which forces were eliminated, once some were

    def add(self, contacts: Contacts, flags, channels, weights=None):
        """Add samples that touch.

        contacts: of the log. flags: (n, c) bool, some contact in every sample. channels: q, v, a, tau, direction
        (n, .), the last may be None. weights: (n, nv) of squared residuals, or None.
        """
        dense, self.weights = self._dense(contacts), np.array(contacts.weights)
        kept = self.parts.setdefault(tuple(dense.degrees), self._made())
        step = max(1, ENTRIES // max(1, len(dense.degrees) * (len(dense.places) + 1)))
        for touching, samples in contact_sets(flags):
            for start in range(0, len(samples), step):
                part = samples[start : start + step]
                chunk = self.spec.chunk(channels, part)
                self._add_chunk(kept, dense, contacts, touching, chunk, None if weights is None else weights[part])

    def _add_chunk(self, kept, dense: _Dense, contacts: Contacts, touching, chunk, weights):
        spec, n, degrees = self.spec, chunk[0].shape[1], dense.degrees
        rows, place = np.zeros((n, len(degrees), len(dense.places) + 1)), {int(dof): i for i, dof in enumerate(degrees)}
        free = chunk_rows(spec.raw.robot, spec.raw.layout, spec.coulomb_width, spec.rows, chunk)
        for dof, (y, tau) in enumerate(free):
            if dof in place:
                i = place[dof]
                rows[:, i, dense.own[i]], rows[:, i, -1] = y.T, tau
            else:
                kept.add(dof, spec.rows[dof].places, y, tau, None if weights is None else weights[:, dof])
        own = np.ones((n, len(degrees))) if weights is None else weights[:, degrees]
        project, left = projectors(contacts, touching, chunk[0], np.sqrt(own))
        rows, counts = project @ rows, np.sum(own * left, axis=0)
        for i, dof in enumerate(degrees):
            kept.add(dof, dense.places, rows[:, i, :-1].T, rows[:, i, -1], count=counts[i])

    def total(self):
        """Squares, moment (g, k), energy (g,), factors, counts (g,), as of `Grams.total`; None before any sample."""
        whole = None
        for part in self.parts.values():
            whole = part.total() if whole is None else merged_totals(whole, part.total())
        return whole

    def _made(self) -> Grams | Triangles:
        size = len(self.spec.raw.columns), self.spec.robot.nv
        return (Triangles if self.spec.told.sums == "qr" else Grams)(size[1], size[0])

    def _dense(self, contacts: Contacts) -> _Dense:
        degrees = contacts.degrees
        rows = [self.spec.rows[dof].places for dof in degrees]
        places = np.unique(np.concatenate([np.zeros(0, dtype=int), *rows]))
        return _Dense(degrees, places, tuple(np.searchsorted(places, own) for own in rows))


def merged_totals(one, other):
    """Sums of both, as of `Grams.total` or `Triangles.total`."""
    both = one[3] is not None and other[3] is not None
    factors = merged_factors(one[3], other[3]) if both else None
    return one[0] + other[0], one[1] + other[1], one[2] + other[2], factors, one[4] + other[4]
