"""Whatever Python hands to the compiled core is computed with or refused: nothing is read or written out of bounds.

`make sanitize` runs many more examples, watched by sanitizers, which end the run at the first such access.
"""

import contextlib
import os

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from native_calls import calls, objects, plans, rebuilt
from steelyard.native import core

EXAMPLES = int(os.environ.get("STEELYARD_BOUNDARY_EXAMPLES", "100"))
ODD_NUMBERS = (np.nan, np.inf, -np.inf, 1e308, -1e308, 1e-320, 0.0, -1.0, 3e9)
TENTH_TOO_MANY = 1844674407370955162  # ten times that is 4 in 64 bits
ODD_INTEGERS = (-(2**63), 2**63 - 1, -1, 0, 1, 7, 2**31, 2**62, TENTH_TOO_MANY)
ODD_THINGS = (None, "text", 3, 1.5, [1.0, 2.0], np.zeros(()), np.zeros((0, 0)), np.zeros((2,) * 9))
REFUSALS = (ValueError, TypeError, MemoryError)
FUNCTIONS = sorted(calls(1, np.random.default_rng(0)))
many = settings(max_examples=EXAMPLES, deadline=None, derandomize=True)


def spoiled(data, x):
    """An argument with one thing about it that is wrong, or at least odd."""
    if isinstance(x, int | str | float):
        odd = ODD_INTEGERS if isinstance(x, int) else (*ODD_NUMBERS, "avx9", "\0")
        return data.draw(st.sampled_from(odd))
    if not isinstance(x, np.ndarray):
        return data.draw(st.sampled_from([*objects("ur5_robot", False).values(), None, 7, np.zeros(3)]))
    how = data.draw(st.sampled_from([odd_values, odd_shape, odd_type, odd_memory, odd_thing]))
    return how(data, x)


def odd_values(data, x):
    x = np.array(x)
    for _ in range(data.draw(st.integers(1, 3)) if x.size else 0):
        odd = ODD_INTEGERS if x.dtype.kind == "i" else ODD_NUMBERS
        x.flat[data.draw(st.integers(0, x.size - 1))] = data.draw(st.sampled_from(odd))
    return x


def odd_shape(data, x):
    shape, axis = list(x.shape), data.draw(st.integers(0, x.ndim - 1))
    shape[axis] = data.draw(st.sampled_from([0, 1, shape[axis] + 1, max(shape[axis] - 1, 0), 2 * shape[axis]]))
    made = data.draw(st.sampled_from([np.resize(x, shape), x[None], x[..., None], x.reshape(-1)]))
    return np.ascontiguousarray(made)


def odd_type(data, x):
    return x.astype(data.draw(st.sampled_from([np.float32, np.int32, np.int64, np.uint8, bool, complex, object, "U1"])))


def odd_memory(data, x):
    """The same numbers: locked, with gaps, the last axis first, at an odd address, or with the other byte order."""
    x = np.array(x)
    gaps = np.repeat(x, 2, axis=-1)[..., ::2]
    odd = np.frombuffer(bytearray(b" " + x.tobytes()), dtype=x.dtype, offset=1).reshape(x.shape)
    swapped = x.astype(x.dtype.newbyteorder())
    x.flags.writeable = False
    return data.draw(st.sampled_from([x, gaps, np.asfortranarray(x), odd, swapped]))


def odd_thing(data, x):
    return data.draw(st.sampled_from(ODD_THINGS))


def some_spoiled(data, arguments: dict) -> dict:
    names = data.draw(st.lists(st.sampled_from(sorted(arguments)), min_size=1, max_size=2, unique=True))
    return arguments | {name: spoiled(data, arguments[name]) for name in names}


@pytest.mark.parametrize("samples", [0, 1, 9, 300])
def test_right_calls(samples):
    """What is spoiled below is right before; no function of the core is left out."""
    right = calls(samples, np.random.default_rng(samples))
    public = {name for name in dir(core()) if not name.startswith("_")}
    assert public == {*right, "instruction_sets", "Tree", "Links", "Rows"}
    for name, arguments in right.items():
        getattr(core(), name)(**arguments)


