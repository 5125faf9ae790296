"""Every broken model is found with code and line; repaired, it is clean, loads elsewhere, and little has changed."""

import re

import numpy as np
import pytest

from check.corpus import cases as corpus
from drake_adapter import Plant
from edits import differences
from steelyard import check
from steelyard.check.catalog import FAMILIES, RULES
from steelyard.check.rule import Rule
from steelyard.check.rules_scanned import SCANNED

pytestmark = pytest.mark.claim("linter.repairs", "broken models are found by code and line, repaired, and load")

CASES = corpus.CASES
MENDED = [case for case in CASES if case.repaired]


def written(folder, case):
    path = folder / "robots" / f"{case.name}{case.suffix}"
    path.parent.mkdir()
    path.write_text(case.text)
    return path


@pytest.mark.parametrize(
    "text, name", [(corpus.URDF, "clean.urdf"), (corpus.MJCF, "clean.xml"), (corpus.SDF, "clean.sdf")]
)
def test_the_clean_model_is_clean(tmp_path, text, name):
    path = tmp_path / name
    path.write_text(text)
    assert check.run(path).items == ()


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_found_with_code_and_line(tmp_path, case):
    findings = check.run(written(tmp_path, case))
    assert (case.code, case.line) in [(f.code, f.line) for f in findings], findings.items


def test_every_rule_has_a_case_and_names_are_unique():
    # SY602 needs a file beside the model: see test_files; SY408 and SY512 need a robot of several legs: see test_kinds;
    # SY514 and SY516, too: see test_planted_faults; rules of destinations: see test_destinations
    general = {rule.code for rule in RULES if not rule.misread}
    assert {case.code for case in CASES} | {"SY602", "SY408", "SY512", "SY514", "SY516"} == general
    assert len({case.name for case in CASES}) == len(CASES) >= 40


def test_every_rule_that_is_written_counts():
    written = {each.code for family in FAMILIES for each in vars(family).values() if isinstance(each, Rule)}
    written |= {each.code for each in SCANNED}
    assert written == {rule.code for rule in RULES if not rule.misread}


@pytest.mark.exhaustive(keep=7)
@pytest.mark.parametrize("case", MENDED, ids=lambda case: case.name)
def test_after_repair_clean_and_loadable(tmp_path, case):
    path = written(tmp_path, case)
    before = path.read_bytes()
    out = path.with_name(f"fixed{case.suffix}")
    done = check.repair(path, out, fix="all")
    assert path.read_bytes() == before
    assert done.remaining.items == (), done.remaining.items
    assert check.run(out).items == ()
    assert sorted(p.name for p in path.parent.iterdir()) == sorted([path.name, out.name])
    loads_elsewhere(out)
    changed_only_inertials(before, out.read_bytes(), done.names)


def loads_elsewhere(path):
    import mujoco

    if path.suffix == ".sdf":
        pytest.importorskip("pydrake")
        assert Plant(path, (0, 0, -9.81)).plant.num_velocities() == 2
        return
    if path.suffix == ".urdf":
        pinocchio = pytest.importorskip("pinocchio")
        model = pinocchio.buildModelFromUrdf(str(path))
        assert model.nv == 2
        data = model.createData()
        M = pinocchio.crba(model, data, np.zeros(2))
        assert (np.linalg.eigvalsh((M + M.T) / 2) > 0).all()
    assert mujoco.MjModel.from_xml_path(str(path)).nv == 2


def changed_only_inertials(before: bytes, after: bytes, names):
    for element, what in differences(before, after):
        named = any(f"[{name}]" in element for name in names)
        assert named and ("inertial" in element or what == "text" or what.startswith("children")), (element, what)


@pytest.mark.parametrize("case", [c for c in CASES if not c.repaired], ids=lambda case: case.name)
def test_what_cannot_be_mended_stays_as_it_is(tmp_path, case):
    path = written(tmp_path, case)
    out = path.with_name(f"fixed{case.suffix}")
    done = check.repair(path, out, fix="all")
    if not done.changes:
        assert out.read_bytes() == path.read_bytes()
    assert case.code in done.remaining.codes


def test_lines_are_those_of_the_start_tags(tmp_path):
    text = corpus.URDF.replace('<mass value="2"/>', '<mass\n        value="-2"\n      />')
    path = tmp_path / "a.urdf"
    path.write_text(text)
    (finding,) = check.run(path)
    assert re.match(r"\s*<inertial>", text.splitlines()[finding.line - 1])
