"""The catalogue of faults holds every code that findings of robots' logs can have, and its page is up to date."""

import ast
from pathlib import Path

import pytest
from tools.troubleshooting import PAGE, page

from steelyard.diagnose.faults import ACCEPTABLE, CATALOGUE, FATAL, fault

SOURCE = Path(__file__).parents[2] / "src" / "steelyard"
MADE = {"fatal": {"fatal"}, "warning": {"warning"}, "Finding": {"fatal", "warning"}, "fault": {"fatal", "warning"}}


def made(folder: str) -> dict[str, set[str]]:
    """Severities with which each code is made somewhere in a package: first arguments of calls, as far as literal."""
    found: dict[str, set[str]] = {}
    for file in (SOURCE / folder).rglob("*.py"):
        for node in ast.walk(ast.parse(file.read_text("utf-8"))):
            if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id in MADE and node.args:
                for each in ast.walk(node.args[0]):
                    if isinstance(each, ast.Constant) and isinstance(each.value, str):
                        found.setdefault(each.value, set()).update(MADE[node.func.id])
    return found


def test_every_code_of_a_finding_is_in_the_catalogue():
    codes = [made(folder) for folder in ("log", "diagnose", "prepare", "pipeline")]
    assert sum(map(len, codes)) > 30
    assert not {code for each in codes for code in each} - set(CATALOGUE)


def test_severities_are_those_with_which_findings_are_made():
    for code, severities in made("log").items():
        assert CATALOGUE[code].severity in severities


def test_every_record_is_made_somewhere():
    records = ("faults.py", "faults_of_logs.py")
    text = "".join(file.read_text("utf-8") for file in SOURCE.rglob("*.py") if file.name not in records)
    assert [code for code in CATALOGUE if f'"{code}"' not in text] == []


def test_fatal_faults_of_a_diagnosis_are_acceptable():
    assert FATAL < ACCEPTABLE
    assert all(CATALOGUE[code].severity == "fatal" for code in ACCEPTABLE)


def test_a_fault_takes_severity_and_remedy_from_its_record():
    found = fault("torque_sign", "It turns the other way.", joint="elbow", options=["--scale", "tau:elbow=-1"])
    assert found.severity == "fatal"
    assert found.message == "It turns the other way. Negate tau of elbow in the log. Option: --scale tau:elbow=-1"
    with pytest.raises(KeyError):
        fault("unheard_of", "It is new.")


def test_the_page_is_that_of_the_catalogue():
    assert PAGE.read_text("utf-8") == page(), "run python -m tools.troubleshooting"
