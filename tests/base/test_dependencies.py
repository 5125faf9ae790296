"""The page of dependencies is the list that is installed, and nothing in it is unused."""

import ast
import re
import tomllib
from functools import cache
from importlib.metadata import metadata
from pathlib import Path

import pytest

import steelyard

pytestmark = pytest.mark.claim("trust.dependencies", "dependencies are used, and listed with their licences")

ROOT = Path(__file__).parents[2]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]
PAGE = (ROOT / "docs" / "dependencies.md").read_text("utf-8")
PLUGINS = {"pycollada": "trimesh finds it by itself when a mesh is COLLADA"}


def names(requirements: list[str]) -> set[str]:
    return {re.match(r"[\w-]+", line)[0] for line in requirements}  # type: ignore[index]


def listed(section: str) -> set[str]:
    table = PAGE.split(f"## {section}")[1].split("## ")[0]
    return set(re.findall(r"^\| ([\w-]+) \|", table, re.MULTILINE)) - {"Package", "---"}


RUN_TIME = names(PROJECT["dependencies"]).union(
    *(names(PROJECT["optional-dependencies"][extra]) for extra in ("logs", "report", "meshes"))
)


@cache
def imported() -> set[str]:
    """Top-level packages that the library imports anywhere, lazily or not."""
    found: set[str] = set()
    for path in (ROOT / "src").rglob("*.py"):
        for node in ast.walk(ast.parse(path.read_text("utf-8"))):
            if isinstance(node, ast.Import):
                found |= {alias.name.split(".")[0] for alias in node.names}
            elif isinstance(node, ast.ImportFrom) and node.module:
                found.add(node.module.split(".")[0])
    return found


def test_the_page_lists_what_is_installed():
    assert listed("At run time") == names(PROJECT["dependencies"])
    assert listed("Extras") == set().union(*(names(extra) for extra in PROJECT["optional-dependencies"].values()))


@pytest.mark.exhaustive(keep=3)
@pytest.mark.parametrize("package", sorted(RUN_TIME - PLUGINS.keys()))
def test_every_dependency_is_used(package):
    assert package.replace("-", "_") in imported()


@pytest.mark.parametrize("package", sorted(RUN_TIME))
def test_licences_are_those_that_the_packages_state(package):
    """As far as they do so in SPDX words; others say BSD in one way or another, whose clauses are in their texts."""
    stated = metadata(package)
    licence = re.search(rf"^\| {package} \|.*\| ([\w.-]+) \|$", PAGE, re.MULTILINE)[1]  # type: ignore[index]
    words = stated.get("License-Expression")
    if words:
        assert licence in re.split(r" AND | OR ", words)
    else:
        said = " ".join([stated.get("License") or "", *(stated.get_all("Classifier") or [])])
        said = said.replace("Redistribution and use in source and binary forms", "BSD")  # its first words
        assert licence.split("-")[0] in said


def test_the_recipe_of_conda_has_the_same_requirements():
    """MuJoCo has another name there; the extra `report` is part of it."""
    recipe = (ROOT / "conda" / "recipe.yaml").read_text("utf-8")
    run = recipe.split("  run:\n")[1].split("tests:")[0]
    there = {line.replace(" ", "").replace("mujoco-python", "mujoco") for line in re.findall(r"- (.*)", run)}
    report = PROJECT["optional-dependencies"]["report"]
    assert there == {*PROJECT["dependencies"], *report, f"python{PROJECT['requires-python']}"}
    assert f"\n  version: {PROJECT['version']}\n" in recipe


def test_there_is_one_version():
    cited = re.search(r"^version: (\S+)$", (ROOT / "CITATION.cff").read_text("utf-8"), re.MULTILINE)[1]  # type: ignore[index]
    assert cited == PROJECT["version"] == steelyard.__version__


def test_every_extra_for_users_is_on_the_page_of_the_installation():
    page = (ROOT / "docs" / "install.md").read_text("utf-8")
    internal = {"test", "check", "peers", "fuzz", "mutants", "browser", "notebook"}
    for extra in PROJECT["optional-dependencies"].keys() - internal:
        assert f"[{extra}]" in page
