"""The Information of logs, streamed: every row of every kind, log by log."""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from steelyard.arguments import require_each, require_type, with_options
from steelyard.dynamics.closed_loop.assembly import choose_independent
from steelyard.dynamics.closed_loop.projection import with_motors
from steelyard.dynamics.contact_forces import require_contact_kinds
from steelyard.errors import LogError, OptionError, StreamInterrupted, choices
from steelyard.identifiable import regression_basis
from steelyard.identifiable.basis import Basis
from steelyard.identifiable.loop_completion import on_tree
from steelyard.information.contact_rows import (
    ContactSums,
    contacts_of,
    explained_torque,
    merged_totals,
    require_steady,
    require_usable,
)
from steelyard.information.engines import ENGINES, JointRows, Sums
from steelyard.information.gram import Grams, Squares, Triangles
from steelyard.information.regression_rows import (
    Row,
    TreeColumns,
    channels_of,
    raw_columns,
    recorded_direction,
    weights_of,
    wrench_of,
)
from steelyard.information.row_kinds import (
    BASE,
    OF_JOINTS,
    WEAK,
    WRENCH,
    RowFilter,
    groups_of,
    independent_rows,
    joint_rows,
    kinds_of,
    link_of,
    power_rows,
    refuse_for_loops,
    require_windows,
    sensors_of,
    weak_rows,
    wrench_rows,
)
from steelyard.information.sums import Information, require_kind
from steelyard.job import FRICTION
from steelyard.log import Log
from steelyard.model import Robot
from steelyard.native import CHUNK
from steelyard.terms import COULOMB_WIDTH, ParameterLayout, UserColumn, layout_of

CUTOFF = 5.0  # Hz, of the windows of momentum and energy rows: long enough to average noise, short enough for motion
CHECKPOINT = 2**18  # samples after which what was summed is set aside, safe from an interruption


@dataclass(frozen=True, eq=False)
class Columns:
    """Rows and columns of a regression, and how they are summed: the options of `accumulate`.

    Attributes:
        rows: what the equations speak of, one kind or several: "joints" (torques), "momentum" or "energy" (the same
            physics integrated over windows of a low-pass filter, without a), "power" (of all joints together), "base"
            or "wrench:LINK" (six-axis sensors under the robot or in front of a link, from `log.wrenches`). Every row
            group has a noise of its own, and the base columns are those that all rows together reveal.
        friction: any of `terms.friction_terms` and `weighed_columns.SHAPED_FRICTION`.
        armature: whether armature is estimated.
        coupling: groups of joints with a common motor, such as `"joint5+joint6"`, `(("joint5", "joint6"),)` or
            `({"joint5": 1, "joint6": -1},)`, whose inertia and friction act on the sum of their speeds.
        springs: joints with a linear spring.
        extra: `UserColumn`s.
        nuisances: small mistakes of a log as columns, any of `weighed_columns.NUISANCES`: lean of the base, zeros of
            encoders, gains of torques and springs, linear about the links of the robot.
        rotors: whether the robot's motor rotors are bodies with ten columns each; without, they are left aside.
        columns: "base" (identifiable choice, lossless) or "all".
        sums: "gram", or "qr" for triangular factors, which lose no digits to ill-conditioned data.
        cutoff: of the windows of momentum and energy rows, Hz.
        coulomb_width: half-width of standstill, rad/s.
        sample_weights: of the squared residuals of rows of joints, (n,) or (n, nv), finite and not negative, times
            `log.weights`; for several logs a function of each log that returns them. A weight of 2 counts a sample
            twice, so `info.counts` are sums of weights.
        contacts: kinds of the contacts that `log.contacts` flags, one for all or by frame: "point" (three forces),
            "line" (along the frame's x: no moment about it) or "flat" (six). Their unknown forces are eliminated from
            the rows of joints. Wrenches of `log.external` are known, and added to the torques.
        row_weights: (nv,) of the squared residuals of rows of joints, 1 / variance where it is known, positive. Forces
            of contacts are eliminated by them, and of sums that are added the first one's stay.
        engine: "native" (the compiled core, one thread a processor core), "numpy", "jax" (in float64 on JAX's device)
            or "auto", which takes JAX for logs of JAX arrays and the core where it is installed; they agree to
            rounding, and the result names the one used. Only Gram matrices of joint torques have a choice; samples in
            contact are summed by NumPy.
    """

    rows: str | Iterable[str] = "joints"
    friction: Any = FRICTION
    armature: bool = False
    coupling: Any = ()
    springs: Any = ()
    extra: Iterable[UserColumn] = ()
    nuisances: Iterable[str] = ()
    rotors: bool = False
    columns: str = "base"
    sums: str = "gram"
    cutoff: float = CUTOFF
    coulomb_width: float = COULOMB_WIDTH
    sample_weights: ArrayLike | Callable[[Log], ArrayLike] | None = None
    contacts: str | Mapping[str, str] = "point"
    row_weights: ArrayLike | None = None
    engine: str = "auto"

    def layout(self, robot: Robot) -> ParameterLayout:
        """All parameters of a robot with motors. Raises OptionError."""
        names = ("friction", "armature", "coupling", "springs", "rotors", "nuisances")
        return layout_of(robot, **{name: getattr(self, name) for name in names}, extra=tuple(self.extra))


