"""The sums by JAX, on whatever device it runs: float64, compiled once a regression, in chunks of one size."""

from functools import lru_cache
from typing import Any

import numpy as np
from array_api_compat import is_jax_array

from steelyard.dynamics import extra_rows
from steelyard.errors import OptionError
from steelyard.extras import extra
from steelyard.information.gram import Grams
from steelyard.information.regression_rows import chunk_rows, rows_of
from steelyard.model import Robot
from steelyard.terms import ParameterLayout

CPU_CHUNK, GPU_CHUNK = 2048, 16384  # samples a step: for the caches of a core; for thousands of threads


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

    def _users(self, q, v, a) -> list:
        """Rows of the user's columns: their functions are called with NumPy arrays, outside of what is compiled."""
        users = [extra for extra in self.joints.layout.extras if extra.function is not None]
        state = [np.asarray(x).T for x in (q, v, a)] if users else []
        return [extra_rows(self.joints.robot, extra, *state) for extra in users]

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
    users = [i for i, extra in enumerate(layout.extras) if extra.function is not None]

    def step(squares, channels, given, count):
        *state, direction, weights = channels
        q, v, a, tau = (x.T for x in state)
        direction = jax.numpy.tanh(v / coulomb_width) if direction is None else direction.T
        chunk, known = (q, v, a, tau, direction), dict(zip(users, given, strict=True))
        real = (jax.numpy.arange(v.shape[1]) < count).astype(v.dtype)
        roots = jax.numpy.broadcast_to(real, v.shape) if weights is None else real * jax.numpy.sqrt(weights.T)
        added = []
        for dof, (y, left) in enumerate(chunk_rows(robot, layout, coulomb_width, rows, chunk, known)):
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
