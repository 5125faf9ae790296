"""Batches of bodies: shape, finite numbers and consistency are checked, large batches are evaluated in blocks."""

import functools
import math
from typing import Any

import numpy as np
from array_api_compat import is_array_api_obj

from steelyard.errors import InertiaError
from steelyard.inertia import pseudo
from steelyard.namespaces import array_namespace, is_numpy_array

BODIES_PER_BLOCK = 2048  # ten doubles in, a hundred out: about 2 MB a block; 1024 to 4096 are equally fast


def as_vector(x: Any, name: str, *, size: int = 10) -> Any:
    """The array `x` if its last axis has `size` entries; lists become NumPy arrays. Raises InertiaError otherwise."""
    x = x if is_array_api_obj(x) else np.asarray(x, dtype=float)
    if x.ndim == 0 or x.shape[-1] != size:
        raise InertiaError(
            f"{name} has shape {tuple(x.shape)}; expected (..., {size}): batch axes first, {size} numbers last"
        )
    return x


def finite_bodies(theta):
    """theta (..., 10) with every body that is not finite set to zero, and which bodies are finite (...)."""
    xp = array_namespace(theta)
    finite = xp.all(xp.isfinite(theta), axis=-1)
    return xp.where(finite[..., None], theta, 0.0), finite


def first_false(ok):
    """Batch index of the first false entry of `ok` (...), or None. A traced array has no values yet: None."""
    xp = array_namespace(ok)
    try:
        if bool(xp.all(ok)):
            return None
    except TypeError:  # how array libraries refuse to look into an array under jit, grad or vmap
        return None
    return tuple(int(i) for i in np.unravel_index(int(xp.argmin(xp.astype(xp.reshape(ok, (-1,)), xp.int8))), ok.shape))


def place(index, shape):
    """Words for a batch index: which body of how many."""
    return f"body {index} of the batch {tuple(shape)}" if shape else "the body"


def require_consistent(theta, ok, name="theta"):
    """Raise InertiaError for the first body where `ok` (...) is false. theta: (..., 10).

    `ok` is the caller's own evidence of positive definiteness (pivots or eigenvalues), so nothing is factored twice;
    the smallest eigenvalue is computed for the message only. Does nothing under tracing (JAX jit), where results are
    NaN instead.
    """
    index = first_false(ok)
    if index is None:
        return
    body = np.asarray(theta[index], dtype=float)
    where = place(index, ok.shape)
    if not np.all(np.isfinite(body)):
        raise InertiaError(
            f"{name}: {where} has numbers that are not finite: {body.tolist()}; remove or repair it first"
        )
    smallest = float(pseudo.smallest_eigenvalue(body))
    raise InertiaError(
        f"{name}: {where} is not physically consistent: the smallest eigenvalue of its pseudo-inertia is "
        f"{smallest:.6g} and must be positive beyond rounding (mass {body[0]:.6g} kg). No distribution of mass has "
        "these parameters. Check that the inertia is about the body-frame origin and in the order Ixx, Ixy, Iyy, "
        "Ixz, Iyz, Izz (steelyard.inertia.conventions converts others), or project onto the consistent set first"
    )


def require_positive(values, name, unit, shape):
    """Raise InertiaError unless all `values` (..., k) are positive and finite. shape: batch shape, for the message."""
    xp = array_namespace(values)
    index = first_false(xp.all((values > 0) & (values < math.inf), axis=-1))
    if index is not None:
        found = np.asarray(values[index], dtype=float).tolist()
        raise InertiaError(f"{name} of {place(index, shape)} is {found} {unit}; expected positive finite numbers")


def in_blocks(kernel):
    """Decorate `kernel(x: (..., k)) -> (..., *tail)`, independent over the leading axes: same results, sooner.

    Without blocks every temporary of a large batch goes to memory and back, several times the cost of the arithmetic.
    Other namespaces (JAX) fuse by themselves and see the kernel untouched.
    """

    @functools.wraps(kernel)
    def blocked(x):
        if not is_numpy_array(x) or x.size <= BODIES_PER_BLOCK * x.shape[-1]:
            return kernel(x)
        flat = x.reshape(-1, x.shape[-1])
        first = kernel(flat[:BODIES_PER_BLOCK])
        out = np.empty((len(flat), *first.shape[1:]), dtype=first.dtype)
        out[:BODIES_PER_BLOCK] = first
        for start in range(BODIES_PER_BLOCK, len(flat), BODIES_PER_BLOCK):
            block = slice(start, start + BODIES_PER_BLOCK)
            out[block] = kernel(flat[block])
        return out.reshape(*x.shape[:-1], *first.shape[1:])

    return blocked