PLAIN = Columns()


@dataclass(frozen=True, eq=False)
class RegressionSpec:
    """What is to be summed: see `accumulate`. kept: (k,) columns."""

    robot: Robot
    layout: ParameterLayout
    basis: Basis
    kept: np.ndarray
    kinds: tuple[str, ...]
    told: Columns
    row_weights: np.ndarray | None = None

    @property
    def coulomb_width(self) -> float:
        return self.told.coulomb_width

    @cached_property
    def joints(self) -> JointRows:
        """The columns that are summed over samples, and the rows of joints in them."""
        return JointRows(raw_columns(self.robot, self.layout, self.kept), self.coulomb_width)

    @property
    def raw(self) -> TreeColumns:
        return self.joints.raw

    @property
    def rows(self) -> list[Row]:
        return self.joints.rows

    @cached_property
    def groups(self) -> dict[str, tuple[str, ...]]:
        """Names of the row groups of each kind."""
        return {kind: groups_of(self.robot, kind) for kind in self.kinds}

    @property
    def group_names(self) -> tuple[str, ...]:
        return tuple(name for names in self.groups.values() for name in names)

    @cached_property
    def independent(self) -> np.ndarray | slice:
        """Degrees whose torques are rows: of closed loops the independent joints, of a tree all."""
        return choose_independent(self.robot).independent if self.robot.loops else slice(None)

    def chunk(self, channels, part) -> tuple:
        """Samples (a slice, or indices) of q, v, a, tau, direction, samples last. What no row needs may be missing; the
        direction of motion is then found from v."""
        q, v, a, tau, direction = (None if x is None else np.ascontiguousarray(np.asarray(x[part]).T) for x in channels)
        return q, v, a, tau, np.tanh(np.asarray(v) / self.coulomb_width) if direction is None else direction


