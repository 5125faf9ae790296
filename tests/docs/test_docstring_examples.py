"""Every example in the docstring of a public name runs and prints what it says."""

import doctest
from inspect import isclass, isfunction, ismodule

import pytest

import steelyard as sy

OPTIONS = doctest.NORMALIZE_WHITESPACE | doctest.ELLIPSIS
ENTRY_POINTS = (  # each has an example
    "body_regressor",
    "calibrate",
    "energy_regressor",
    "excite.design",
    "excite.poses",
    "fit.build",
    "fit.consistent",
    "fit.least_squares",
    "fit.solve",
    "fit.uncertainty",
    "identify",
    "inertia.Ellipsoid",
    "inertia.from_com_inertia",
    "inertia.is_consistent",
    "inertia.is_realizable",
    "inertia.mesh.parameters",
    "inverse_dynamics",
    "inverse_dynamics_derivatives",
    "momentum_regressor",
    "payload.identify",
    "regressor",
    "validate",
)


def examples(value, name: str, seen: set[int]):
    """Doctests of a function or class, or of all public names of a module."""
    if id(value) in seen:
        return
    seen.add(id(value))
    if ismodule(value):
        own = [key for key, each in vars(value).items() if getattr(each, "__module__", None) == value.__name__]
        for key in getattr(value, "__all__", [key for key in own if not key.startswith("_")]):
            yield from examples(getattr(value, key), f"{name}.{key}", seen)
    elif (isfunction(value) or isclass(value)) and value.__module__.startswith("steelyard"):
        yield from doctest.DocTestFinder(exclude_empty=True).find(value, name, module=False, globs={})


@pytest.mark.parametrize("name", sy.__all__)
def test_examples_print_what_they_say(name, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    for test in examples(getattr(sy, name), f"sy.{name}", set()):
        told = []
        doctest.DocTestRunner(optionflags=OPTIONS).run(test, out=told.append, clear_globs=False)
        assert not told, "".join(told)


@pytest.mark.parametrize("name", ENTRY_POINTS)
def test_entry_points_have_an_example(name):
    value = sy
    for key in name.split("."):
        value = getattr(value, key)
    assert any(test.examples for test in examples(value, name, set())), f"sy.{name} has no example"
