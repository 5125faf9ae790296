"""Ways to the same sums: NumPy, the fused Numba kernel for jobs large enough to pay for starting it, JAX for JAX."""

from concurrent.futures import ThreadPoolExecutor
from functools import cached_property

import numpy as np
from array_api_compat import is_jax_array

from steelyard.dynamics import fixed_poses, fused_plan, kernel_choice
from steelyard.information.device import Device
from steelyard.information.raw import raw_columns
from steelyard.information.rows import chunk_rows, effect_values, known_torque, rows_of
from steelyard.information.stores import Grams
from steelyard.model import Robot
from steelyard.terms import TERMS, ParameterLayout, stated_values

ENGINES = ("numpy", "numba", "jax")
CHUNK = 512  # samples a pass: the working arrays of an arm stay in the second-level cache
FUSED_CHUNK = 2048  # samples a task of the kernel, which has smaller blocks of its own
KERNEL = "steelyard.dynamics.kernel"
SAMPLE_SECONDS, ENTRY_SECONDS = 2e-7, 1e-10  # cost under NumPy of a sample, for each body and each entry of Grams


class Sums:
    """Sums over samples of one job, by whichever engine each log of it is worth. before: samples of the job so far."""

    def __init__(self, robot: Robot, layout: ParameterLayout, kept, coulomb_width: float, engine: str, before: int = 0):
        self.raw = raw_columns(robot, layout, kept)
        self.robot, self.layout, self.kept = self.raw.robot, self.raw.layout, self.raw.columns
        self.coulomb_width = coulomb_width
        self.rows = rows_of(self.robot, self.layout, self.kept)
        stated = (value for term, value in stated_values(robot).items() if TERMS[term].directed)
        self.directed = self.layout.directed or any(map(np.any, stated))
        self.grams = Grams(robot.nv, len(self.kept))
        self.count, self.counts, self.before = 0, np.zeros(robot.nv), before
        self._asked, self._used = engine, []
        self._fused: Fused | None = None
        self._device: Device | None = None

    @property
    def engine(self) -> str:
        """Engines used so far."""
        return self._used[0] if len(self._used) == 1 else "mixed"

    def add(self, q, v, a, tau, direction=None, weights=None):
        """Add samples, first axis: q (n, nq), v, a, tau (n, nv).

        direction: (n, nv), None finds it chunk by chunk. weights: (n, nv) of the squared residuals, all 1 for None.
        """
        n = len(q)
        if n == 0:
            return
        name = self._asked
        if name == "auto":
            name = "jax" if is_jax_array(v) else chosen(self.robot, self.rows, self.before + self.count + n)
        if name not in self._used:
            self._used.append(name)
        if name == "jax":
            self._device = self._device or Device(self)
            self._device.add(q, v, a, tau, direction, weights)
        elif name == "numba":
            q, v, a, tau = (np.asarray(x, dtype=float) for x in (q, v, a, tau))
            self._fused = self._fused or Fused(self)
            self._fused.add(q, v, a, tau, direction, weights)
        else:
            q, v, a, tau = (np.asarray(x, dtype=float) for x in (q, v, a, tau))
            for start in range(0, n, CHUNK):
                *part, roots = self.part((q, v, a, tau, direction, weights), start, start + CHUNK)
                self._add_chunk(tuple(np.ascontiguousarray(x.T) for x in part), roots)
        self.count += n
        self.counts += n if weights is None else weights.sum(axis=0)

    def part(self, channels, start: int, stop: int) -> tuple:
        """Samples of all channels, with the smoothed direction of motion where a log has no filtered one, zeros where
        nothing depends on it, and the square roots of their weights, or None."""
        *state, direction, weights = channels
        q, v, a, tau = (x[start:stop] for x in state)
        roots = None if weights is None else np.sqrt(weights[start:stop])
        if not self.directed:
            return q, v, a, tau, np.broadcast_to(0.0, v.shape), roots
        return q, v, a, tau, np.tanh(v / self.coulomb_width) if direction is None else direction[start:stop], roots

    def _add_chunk(self, chunk, roots=None):
        pairs = chunk_rows(self.robot, self.layout, self.coulomb_width, self.rows, chunk)
        for dof, (y, tau) in enumerate(pairs):
            if roots is not None:
                y, tau = y * roots[:, dof], tau * roots[:, dof]
            self.grams.add_sums(dof, self.rows[dof].places, y @ y.T, y @ tau, tau @ tau)

    def total(self):
        """Squares, moment (nv, k), energy (nv,)."""
        if self._fused is not None:
            self._fused.unload(self.grams)
            self._fused = None
        if self._device is not None:
            self._device.unload(self.grams)
            self._device = None
        return *self.raw.mixed(self.grams.squares(), self.grams.moment), self.grams.energy


