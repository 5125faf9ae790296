"""The package loads its names on first use; the stub beside it says the same names with their types."""

import ast
import subprocess
import sys
from pathlib import Path

import pytest

import steelyard as sy

STUB = ast.parse(Path(sy.__file__).with_suffix(".pyi").read_text("utf-8"))
IMPORTS = [(node.module, each.name) for node in STUB.body if isinstance(node, ast.ImportFrom) for each in node.names]
SAME_AS_MODULES = ("identifiability", "identify", "validate", "view")  # functions in modules of their own names


def run(program: str) -> str:
    return subprocess.run([sys.executable, "-c", program], check=True, capture_output=True, text=True).stdout


def test_the_stub_lists_the_names_of_the_package():
    listed = next(node.value for node in STUB.body if isinstance(node, ast.Assign))
    assert sorted(ast.literal_eval(listed)) == sy.__all__ == sorted(name for _, name in IMPORTS)
    assert set(sy.__all__) <= set(dir(sy))


@pytest.mark.parametrize(("home", "name"), IMPORTS)
def test_a_name_is_what_the_stub_says(home, name):
    there = {}
    exec(f"from {home} import {name}", there)
    assert getattr(sy, name) is there[name]


def test_a_plain_import_loads_nothing_else():
    loaded = run("import sys, steelyard; print(*sorted(sys.modules))").split()
    assert "steelyard" in loaded and "numpy" not in loaded
    assert [name for name in loaded if name.startswith("steelyard.")] == []


def test_functions_stay_functions_when_their_modules_are_loaded_first():
    imports = "; ".join(f"import steelyard.{name}" for name in SAME_AS_MODULES)
    kinds = run(f"{imports}; print(*(type(getattr(steelyard, name)).__name__ for name in {SAME_AS_MODULES}))").split()
    assert kinds == ["function"] * len(SAME_AS_MODULES)


def test_a_name_that_is_not_there():
    with pytest.raises(AttributeError, match="no attribute 'identity'"):
        sy.identity  # noqa: B018
