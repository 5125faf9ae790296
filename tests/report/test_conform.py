"""Stored results that are not as their schemas say are refused by name; mistakes of drawing are not."""

import copy
import json

import jsonschema
import pytest

from small_runs import write_case
from steelyard.app import redraw
from steelyard.app.identification import identify
from steelyard.errors import OptionError
from steelyard.log.findings import fatal
from steelyard.report.schema import difference, jsonable, schema


def test_whole_summaries_differ_in_nothing(found):
    assert difference(json.loads(json.dumps(found)), "identification") is None


@pytest.mark.parametrize(
    ("damage", "said"),
    [
        (lambda summary: summary.pop("robot"), "required field `robot`"),
        (lambda summary: summary["robot"].update(gravity=[0.0, 1.0]), "robot.gravity: Expected `array` of length >= 3"),
        (lambda summary: summary["files"].append(7), "]: Expected `str`, got `int`"),
    ],
)
def test_damages_are_named(found, damage, said):
    wrong = json.loads(json.dumps(found))
    damage(wrong)
    assert said in difference(wrong, "identification")


def test_findings_of_logs_are_in_the_schema(found):
    """They name the option that undoes a mistake."""
    more = json.loads(json.dumps(found))
    more["findings"].append(jsonable(vars(fatal("degrees", "q is in degrees", options=["--unit", "q=deg"]))))
    jsonschema.Draft202012Validator(schema("identification")).validate(more)


def test_further_keys_may_be_read(found):
    """Of a later version; what is known has to be right all the same."""
    more = json.loads(json.dumps(found))
    more["bodies"][0]["surprise"] = more["surprise"] = 1
    assert not jsonschema.Draft202012Validator(schema("identification")).is_valid(more)
    assert difference(more, "identification") is None
    more["bodies"][0]["identified"]["mass"] = "much"
    assert difference(more, "identification").startswith("bodies[0].identified.mass: Expected `float`")


@pytest.mark.parametrize(
    ("value", "said"),
    [
        (float("nan"), "Out of range float values"),
        (float("inf"), "Out of range float values"),
        (10**400, "robot.gravity[1]: Number out of range"),
        (True, "robot.gravity[1]: Expected `float`, got `bool`"),
    ],
)
def test_what_is_no_number(found, value, said):
    wrong = json.loads(json.dumps(found))
    wrong["robot"]["gravity"][1] = value
    assert difference(wrong, "identification").startswith(said)


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    case = tmp_path_factory.mktemp("case")
    model, log = write_case(case, samples=400)
    identify(model, log, out=case / "out", cutoff=10.0, friction="viscous", armature=False)
    return case / "out"


def test_damage_is_named_where_it_is(folder, tmp_path):
    found = json.loads((folder / "summary.json").read_text("utf-8"))
    wrong = copy.deepcopy(found)
    wrong["held_out"]["joints"][0]["rms_after"] = "small"
    (tmp_path / "summary.json").write_text(json.dumps(wrong))
    with pytest.raises(OptionError, match=r"damaged: held_out.joints\[0\].rms_after: Expected `float`, got `str`"):
        redraw.again([tmp_path])


def test_a_mistake_in_drawing_is_no_damage(folder, monkeypatch):
    """It has to end in its own traceback, or nobody would mend it."""

    def broken(*_, **__):
        raise KeyError("a mistake of ours")

    monkeypatch.setattr(redraw, "view_of", broken)
    with pytest.raises(KeyError, match="a mistake of ours"):
        redraw.again([folder])
