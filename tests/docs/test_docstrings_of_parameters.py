"""Every public function says what each of its parameters is, under `Args:`."""

import importlib
import re
from inspect import getdoc, isfunction, signature

import pytest

PACKAGES = (
    "steelyard",
    *(
        f"steelyard.{name}"
        for name in (
            "inertia",
            "model",
            "dynamics",
            "log",
            "identifiable",
            "information",
            "fit",
            "payload",
            "excite",
            "drives",
            "prepare",
            "codegen",
        )
    ),
)
ENTRY = re.compile(r"^ {4}((?:\*{0,2}\w+, )*\*{0,2}\w+)(?: \[[^\]]*\])?: ", re.MULTILINE)  # `a, b [m]: meaning`


def functions(package: str) -> dict:
    face = importlib.import_module(package)
    own = {name: getattr(face, name) for name in face.__all__}
    return {name: each for name, each in own.items() if isfunction(each) and each.__module__.startswith("steelyard")}


def documented(function) -> list[str]:
    """Names of the entries under `Args:`, up to the next heading."""
    _, _, after = (getdoc(function) or "").partition("\nArgs:\n")
    section = re.split(r"^\S", after, maxsplit=1, flags=re.MULTILINE)[0]
    return [name.strip("* ") for names in ENTRY.findall(section) for name in names.split(",")]


@pytest.mark.parametrize("package", PACKAGES)
def test_every_parameter_has_its_line(package):
    wrong = {
        name: (documented(each), list(signature(each).parameters))
        for name, each in functions(package).items()
        if sorted(documented(each)) != sorted(signature(each).parameters)
    }
    assert not wrong, f"{package}: entries under Args beside the parameters: {wrong}"


def test_the_packages_are_looked_at():
    found = [len(functions(package)) for package in PACKAGES]
    assert min(found) > 0 and sum(found) > 120