class Collector:
    """Sums over logs of all rows of a regression.

    independent: samples whose noise is. complete: whether the sums hold whole logs only. stream: the filter of weak
    rows of logs that continue each other; without it, each log has windows of its own.
    """

    def __init__(self, spec: RegressionSpec, stream: RowFilter | None = None):
        self.spec, self.stream, self.count, self.independent, self.complete = spec, stream, 0, 0.0, True
        fast = "joints" in spec.kinds and spec.told.sums == "gram" and not spec.robot.loops
        self.joints = Sums(spec.joints, spec.told.engine) if fast else None
        make = Triangles if spec.told.sums == "qr" else Grams
        k = len(spec.raw.columns)
        self.others: dict[str, Grams | Triangles] = {
            kind: make(len(names), k) for kind, names in spec.groups.items() if not (fast and kind == "joints")
        }
        self.touching = ContactSums(spec)

    def add(self, log: Log):
        """Add a log. Raises LogError, before anything is added, when it cannot be used."""
        spec = self.spec
        names = channels_needed(spec)
        if spec.robot.loops:
            log.require(*names)
            log = on_tree(spec.robot, log)
        found = dict(zip(names, channels_of(spec.robot, log, names), strict=True))
        wrenches = {
            kind: wrench_of(log, link_of(kind)) for kind in spec.kinds if kind == BASE or kind.startswith(WRENCH)
        }
        if set(spec.kinds) & set(WEAK) and self.stream is None:
            require_windows(log, spec.told.cutoff)
        q, v, a, tau = (found.get(name) for name in ("q", "v", "a", "tau"))
        flags = require_usable(spec.robot, spec.kinds, log)
        require_steady(log)
        if tau is not None:
            tau = explained_torque(spec.robot, log, q, tau)
        channels = q, v, a, tau, recorded_direction(log, spec.coulomb_width, spec.layout)
        weights = weights_of(spec.told.sample_weights, log)
        if weights is not None and tuple(spec.kinds) != ("joints",):
            raise LogError(f"log {log.name!r} has masked torques, which go with rows of joints alone.")
        if weights is not None:
            weights = weights[:, spec.independent]
        self.complete = False
        if flags.any():
            channels, weights = self._add_touching(log, flags, channels, weights)
        if self.joints is not None:
            self.joints.add(*channels, weights=weights)
        for kind, kept in self.others.items():
            if kind in WEAK:
                balances = weak_rows if self.stream is None else self.stream.rows
                for piece in balances(spec, kind, log.t, channels):
                    kept.add(*piece)
            else:
                self._add_samples(kind, kept, channels, wrenches.get(kind), weights)
        self.count += len(log)
        self.independent += log.effective_samples
        self.complete = True

    def _add_touching(self, log: Log, flags, channels, weights):
        """Add the samples that touch something; returns those that do not, and their weights."""
        spec, touched = self.spec, flags.any(axis=1)
        contacts = contacts_of(spec.robot, tuple(log.contacts), spec.told.contacts, spec.row_weights)
        part, left = np.flatnonzero(touched), np.flatnonzero(~touched)
        picked, others = ([None if x is None else x[at] for x in channels] for at in (part, left))
        own, rest = (None, None) if weights is None else (weights[part], weights[left])
        self.touching.add(contacts, flags[part], picked, own)
        return others, rest

    def _add_samples(self, kind: str, kept: Grams | Triangles, channels, wrench, weights=None):
        for start in range(0, len(channels[0]), CHUNK):
            chunk = self.spec.chunk(channels, slice(start, start + CHUNK))
            if kind == "joints" and self.spec.robot.loops:
                pieces = independent_rows(self.spec, chunk)
            elif kind == "joints":
                pieces = joint_rows(self.spec, chunk)
            elif kind == "power":
                pieces = power_rows(self.spec, chunk)
            else:
                pieces = wrench_rows(self.spec, kind, chunk, wrench[start : start + CHUNK].T)
            part = None if weights is None else weights[start : start + CHUNK]
            for group, places, y, target in pieces:
                kept.add(group, places, y, target, None if part is None else part[:, group])

    def _of_kind(self, kind: str):
        """Sums of one kind in the columns asked for."""
        joints = None if kind in self.others else self.joints
        free = self._mixed(self.others[kind].total()) if joints is None else joints.total()
        touching = self.touching.total() if kind == "joints" else None
        return free if touching is None else merged_totals(free, self._mixed(touching))

    def _mixed(self, total):
        """Sums of raw columns in those asked for."""
        squares, moment, energy, triangles, counts = total
        mixed = None if triangles is None else self.spec.raw.mixed_factors(triangles)
        return *self.spec.raw.mixed(squares, moment), energy, mixed, counts

    def information(self) -> Information:
        """What was collected. Raises LogError when that is nothing, or beyond the range of numbers."""
        spec = self.spec
        if self.count == 0:
            raise LogError("No samples to accumulate: the log is empty.")
        share = self.independent / self.count
        if set(spec.kinds) <= set(WEAK):
            share = 1.0 if self.stream is None else self.stream.share
        totals = [self._of_kind(kind) for kind in spec.kinds]
        parts, moment, energy, triangles, counts = zip(*totals, strict=True)
        squares = Squares.stacked(parts)
        if not all(np.isfinite(x).all() for x in (squares.flat, *energy)):
            raise LogError("The sums are beyond the range of numbers: check units and outliers of the log.")
        return Information(
            squares=squares,
            moment=np.concatenate(moment),
            energy=np.concatenate(energy),
            counts=np.concatenate(counts),
            weights=np.ones(len(spec.group_names)) if spec.row_weights is None else spec.row_weights,
            columns=spec.kept,
            group_names=spec.group_names,
            layout=spec.layout,
            basis=spec.basis,
            robot=spec.robot,
            coulomb_width=spec.coulomb_width,
            independence=share,
            engine=self._engine,
            factors=np.concatenate(triangles) if spec.told.sums == "qr" else None,
            projection=self.touching.weights,
            contacts=spec.told.contacts if isinstance(spec.told.contacts, str) else dict(spec.told.contacts),
        )

    @property
    def _engine(self) -> str:
        engines = {self.joints.engine} if self.joints is not None and self.joints.count else set()
        if self.joints is None or self.touching.parts:
            engines.add("numpy")
        return engines.pop() if len(engines) == 1 else "mixed"


