"""Many models at once: the table, the summary of rules, baselines, patterns; and the check from Python."""

import json
from pathlib import Path

import pytest
from typer.testing import CliRunner

import steelyard as sy
from check.corpus.cases import URDF
from robots import EXAMPLE_ROBOTS
from steelyard import check
from steelyard.app import app

NEGATIVE = URDF.replace('<mass value="2"/>', '<mass value="-2"/>')
HAND = NEGATIVE.replace('<mass value="0.5"/>', '<mass value="-0.5"/>')
INFO = URDF.replace(' effort="50"', "")


@pytest.fixture
def models(tmp_path, monkeypatch):
    """A folder of three models, of which one has an error, one two of the same rule, and one none."""
    monkeypatch.chdir(tmp_path)
    folder = tmp_path / "models"
    folder.mkdir()
    for name, text in {"one": NEGATIVE, "two": HAND, "none": URDF}.items():
        (folder / f"{name}.urdf").write_text(text)
    return folder


def told(*words):
    result = CliRunner().invoke(app, ["check", *map(str, words)])
    return result.exit_code, result.stdout


def test_several_models_are_a_table_of_one_row_each(models):
    status, shown = told(models)
    count, head, *rows, hint = shown.splitlines()
    assert status == 1
    assert head.split() == ["model", "bodies", "errors", "warnings", "notes", "repair", "worst", "finding"]
    found = {row.split()[0]: row.split()[1:] for row in rows}
    assert {name: row[:5] for name, row in found.items()} == {
        "none.urdf": ["3", "0", "0", "0", "-"],
        "one.urdf": ["3", "1", "0", "0", "--fix"],
        "two.urdf": ["3", "2", "0", "0", "--fix"],
    }
    assert " ".join(found["two.urdf"][5:]) == "SY103 A mass is negative (2 links)"
    assert " ".join(found["none.urdf"][5:]) == "nothing found"
    assert count == "3 models checked: 3 errors." and "--details" in hint


def test_one_model_and_details_have_every_place(models):
    path = models / "one.urdf"
    assert told(path)[1].splitlines()[1].startswith(f"{path}:6: SY103 error link 'arm' has mass -2 kg.")
    detailed = told(models, "--details")[1].splitlines()
    assert len(detailed) == 3 and all(f"{models}/" in line for line in detailed[1:])


def test_what_one_rule_says_of_several_links_is_one_line(models):
    path = models / "two.urdf"
    count, line = told(path)[1].splitlines()
    assert "SY103 error 2 links: arm, hand (lines 6 to " in line
    assert "The first: link 'arm' has mass -2 kg." in line
    assert count == "1 model checked: 2 errors."
    assert len(json.loads(told(path, "--json")[1])["findings"]) == 2


def test_a_summary_has_a_row_for_each_rule(models):
    status, shown = told(models, "--summary")
    _, head, row, _ = shown.splitlines()
    assert status == 1
    assert head.split() == ["rule", "severity", "findings", "models", "what", "it", "says"]
    assert row.split() == ["SY103", "error", "3", "2", "A", "mass", "is", "negative"]


def test_a_model_that_cannot_be_read_has_its_row(models):
    (models / "torn.urdf").write_text("<robot")
    status, shown = told(models)
    assert status == 2
    assert next(row for row in shown.splitlines() if row.startswith("torn")).endswith("could not be checked")


def test_json_agrees_with_the_exit_status(models):
    for words, level in (([models / "none.urdf"], "good"), ([models], "care"), ([models, "gone.urdf"], "refused")):
        status, shown = told(*words, "--json")
        document = json.loads(shown)
        assert status == document["status"] == ["good", "care", "refused"].index(level)
        assert document["verdict"] == {"level": level}
    assert [each["counts"]["error"] for each in document["models"]] == [0, 1, 2, 0]
    assert "gone.urdf" in document["models"][-1]["problem"]


def test_patterns_and_models_that_are_named_twice(models):
    (models / "mesh.stl").write_text("")
    (models / "package.xml").write_text("<package/>")
    assert "3 models checked" in told("models/*")[1]
    assert "3 models checked" in told("**/*.urdf", models, models / "one.urdf")[1]
    assert told("models/*.xml")[0] == 2
    odd = models / "[1].urdf"
    odd.write_text(URDF)
    assert told(odd)[0] == 0


def test_copies_of_a_pattern_keep_their_folders(models):
    assert told("mod*/o*.urdf", "--fix", "out")[0] == 0
    assert Path("out/models/one.urdf").exists()


