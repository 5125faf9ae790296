"""Torques of robots with closed loops inside JAX programs: NumPy closes loops, JAX sees a function with a gradient."""

from functools import lru_cache

import numpy as np

from steelyard.arguments import require_type
from steelyard.dynamics.closed_loop.assembly import choose_independent
from steelyard.dynamics.closed_loop.derivatives import inverse_dynamics_derivatives
from steelyard.dynamics.closed_loop.projection import inverse_dynamics
from steelyard.dynamics.closed_loop.states import named
from steelyard.errors import OptionError
from steelyard.extras import extra
from steelyard.model import Robot

ROBOTS = 8  # inertias whose robots are kept


def torque_function(robot: Robot, *, actuated=None, start=None):
    """`closed_loop.inverse_dynamics` as a function for JAX: under `jit` and `vmap`, and with reverse-mode derivatives
    that are exact to rounding (paper D, (14)).

    Args:
        robot: with closed loops.
        actuated: names of the independent joints, as of `closed_loop.inverse_dynamics`.
        start: (nq,) configuration on the branch of assembly, as there.

    Returns:
        A function of q, v, a (..., ni), all of one shape, in rad or m of the independent joints, and theta (nb, 10) of
        the bodies; it returns torques (..., ni), N m or N. It raises where the loops cannot be closed.

    Raises:
        LoopError, OptionError: as `closed_loop.inverse_dynamics`.

    Example:
        >>> import jax, numpy as np, steelyard as sy
        >>> robot = sy.library.five_bar()
        >>> tau = sy.closed_loop.torque_function(robot)
        >>> power = jax.grad(lambda v: (tau(np.zeros(2), v, np.zeros(2), robot.inertias) * v).sum())
        >>> power(np.ones(2)).shape
        (2,)
    """
    with extra("Closed loops under JAX"):
        import jax
        import jax.numpy as jnp

    require_type(Robot, robot=robot)
    ni = len(choose_independent(robot, named(actuated)).independent)

    @lru_cache(maxsize=ROBOTS)
    def with_inertias(numbers: bytes) -> Robot:
        return robot.with_inertias(np.frombuffer(numbers).reshape(robot.nb, 10))

    def at(theta) -> Robot:
        return with_inertias(np.ascontiguousarray(theta, dtype=np.float64).tobytes())

    def numbers(*arrays):
        return (np.asarray(x, dtype=np.float64) for x in arrays)

    def forces(q, v, a, theta):
        q_, v_, a_ = numbers(q, v, a)
        return inverse_dynamics(at(theta), q_, v_, a_, actuated=actuated, start=start).astype(q.dtype)

    def gradient(q, v, a, theta, weights):
        q_, v_, a_, weights_ = numbers(q, v, a, weights)
        found = inverse_dynamics_derivatives(at(theta), q_, v_, a_, actuated=actuated, start=start).vjp(weights_)
        of_theta = found.theta.reshape(-1, robot.nb, 10).sum(axis=0)
        return tuple(np.asarray(x, dtype=q.dtype) for x in (found.q, found.v, found.a, of_theta))

    def shaped(x):
        return jax.ShapeDtypeStruct(x.shape, x.dtype)

    def called(q, v, a, theta):
        q, v, a, theta = (jnp.asarray(x) for x in (q, v, a, theta))
        if not q.shape == v.shape == a.shape or q.shape[-1:] != (ni,) or theta.shape != (robot.nb, 10):
            raise OptionError(
                f"q, v and a are (..., {ni}) and theta is ({robot.nb}, 10); found {q.shape}, {v.shape}, {a.shape}, "
                f"{theta.shape}"
            )
        return jax.pure_callback(forces, shaped(q), q, v, a, theta, vmap_method="sequential")

    tau = jax.custom_vjp(called)

    def forward(q, v, a, theta):
        saved = tuple(jnp.asarray(x) for x in (q, v, a, theta))
        return called(*saved), saved

    def backward(saved, weights):
        return jax.pure_callback(gradient, tuple(map(shaped, saved)), *saved, weights, vmap_method="sequential")

    tau.defvjp(forward, backward)
    return tau