@pytest.mark.exhaustive(keep=2)
@pytest.mark.parametrize("function", FUNCTIONS)
@many
@given(data=st.data())
def test_functions(function, data):
    samples = data.draw(st.sampled_from([0, 1, 2, 9, 130]))
    arguments = some_spoiled(data, calls(samples, np.random.default_rng(0))[function])
    with contextlib.suppress(REFUSALS):
        getattr(core(), function)(**arguments)


@pytest.mark.exhaustive(keep=1)
@pytest.mark.parametrize("kind", ["Tree", "Links", "Rows"])
@many
@given(data=st.data())
def test_plans(kind, data):
    """What is made of spoiled arrays must be safe to compute with."""
    right = calls(3, np.random.default_rng(0))
    try:
        made = rebuilt({kind: some_spoiled(data, plans("solo12", True)[kind])})
    except REFUSALS:
        return
    for function in ("add_samples", "torques", "derivatives"):
        with contextlib.suppress(REFUSALS):
            getattr(core(), function)(**{name: made.get(name, x) for name, x in right[function].items()})


def test_a_tree_with_fewer_degrees():
    """Rows keep places among the degrees of their own tree: another one with as many coordinates may have fewer."""
    arrays = plans("solo12", True)["Tree"]
    twice = dict(arrays)
    for name in ("subspace", "coordinate", "ratio"):
        twice[name] = np.concatenate([arrays[name], arrays[name][-1:]])
    twice["degree_start"] = arrays["degree_start"] + (np.arange(len(arrays["degree_start"])) == len(arrays["above"]))
    made, right = rebuilt({"Tree": twice}), calls(3, np.random.default_rng(0))["add_samples"]
    core().add_samples(**(right | {"tree": made["tree"], "rows": made["rows"]}))
    with pytest.raises(ValueError, match="another tree"):
        core().add_samples(**(right | {"rows": made["rows"]}))


@pytest.mark.parametrize(
    ("function", "wrong"),
    [
        ("constrained_fits", {"bodies": TENTH_TOO_MANY}),
        ("constrained_fits", {"bodies": 3}),
        ("constrained_fits", {"rules": np.array([0.2, 0.1, 0.9, 10, np.nan, 20])}),
        ("constrained_fits", {"S": np.zeros((0, 0)), "bodies": 0, "free": np.zeros((3, 0)), "z": np.zeros((3, 0))}),
        ("entropic", {"rules": np.array([1e300, 5, 20, 0.1, 0.5, 0.9, 0.7, 1e-9, 20.0])}),
        ("advance", {"config": np.full_like(calls(3, np.random.default_rng(0))["advance"]["config"], np.nan)}),
        ("torques", {"q": np.frombuffer(bytearray(3 * 19 * 8 + 1), offset=1).reshape(3, 19)}),
    ],
)
def test_refused(function, wrong):
    with pytest.raises(ValueError, match=r"S must|steps|aligned"):
        getattr(core(), function)(**(calls(3, np.random.default_rng(0))[function] | wrong))


@pytest.mark.parametrize(("name", "value"), [("nv", -1), ("nq", -1), ("nv", 2**63 - 1)])
def test_counts_of_a_tree(name, value):
    empty = {
        key: x[:0] if isinstance(x, np.ndarray) and key != "gravity" else x
        for key, x in plans("solo12", True)["Tree"].items()
    }
    empty["degree_start"] = np.zeros(1, dtype=np.int64)
    with pytest.raises(ValueError, match="nq or nv"):
        core().Tree(**(empty | {name: value}))


def test_more_bounds_than_columns():
    """Places may be named again: what is kept of bounds is as long as they are."""
    right = calls(3, np.random.default_rng(0))["constrained_fits"]
    core().constrained_fits(**(right | {"bounded": np.full(500, 20), "lower": -np.ones(500)}))