class Fused:
    """Sums of the fused kernel, one set a share of the samples. Shares depend on their number alone, so that sums have
    the same bits on any number of threads."""

    def __init__(self, sums: Sums):
        self.sums = sums
        start = np.cumsum([0, *(len(row.terms) + len(row.extras) for row in sums.rows)])
        effects = [range(start[dof], start[dof + 1]) for dof in range(len(sums.rows))]
        bodies = sums.kept[sums.kept < sums.layout.inertial.stop]
        self.plan, self.own = fused_plan(sums.robot, bodies, effects)
        self.grams: list[np.ndarray] = []

    @cached_property
    def _kernel(self):
        from steelyard.dynamics import add_samples

        return add_samples

    def add(self, *channels):
        n = len(channels[0])
        count = min(kernel_choice.MOST_THREADS, -(-n // FUSED_CHUNK))
        self.grams += [self._empty() for _ in range(count - len(self.grams))]
        edges = np.linspace(0, n, count + 1).astype(int)
        jobs = list(zip(self.grams, edges[:-1], edges[1:], strict=False))
        if count == 1:
            self._share(channels, *jobs[0])
            return
        if not self._kernel.signatures:  # compiled by a first sample that does not count, before threads share it
            self._share(channels, self._empty(), 0, 1)
        with ThreadPoolExecutor(min(count, kernel_choice.threads())) as pool:
            list(pool.map(lambda job: self._share(channels, *job), jobs))

    def _empty(self) -> np.ndarray:
        return np.zeros(self.plan.gram_start[-1])

    def _share(self, channels, gram, begin, end):
        for start in range(begin, end, FUSED_CHUNK):
            self._chunk(gram, *self.sums.part(channels, start, min(start + FUSED_CHUNK, end)))

    def _chunk(self, gram, q, v, a, tau, direction, roots):
        sums = self.sums
        robot, layout = sums.robot, sums.layout
        tau = tau - known_torque(robot, layout, v.T, a.T, direction.T).T
        values = effect_values(robot, layout, sums.coulomb_width, sums.rows, q.T, v.T, a.T, direction.T)
        rows = [row for each in values for row in each]
        effects = np.stack(rows) if rows else np.zeros((0, len(q)))
        poses = fixed_poses(robot, q)
        roots = np.zeros((0, robot.nv)) if roots is None else roots
        q, v, a, tau, roots = (np.array(x, order="C") for x in (q, v, a, tau, roots))
        self._kernel(self.plan, q, poses, v, a, tau, effects, roots, gram)

    def unload(self, grams: Grams):
        """Add what the kernel has in lower triangles, in an order and with a padding of its own."""
        flat = np.sum(self.grams, axis=0)
        place = np.full(self.sums.layout.size, -1)
        place[self.sums.kept] = np.arange(len(self.sums.kept))
        for dof, (own, row) in enumerate(zip(self.own, self.sums.rows, strict=True)):
            size = self.plan.padded[dof]
            lower = np.tril(flat[self.plan.gram_start[dof] : self.plan.gram_start[dof + 1]].reshape(size, size))
            square = lower + np.tril(lower, -1).T
            bodies, whole = len(row.in_block), len(row.places)
            at = np.r_[np.searchsorted(row.places[:bodies], place[own]), bodies:whole]
            k, gram, moment = len(at), np.zeros((whole, whole)), np.zeros(whole)
            gram[np.ix_(at, at)], moment[at] = square[:k, :k], square[k, :k]
            grams.add_sums(dof, row.places, gram, moment, square[k, k])


def chosen(robot: Robot, rows, count: int) -> str:
    """Engine for a job of `count` samples, by its work under NumPy and what starting the kernel costs."""
    work = count * (SAMPLE_SECONDS * robot.nb + ENTRY_SECONDS * sum(len(row.places) ** 2 for row in rows))
    return "numba" if kernel_choice.pays(work, KERNEL, "add_samples") else "numpy"