def channels_needed(spec: RegressionSpec) -> tuple[str, ...]:
    """Channels of joints that the rows of a spec use; the wrenches beside them."""
    users = any(extra.function is not None for extra in spec.layout.extras)
    torque = ("tau",) if set(spec.kinds) & set(OF_JOINTS) else ()
    return "q", "v", *torque, *(() if set(spec.kinds) <= set(WEAK) and not users else ("a",))


def accumulate(robot: Robot, log: Log | Iterable[Log], told: Columns = PLAIN, **more) -> Information:
    """Information of one log or several, streamed in chunks.

    Args:
        robot: model whose inertias, friction and armature are regressed on; what is not a column keeps the value of the
            model and is subtracted from tau as known.
        log: with q, v, a and tau of every joint (`filters.differentiate` fills v and a), or an iterable of logs; with
            closed loops those of the independent joints will do, see `closed_loop`.
        told: rows, columns and how they are summed.
        more: fields of Columns by name, in the place of those of `told`, such as `armature=True`.

    Returns:
        The Information, which adds to others of the same columns. The share of samples whose noise is independent
        follows from the filters of the logs (`Log.effective_samples`).

    Raises:
        LogError: for missing or non-finite channels.
        OptionError: where JAX is asked for and absent or without float64.
        StreamInterrupted: when a stream of logs fails or is interrupted; `partial` is that of complete logs.
        TypeError: for an option that there is not.

    Example:
        >>> import numpy as np, steelyard as sy
        >>> robot = sy.library.puma560()
        >>> q, v, a = np.random.default_rng(0).normal(size=(3, 200, 6))
        >>> log = sy.Log(t=np.arange(200) / 100, q=q, v=v, a=a, tau=sy.inverse_dynamics(robot, q, v, a))
        >>> info = sy.accumulate(robot, log, friction=(), armature=True)
        >>> info.n, len(info.columns)
        (200, 40)
    """
    spec = specified(robot, log, with_options(told, "accumulate", more))
    return collected(spec, log) if isinstance(log, Log) else _streamed(spec, log)


