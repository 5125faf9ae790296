"""Output formats, selection, exit codes."""

import json
import re
from pathlib import Path

import pytest
from tools.check_pages import page

from check.corpus.cases import MJCF, URDF
from steelyard import check
from steelyard.check.catalog import RULES
from steelyard.errors import ModelError, OptionError
from steelyard.model.references import WAYS

BROKEN = URDF.replace('<mass value="2"/>', '<mass value="-2"/>').replace('name="hand"', 'name="h&lt;|b&gt;"', 1)
BROKEN = BROKEN.replace('link="hand"', 'link="h&lt;|b&gt;"')
INFO = URDF.replace(' effort="50"', "")


@pytest.fixture
def model(tmp_path):
    def write(text, name="robot.urdf"):
        path = tmp_path / name
        path.parent.mkdir(exist_ok=True)
        path.write_text(text)
        return path

    return write


def test_exit_codes(model, tmp_path, capsys):
    assert check.check_models([model(URDF)]) == 0
    assert "nothing found" in capsys.readouterr().out
    assert check.check_models([model(BROKEN)]) == 1
    assert check.check_models([model(INFO)]) == 0
    assert check.check_models([model(INFO)], strict=True) == 1
    assert check.check_models([model(INFO)], strict=True, ignore=["SY503"]) == 0
    warned = model(URDF.replace('value="0.5"', 'value="5000"'))
    assert [check.check_models([warned], fail_on=each) for each in ("error", "warning", "info")] == [0, 1, 1]
    assert [check.check_models([model(INFO)], fail_on=each) for each in ("error", "warning", "info")] == [0, 0, 1]
    assert check.check_models([model(BROKEN)], fail_on="error") == 1
    assert check.check_models([model(URDF)], fail_on="never") == 2
    assert check.check_models([tmp_path / "gone.urdf"]) == 2
    assert check.check_models([]) == 2
    assert check.check_models([model(URDF)], select=["SY9"]) == 2
    assert check.check_models([model(URDF)], format="xml") == 2
    capsys.readouterr()
    # one unreadable model does not hide the findings of another
    assert check.check_models([model(BROKEN), tmp_path / "gone.urdf"]) == 2
    out, err = capsys.readouterr()
    assert "SY103" in out
    assert "gone.urdf" in err


def test_text_has_no_colour_in_a_pipe(model, capsys):
    path = model(BROKEN)
    check.check_models([path])
    out = capsys.readouterr().out
    assert "\x1b" not in out
    assert out.splitlines()[1].startswith(f"{path}:6: SY103 error link 'arm' has mass -2 kg.")


def test_colour_on_a_terminal(model, capsys, monkeypatch):
    monkeypatch.setattr("sys.stdout.isatty", lambda: True)
    check.check_models([model(BROKEN)])
    assert "\x1b[" in capsys.readouterr().out


def test_json(model, capsys, tmp_path):
    nan = BROKEN.replace('value="-2"', 'value="nan"')
    assert check.check_models([model(nan)], format="json", fix=tmp_path / "out.urdf") == 0
    document = json.loads(capsys.readouterr().out, parse_constant=pytest.fail)
    (finding,) = document["findings"]
    assert (finding["code"], finding["name"], finding["line"]) == ("SY104", "not-a-number", 8)
    (change,) = document["repairs"][0]["changes"]
    assert change["before"]["mass"] is None
    assert change["after"]["mass"] == pytest.approx(4.0, rel=0.01)  # a box of 4 litres of water


def test_sarif_has_what_the_schema_requires(model, capsys, monkeypatch, tmp_path):
    path = model(BROKEN, "my robot.urdf")
    monkeypatch.chdir(tmp_path)
    check.check_models([path], format="sarif")
    document = json.loads(capsys.readouterr().out)
    assert document["version"] == "2.1.0"
    (run,) = document["runs"]
    ids = [rule["id"] for rule in run["tool"]["driver"]["rules"]]
    assert ids == [rule.code for rule in RULES]
    (result,) = run["results"]
    assert ids[result["ruleIndex"]] == result["ruleId"] == "SY103"
    place = result["locations"][0]["physicalLocation"]
    assert place == {"artifactLocation": {"uri": "my%20robot.urdf"}, "region": {"startLine": 6}}
    assert result["level"] in ("none", "note", "warning", "error")


def test_annotations_of_github_hold_what_names_say(model, capsys):
    """A finding is one command on one line, whatever a file calls its links; read back as the runner reads it."""
    path = model(BROKEN.replace("h&lt;|b&gt;", "a,b::%0A&#10;::error::x"), "a,b:c.urdf")
    assert check.check_models([path, path.with_name("gone.urdf")], format="github") == 2
    found, missing, count = capsys.readouterr().out.splitlines()
    kind, told, message = re.fullmatch(r"::(\w+) (.*?)::(.*)", found).groups()
    values = dict(each.split("=") for each in told.split(","))
    unescaped = {key: re.sub("%([0-9A-F]{2})", lambda m: chr(int(m[1], 16)), value) for key, value in values.items()}
    assert (kind, unescaped) == ("error", {"file": str(path), "line": "6", "title": "SY103 negative-mass"})
    assert message.startswith("link 'arm' has mass -2 kg.")
    assert missing.startswith("::error title=not checked::") and "gone.urdf" in missing
    assert count == "1 model checked: 1 error."


