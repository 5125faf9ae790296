"""Engines that sum rows of joints: the compiled core, NumPy and JAX."""

from functools import cached_property, lru_cache
from typing import Any, Protocol

import numpy as np
from array_api_compat import is_jax_array

from steelyard import native
from steelyard.dynamics.effects import given_rows
from steelyard.dynamics.native_plans import fixed_poses, sum_plan
from steelyard.errors import OptionError
from steelyard.extras import extra
from steelyard.information.gram import Grams
from steelyard.information.regression_rows import TreeColumns, chunk_rows, effect_values, known_torque, rows_of
from steelyard.model import Robot
from steelyard.native import CHUNK, core
from steelyard.terms import TERMS, ParameterLayout, stated_values

CPU_CHUNK, GPU_CHUNK = 2048, 16384  # samples a task: for the caches of a processor core; for thousands of threads


class Native:
    """Sums of the core, one set a share of the samples. Shares depend on their number alone, so that sums have
    the same bits on any number of threads."""

    def __init__(self, joints, grams: Grams):
        self.core, self.joints, self.grams = native.require_core(), joints, grams
        self.shares: list[np.ndarray] = []

    def add(self, *channels):
        channels = (*(np.asarray(x, dtype=float) for x in channels[:4]), *channels[4:])
        n = len(channels[0])
        count = min(native.MOST_THREADS, -(-n // CPU_CHUNK))
        self.shares += [np.zeros(self.joints.plan.gram_start[-1]) for _ in range(count - len(self.shares))]
        edges = np.linspace(0, n, count + 1).astype(int)
        jobs = list(zip(self.shares, edges[:-1], edges[1:], strict=False))
        if count == 1:
            self._share(channels, *jobs[0])
            return
        native.for_each(lambda job: self._share(channels, *job), jobs)

    def _share(self, channels, gram, begin, end):
        for start in range(begin, end, CPU_CHUNK):
            self._chunk(gram, *self.joints.part(channels, start, min(start + CPU_CHUNK, end)))

    def _chunk(self, gram, q, v, a, tau, direction, roots):
        joints = self.joints
        robot, layout, plan = joints.robot, joints.layout, joints.plan
        tau = tau - known_torque(robot, layout, v.T, a.T, direction.T).T
        values = effect_values(robot, layout, joints.coulomb_width, joints.rows, q.T, v.T, a.T, direction.T)
        rows = [row for each in values for row in each]
        effects = np.stack(rows) if rows else np.zeros((0, len(q)))
        poses = fixed_poses(robot, q)
        q, v, a, tau, roots = (None if x is None else np.ascontiguousarray(x) for x in (q, v, a, tau, roots))
        self.core.add_samples(plan.tree, plan.rows, q, poses, v, a, tau, effects, roots, gram)

    def unload(self):
        """What the core has in lower triangles, in an order and with a padding of its own."""
        if not self.shares:
            return
        flat, joints, plan = np.sum(self.shares, axis=0), self.joints, self.joints.plan
        place = np.full(joints.layout.size, -1)
        place[joints.kept] = np.arange(len(joints.kept))
        for dof, (own, row) in enumerate(zip(plan.own, joints.rows, strict=True)):
            size = plan.padded[dof]
            lower = np.tril(flat[plan.gram_start[dof] : plan.gram_start[dof + 1]].reshape(size, size))
            square = lower + np.tril(lower, -1).T
            bodies, whole = len(row.in_block), len(row.places)
            at = np.r_[np.searchsorted(row.places[:bodies], place[own]), bodies:whole]
            k, gram, moment = len(at), np.zeros((whole, whole)), np.zeros(whole)
            gram[np.ix_(at, at)], moment[at] = square[:k, :k], square[k, :k]
            self.grams.add_sums(dof, row.places, gram, moment, square[k, k])
        self.shares = []


class Device:
    """Sums on the device of the arrays, or on JAX's default device. Settings of JAX are left as they are."""

    def __init__(self, joints, grams: Grams):
        self.jax = _jax()
        self.joints, self.grams = joints, grams
        self.step = _compiled(joints.robot, joints.layout, tuple(int(c) for c in joints.kept), joints.coulomb_width)
        self.widths = [len(row.places) + 1 for row in joints.rows]
        self.squares: list[Any] = self._empty()

    def _empty(self) -> list:
        return [np.zeros((width, width)) for width in self.widths]

    def add(self, *channels):
        """Add samples, first axis: q, v, a, tau, direction and weights (or None), NumPy or JAX arrays."""
        n, size = len(channels[0]), CPU_CHUNK if self.jax.default_backend() == "cpu" else GPU_CHUNK
        with self.jax.enable_x64(True):
            for start in range(0, n, size):
                count = min(size, n - start)
                part = [None if x is None else self._part(x, start, count, size) for x in channels]
                self.squares = self.step(self.squares, part, self._users(*part[:3]), count)

    def _part(self, channel, start: int, count: int, size: int):
        """Samples in float64 on the device; the last one is repeated to fill the chunk, for one compiled size."""
        xp = self.jax.numpy if is_jax_array(channel) else np
        part = channel[start : start + count]
        if count < size:
            part = xp.concatenate([part, xp.broadcast_to(part[-1:], (size - count, part.shape[1]))])
        return self.jax.numpy.asarray(part, dtype=np.float64)

    def _users(self, q, v, a) -> dict:
        """Columns that are made with NumPy arrays, outside of what is compiled."""
        return given_rows(self.joints.robot, self.joints.layout, *(np.asarray(x).T for x in (q, v, a)))

    def unload(self):
        """Add the squares of each row's `[columns, tau]`."""
        for dof, (row, square) in enumerate(zip(self.joints.rows, self.squares, strict=True)):
            square = np.asarray(square)
            self.grams.add_sums(dof, row.places, square[:-1, :-1], square[-1, :-1], square[-1, -1])
        self.squares = self._empty()


@lru_cache(maxsize=16)
def _compiled(robot: Robot, layout: ParameterLayout, kept: tuple[int, ...], coulomb_width: float):
    """Function that adds one chunk to the squares of all rows."""
    import jax

    rows = rows_of(robot, layout, kept)

    def step(squares, channels, given, count):
        *state, direction, weights = channels
        q, v, a, tau = (x.T for x in state)
        direction = jax.numpy.tanh(v / coulomb_width) if direction is None else direction.T
        chunk = (q, v, a, tau, direction)
        real = (jax.numpy.arange(v.shape[1]) < count).astype(v.dtype)
        roots = jax.numpy.broadcast_to(real, v.shape) if weights is None else real * jax.numpy.sqrt(weights.T)
        added = []
        for dof, (y, left) in enumerate(chunk_rows(robot, layout, coulomb_width, rows, chunk, given)):
            both = jax.lax.optimization_barrier(jax.numpy.concatenate([y, left[None]]) * roots[dof])
            added.append(jax.numpy.matmul(both, both.T, precision="highest"))
        return [old + new for old, new in zip(squares, added, strict=True)]

    return jax.jit(step)


@lru_cache(maxsize=1)
def _jax():
    """The module, once it is known to compute in float64. Raises OptionError where it is absent or cannot."""
    with extra("Engine 'jax'"):
        import jax

    small = 2.0**-40
    try:
        with jax.enable_x64(True):
            exact = float((jax.numpy.asarray(1.0) + jax.numpy.asarray(small)) - 1.0) == small
    except jax.errors.JaxRuntimeError:
        exact = False
    if not exact:
        raise OptionError(
            f"JAX's device '{jax.default_backend()}' does not compute in float64, and sums of squares in float32 lose "
            "the parameters. Use engine='native' or 'numpy', or another device (jax.default_device)."
        )
    return jax


class Engine(Protocol):
    """A way to sum rows over samples: given samples, and asked for what it has summed."""

    def __init__(self, joints: "JointRows", grams: Grams): ...

    def add(self, *channels):
        """Add samples, first axis: q, v, a, tau, direction and weights; the last two may be None."""

    def unload(self):
        """Add all sums to its Grams and begin anew."""


class Chunked:
    """Sums by NumPy, in chunks that the second-level cache holds, added at once."""

    def __init__(self, joints: "JointRows", grams: Grams):
        self.joints, self.grams = joints, grams

    def add(self, *channels):
        joints = self.joints
        channels = (*(np.asarray(x, dtype=float) for x in channels[:4]), *channels[4:])
        for start in range(0, len(channels[0]), CHUNK):
            *part, roots = joints.part(channels, start, start + CHUNK)
            chunk = tuple(np.ascontiguousarray(x.T) for x in part)
            pairs = chunk_rows(joints.robot, joints.layout, joints.coulomb_width, joints.rows, chunk)
            for dof, (y, tau_left) in enumerate(pairs):
                if roots is not None:
                    y, tau_left = y * roots[:, dof], tau_left * roots[:, dof]
                self.grams.add_sums(dof, joints.rows[dof].places, y @ y.T, y @ tau_left, tau_left @ tau_left)

    def unload(self):
        pass


class JointRows:
    """The rows of joints of a regression, as far as no sample is needed. raw: columns that are summed."""

    def __init__(self, raw: TreeColumns, coulomb_width: float):
        self.raw, self.coulomb_width = raw, coulomb_width
        self.robot, self.layout, self.kept = raw.robot, raw.layout, raw.columns
        self.rows = rows_of(self.robot, self.layout, self.kept)
        stated = (value for term, value in stated_values(self.robot).items() if TERMS[term].directed)
        self.directed = self.layout.directed or any(map(np.any, stated))

    @cached_property
    def plan(self):
        """The core's plan of the same rows."""
        start = np.cumsum([0, *(len(row.terms) + len(row.extras) for row in self.rows)])
        effects = [range(start[dof], start[dof + 1]) for dof in range(len(self.rows))]
        return sum_plan(self.robot, self.kept[self.kept < self.layout.inertial.stop], effects)

    def part(self, channels, start: int, stop: int) -> tuple:
        """Samples of all channels, with the smoothed direction of motion where a log has no filtered one, zeros where
        nothing depends on it, and the square roots of their weights, or None."""
        *state, direction, weights = channels
        q, v, a, tau = (x[start:stop] for x in state)
        roots = None if weights is None else np.sqrt(weights[start:stop])
        if not self.directed:
            return q, v, a, tau, np.broadcast_to(0.0, v.shape), roots
        return q, v, a, tau, np.tanh(v / self.coulomb_width) if direction is None else direction[start:stop], roots


class Sums:
    """Sums over samples of one job, by the engine asked for, or by the one that suits each log."""

    def __init__(self, joints: JointRows, engine: str):
        self.joints = joints
        self.grams = Grams(joints.robot.nv, len(joints.kept))
        self.count, self.counts = 0, np.zeros(joints.robot.nv)
        self._requested = engine
        self._engines: dict[str, Engine] = {}

    @property
    def engine(self) -> str:
        """Engines used so far."""
        return next(iter(self._engines)) if len(self._engines) == 1 else "mixed"

    def add(self, q, v, a, tau, direction=None, weights=None):
        """Add samples, first axis: q (n, nq), v, a, tau (n, nv).

        direction: (n, nv), None finds it chunk by chunk. weights: (n, nv) of the squared residuals, all 1 for None.
        """
        n = len(q)
        if n == 0:
            return
        name = self._requested
        if name == "auto":
            name = "jax" if is_jax_array(v) else "native" if core() else "numpy"
        if name not in self._engines:
            self._engines[name] = ENGINES[name](self.joints, self.grams)
        self._engines[name].add(q, v, a, tau, direction, weights)
        self.count += n
        self.counts += n if weights is None else weights.sum(axis=0)

    def total(self):
        """Squares, moment (nv, k), energy (nv,), no factors, counts (nv,), in the columns asked for."""
        for engine in self._engines.values():
            engine.unload()
        mixed = self.joints.raw.mixed(self.grams.squares(), self.grams.moment)
        return *mixed, self.grams.energy, None, self.counts


# Of rows of joint torques. A further one is a module with a class like these, and its name here.
ENGINES: dict[str, type[Engine]] = {"numpy": Chunked, "native": Native, "jax": Device}
