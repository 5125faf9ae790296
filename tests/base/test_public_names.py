"""The package loads its names on first use; the stub beside it says the same names with their types."""

import ast
import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path
from types import ModuleType

import pytest

import steelyard as sy

pytestmark = pytest.mark.claim(
    "information.start",
    "`import steelyard` within 0.3 s",
    limits="names are loaded on first use, which then costs what is left",
)

STUB = ast.parse(Path(sy.__file__).with_suffix(".pyi").read_text("utf-8"))
LISTED = next(ast.literal_eval(node.value) for node in STUB.body if isinstance(node, ast.Assign))
IMPORTS = [
    (node.module, each.name)
    for node in STUB.body
    if isinstance(node, ast.ImportFrom)
    for each in node.names
    if each.name in LISTED
]
WRITTEN = [("steelyard.app.identification", node.name) for node in STUB.body if isinstance(node, ast.FunctionDef)]
FUNCTIONS = ("identifiability", "identify", "validate", "view")


def run(program: str) -> str:
    return subprocess.run([sys.executable, "-c", program], check=True, capture_output=True, text=True).stdout


def test_the_stub_lists_the_names_of_the_package():
    assert sorted(LISTED) == sy.__all__ == sorted(name for _, name in IMPORTS + WRITTEN)
    assert [name for _, name in WRITTEN] == ["identify"]
    assert set(sy.__all__) <= set(dir(sy))


@pytest.mark.parametrize(("home", "name"), IMPORTS + WRITTEN)
def test_a_name_is_what_the_stub_says(home, name):
    there = {}
    exec(f"from {home} import {name}", there)
    assert getattr(sy, name) is there[name]


def test_a_plain_import_loads_nothing_else():
    loaded = run("import sys, steelyard; print(*sorted(sys.modules))").split()
    assert "steelyard" in loaded and "numpy" not in loaded
    assert [name for name in loaded if name.startswith("steelyard.")] == ["steelyard.lazy"]


def test_functions_stay_functions_when_any_module_is_loaded_first():
    """A module of a function's name would take its place in the package."""
    functions = [name for name in sy.__all__ if not isinstance(getattr(sy, name), ModuleType)]
    assert set(FUNCTIONS) <= set(functions)
    assert [name for name in functions if find_spec(f"steelyard.{name}") is not None] == []
    kinds = run(f"import steelyard; print(*(type(getattr(steelyard, name)).__name__ for name in {FUNCTIONS}))").split()
    assert kinds == ["function"] * len(FUNCTIONS)


def test_a_name_that_is_not_there():
    with pytest.raises(AttributeError, match="no attribute 'identity'"):
        sy.identity  # noqa: B018