def specified(robot: Robot, log: Log | Iterable[Log], told: Columns) -> RegressionSpec:
    """What `accumulate` with the same arguments sums, for logs like these."""
    require_type(Robot, robot=robot)
    require_each(Log, log=log)
    _check_names(told)
    robot = with_motors(robot)
    kinds = kinds_of(robot, told.rows)
    if robot.loops:
        refuse_for_loops(robot, kinds, engine=told.engine)
    layout = told.layout(robot)
    _check_rows(kinds, layout, told)
    if told.sample_weights is not None:
        _check_weights(kinds, told, several=not isinstance(log, Log))
    require_contact_kinds(told.contacts)
    basis = regression_basis(robot, layout, sensors_of(robot, kinds))
    return RegressionSpec(
        robot=robot,
        layout=layout,
        basis=basis,
        kept=basis.columns if told.columns == "base" else np.arange(layout.size),
        kinds=kinds,
        told=told,
        row_weights=None if told.row_weights is None else _row_weights(told.row_weights, robot, kinds),
    )


def collected(spec: RegressionSpec, log: Log, stream: RowFilter | None = None) -> Information:
    """The Information of one log, or of a stream's next samples, which pass its filter of weak rows."""
    collector = Collector(spec, stream)
    collector.add(log)
    return collector.information()


def _check_names(told: Columns):
    if told.columns not in ("base", "all"):
        raise OptionError(f"columns is 'base' or 'all'; got {told.columns!r}.")
    if told.engine not in ("auto", *ENGINES):
        raise OptionError(f"engine is one of auto, {choices(ENGINES)}; got {told.engine!r}.")
    require_kind(told.sums)


def _check_rows(kinds: Iterable[str], layout: ParameterLayout, told: Columns):
    """Refuse engines and columns that rows of these kinds do not have."""
    if told.engine not in ("auto", "numpy") and (told.sums == "qr" or "joints" not in kinds):
        raise OptionError(f"Engine '{told.engine}' makes Gram matrices of joint torques only; leave engine at 'auto'.")
    if (layout.extras or layout.rotor_names) and not set(kinds) <= set(OF_JOINTS):
        raise OptionError(
            "Rotors, couplings, springs and user columns go with rows of joints; leave them out of a spec with wrench "
            "rows."
        )


def _check_weights(kinds: Iterable[str], told: Columns, *, several: bool):
    if several and not callable(told.sample_weights):
        raise OptionError("sample_weights of several logs is a function that returns those of the log it is given.")
    if tuple(kinds) != ("joints",):
        raise OptionError("sample_weights go with rows of joints alone; leave them out of a spec with others.")


def _row_weights(row_weights, robot: Robot, kinds: tuple[str, ...]) -> np.ndarray:
    weights = np.asarray(row_weights, dtype=float)
    if kinds != ("joints",) or robot.loops:
        raise OptionError("row_weights go with rows of joints alone, of robots without closed loops.")
    if weights.shape != (robot.nv,) or not (np.isfinite(weights).all() and (weights > 0).all()):
        raise OptionError(
            f"row_weights are {robot.nv} finite, positive numbers, one for each of {choices(robot.dof_names)}; got "
            f"{weights.tolist() if weights.size < 8 else weights.shape}."
        )
    return weights


def _streamed(spec: RegressionSpec, logs: Iterable[Log]) -> Information:
    done, read, collector = None, 0, Collector(spec)
    try:
        for log in logs:
            collector.add(log)
            read += 1
            if collector.count >= CHECKPOINT:
                done, collector = _together(done, collector), Collector(spec)
    except (Exception, KeyboardInterrupt) as error:  # whatever the caller's iterator raises, and Ctrl-C
        usable = collector.complete and collector.count > 0
        raise StreamInterrupted(read, _together(done, collector) if usable else done, error) from error
    return _together(done, collector) if collector.count or done is None else done


def _together(done: Information | None, collector: Collector) -> Information:
    return collector.information() if done is None else done + collector.information()