def test_a_baseline_lets_known_findings_pass_and_new_ones_fail(models):
    assert told(models, "--write-baseline", "ci/known.json")[0] == 0
    status, shown = told(models, "--baseline", "ci/known.json")
    assert status == 0 and "Known findings of ci/known.json are left out: 3." in shown
    # lines and numbers may change, and the repository may lie elsewhere
    two = models / "two.urdf"
    two.write_text(two.read_text().replace("<link", "\n\n<link").replace('"-2"', '"-3"'))
    models.parent.joinpath("elsewhere").mkdir()
    (moved := models.parent / "elsewhere" / "models").symlink_to(models)
    assert told(models, "--baseline", "ci/known.json")[0] == 0
    assert told(moved, "--baseline", "ci/known.json")[0] == 0
    (models / "none.urdf").write_text(NEGATIVE)
    status, shown = told(models, "--baseline", "ci/known.json")
    assert status == 1
    assert [line for line in shown.splitlines() if "SY103" in line and "none.urdf:6" in line]
    assert "/one.urdf" not in shown and "1 error." in shown
    document = json.loads(told(models, "--baseline", "ci/known.json", "--json")[1])
    assert (document["status"], len(document["findings"])) == (1, 1)


def test_a_fixed_finding_is_named_so_that_the_baseline_can_shrink(models):
    told(models, "--write-baseline", "known.json")
    (models / "two.urdf").write_text(NEGATIVE)
    (models / "one.urdf").unlink()
    status, shown = told(models, "--baseline", "known.json")
    assert status == 0
    gone = [line.strip() for line in shown.splitlines() if line.startswith("  ")]
    assert len(gone) == 2
    assert gone[0].startswith("models/one.urdf: SY103 link 'arm'")
    assert gone[1].startswith("models/two.urdf: SY103 link 'hand'")
    # what was not looked at is not fixed
    assert "fixed" not in told(models / "none.urdf", "--baseline", "known.json", "--select", "SY2")[1]
    told(models, "--write-baseline", "known.json")
    assert "fixed" not in told(models, "--baseline", "known.json")[1]


def test_a_finding_more_at_a_known_place_is_new(models):
    """Two faults of one rule at one element are two."""
    path = models / "one.urdf"
    findings = check.run(path)
    from steelyard.check.baseline import read_baseline, write_baseline

    write_baseline(Path("known.json"), findings)
    twice = check.Findings(findings.items * 2, findings.files)
    assert len(read_baseline(Path("known.json")).new(twice)) == 1


@pytest.mark.parametrize(
    "text", [None, "", "[]", "{}", '{"steelyard_baseline": 9}', '{"steelyard_baseline": 1}', "[" * 9999]
)
def test_a_baseline_that_is_none_is_refused(models, text):
    if text is not None:
        Path("known.json").write_text(text)
    result = CliRunner().invoke(app, ["check", str(models), "--baseline", "known.json"])
    assert result.exit_code == 2
    assert "known.json" in result.stderr and "--write-baseline" in result.stderr


def test_notes_are_no_failure_but_strictly(models):
    for path in models.iterdir():
        path.write_text(INFO)
    assert told(models)[0] == 0
    assert told(models, "--strict")[0] == 1
    told(models, "--write-baseline", "known.json")
    assert told(models, "--strict", "--baseline", "known.json")[0] == 0


def test_from_python(models):
    assert sy.check(models / "none.urdf").ok
    found = sy.check(models)
    assert not found.ok and found.worst == "error" and len(found) == 3
    assert repr(found) == "not ok: 3 errors in 3 models\n  rules: SY103 x3"
    assert str(next(iter(found))).startswith(f"{models / 'one.urdf'}:6: SY103 error link 'arm' has mass -2 kg.")
    assert found.items == sy.check.run(models).items
    (models / "none.urdf").write_text(INFO)
    noted = sy.check(models / "none.urdf")
    assert noted.ok and noted.worst == "info"
    assert sy.check(models / "one.urdf", select=["SY2"]).worst is None


def test_real_models_in_one_screen():
    paths = [
        path for name in ("finger_edu", "hyq", "solo") for path in EXAMPLE_ROBOTS.glob(f"{name}_description/**/*.urdf")
    ]
    status, shown = told(*paths)
    assert status == 1
    assert len(shown.splitlines()) == len(paths) + 3