def test_markdown_escapes_names(model, capsys):
    path = model(BROKEN.replace('<mass value="0.5"/>', '<mass value="-0.5"/>'))
    check.check_models([path], format="markdown")
    out = capsys.readouterr().out
    assert r"\<\|b\>" in out
    assert all(line.replace("\\|", "").count("|") == 6 for line in out.splitlines() if line.startswith("|"))


def test_folder_and_repair_into_a_folder(model, tmp_path, capsys):
    model(BROKEN, "in/a.urdf")
    model(MJCF, "in/b.xml")
    model("<package/>", "in/package.xml")
    model("<mujoco><asset/></mujoco>", "in/part.xml")
    findings = check.run(tmp_path / "in")
    assert [path.name for path in findings.files] == ["a.urdf", "b.xml"]
    assert check.check_models([tmp_path / "in"], fix=tmp_path / "out") == 0
    assert sorted(path.name for path in (tmp_path / "out").iterdir()) == ["a.urdf", "b.xml"]
    assert (tmp_path / "out" / "b.xml").read_text() == MJCF
    assert "mass [kg]" in capsys.readouterr().out


def test_selection(model):
    path = model(BROKEN.replace(' effort="50"', ""))
    assert check.run(path).codes == ("SY103", "SY503")
    assert check.run(path, select=["SY1"]).codes == ("SY103",)
    assert check.run(path, ignore=["SY1"]).codes == ("SY503",)
    with pytest.raises(OptionError, match="SY101"):
        check.run(path, select=["XX"])
    empty = path.parent / "empty"
    empty.mkdir()
    with pytest.raises(ModelError, match="holds no"):
        check.run(empty)


def test_every_rule_is_documented():
    for rule in RULES:
        for heading in ("Why:", "Example:", "Remedy:"):
            assert heading in rule.text, rule.code
        assert rule.severity in ("error", "warning", "info")
    assert len({rule.code for rule in RULES}) == len({rule.name for rule in RULES}) == len(RULES) >= 30


def test_the_page_has_the_rules():
    text = (Path(__file__).parents[2] / "docs" / "check.md").read_text(encoding="utf-8")
    assert page(text) == text, "run python -m tools.check_pages docs/check.md"
    assert all(f"\n#### {rule.code} {rule.name}\n" in text for rule in RULES)


def test_the_subcommand(model):
    from typer.testing import CliRunner

    from steelyard.app import app

    result = CliRunner().invoke(app, ["check", str(model(BROKEN)), "--format", "json", "--select", "SY1,SY2"])
    assert result.exit_code == 1
    assert json.loads(result.stdout)["counts"] == {"error": 1, "warning": 0, "info": 0}


def many_meshes(*names):
    link = '<link name="l{}"><visual><geometry><mesh filename="{}"/></geometry></visual></link>\n'
    joint = '<joint name="j{0}" type="fixed"><parent link="hand"/><child link="l{0}"/></joint>\n'
    more = "".join(link.format(k, name) + joint.format(k) for k, name in enumerate(names))
    return URDF.replace("</robot>", f"{more}</robot>")


def test_files_of_a_package_that_is_not_there_are_one_line(model, capsys):
    away = [f"package://arm_description/meshes/{name}.stl" for name in ("base", "upper", "fore", "wrist", "wrist")]
    path = model(many_meshes(*away, "meshes/a.stl", "package://hand_description/palm.stl", "meshes/b.stl"))
    first = path.read_text().splitlines().index(next(x for x in path.read_text().splitlines() if "base.stl" in x)) + 1
    assert check.check_models([path]) == 1
    count, package, folder, single = capsys.readouterr().out.splitlines()
    assert package == (
        f"{path}:{first}: SY604 info 4 files of package 'arm_description' were not checked, because it is "
        "neither beside the model nor installed: base.stl, upper.stl, fore.stl and 1 more (lines "
        f"{first} to {first + 8}). {WAYS}"
    )
    assert "SY601 warning 2 files in 'meshes' do not exist: a.stl, b.stl (lines" in folder
    assert "SY604 info Mesh package 'hand_description' is neither beside the model nor installed" in single
    assert count == "1 model checked: 2 warnings, 6 notes."
    check.check_models([path], format="markdown")
    assert capsys.readouterr().out.count("| SY60") == 3


def test_machines_get_a_place_for_every_file(model, capsys):
    path = model(many_meshes(*(f"package://arm/{name}.stl" for name in "abc")))
    check.check_models([path], format="json")
    found = json.loads(capsys.readouterr().out)["findings"]
    assert [each["file"] for each in found] == [f"package://arm/{name}.stl" for name in "abc"]
    check.check_models([path], format="sarif")
    assert len(json.loads(capsys.readouterr().out)["runs"][0]["results"]) == 3
