"""Our reading of schemas against that of jsonschema, on summaries that are damaged in every way."""

import copy
import json
import random

import jsonschema
import pytest
from fuzz.nested import of_json

from small_runs import write_case
from steelyard.errors import OptionError
from steelyard.identify import identify
from steelyard.report import again as drawing
from steelyard.report.conform import NOTES, RULES, difference
from steelyard.report.schema import KINDS, schema

DAMAGES = 60


def subschemas(found):
    """A schema and all in it."""
    yield found
    for keyword, demand in found.items():
        if keyword in ("properties", "$defs"):
            inner = list(demand.values())
        else:
            inner = demand if isinstance(demand, list) else [demand]
        for each in inner:
            if isinstance(each, dict):
                yield from subschemas(each)


@pytest.mark.parametrize("kind", KINDS)
def test_every_keyword_of_our_schemas_is_known(kind):
    used = {keyword for each in subschemas(schema(kind)) for keyword in each}
    assert used <= NOTES | RULES.keys() | {"$ref", "additionalProperties"}


def test_whole_summaries_differ_in_nothing(found):
    assert difference(json.loads(json.dumps(found)), schema("identification")) is None


def test_damages_are_found_as_jsonschema_finds_them(found):
    """One change at a time: values of other types, keys and entries lost, doubled and exchanged."""
    whole, rules = json.dumps(found).encode(), schema("identification")
    judge, chance, wrong = jsonschema.Draft202012Validator(rules), random.Random(0), 0
    for _ in range(DAMAGES):
        value = json.loads(of_json(whole, 10**9, chance.getrandbits(32), lambda data, size: data))
        said = difference(value, rules)
        if "Infinity" in json.dumps(value) or "NaN" in json.dumps(value) or str(2**70) in json.dumps(value):
            continue  # numbers for jsonschema
        assert (said is None) == judge.is_valid(value), said
        wrong += said is not None
    assert wrong > DAMAGES / 3


@pytest.mark.parametrize(
    ("value", "said"),
    [
        (float("nan"), "robot.gravity[1] is nan, expected number"),
        (float("inf"), "robot.gravity[1] is inf, expected number"),
        (10**400, "robot.gravity[1] is 1000"),
        (True, "robot.gravity[1] is True, expected number"),
    ],
)
def test_what_is_no_number(found, value, said):
    wrong = json.loads(json.dumps(found))
    wrong["robot"]["gravity"][1] = value
    assert difference(wrong, schema("identification")).startswith(said)


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
    with pytest.raises(OptionError, match=r"damaged: held_out.joints\[0\].rms_after is 'small', expected number"):
        drawing.again([tmp_path])


def test_a_mistake_in_drawing_is_no_damage(folder, monkeypatch):
    """It has to end in its own traceback, or nobody would mend it."""

    def broken(*_, **__):
        raise KeyError("a mistake of ours")

    monkeypatch.setattr(drawing, "view_of", broken)
    with pytest.raises(KeyError, match="a mistake of ours"):
        drawing.again([folder])
