"""Ways to the same sums: the compiled core, NumPy where that is missing, JAX for JAX."""

from functools import cached_property
from typing import Protocol

import numpy as np
from array_api_compat import is_jax_array

from steelyard.dynamics import sum_plan
from steelyard.information.engine_jax import Device
from steelyard.information.engine_native import Native
from steelyard.information.gram import Grams
from steelyard.information.regression_rows import Raw, chunk_rows, rows_of
from steelyard.native import core
from steelyard.terms import TERMS, stated_values

CHUNK = 512  # samples a pass: the working arrays of an arm stay in the second-level cache


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

    def __init__(self, raw: Raw, coulomb_width: float):
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
        """Squares, moment (nv, k), energy (nv,)."""
        for engine in self._engines.values():
            engine.unload()
        return *self.joints.raw.mixed(self.grams.squares(), self.grams.moment), self.grams.energy


# Of rows of joint torques. A further one is a module with a class like these, and its name here.
ENGINES: dict[str, type[Engine]] = {"numpy": Chunked, "native": Native, "jax": Device}
