"""Summaries are what their published schemas say."""

import copy
import json

import jsonschema
import pytest

from steelyard.errors import OptionError
from steelyard.report.schema import KINDS, schema

pytestmark = pytest.mark.claim("report.agreement")


def validator(kind: str) -> jsonschema.Draft202012Validator:
    return jsonschema.Draft202012Validator(schema(kind))


@pytest.mark.parametrize("kind", KINDS)
def test_schemas_are_schemas(kind):
    jsonschema.Draft202012Validator.check_schema(schema(kind))


def test_a_summary_is_valid_and_complete(found):
    validator("identification").validate(json.loads(json.dumps(found)))
    assert set(found) == set(schema("identification")["properties"])


@pytest.mark.parametrize(
    "spoil",
    [
        lambda s: s.pop("verdict"),
        lambda s: s.update(schema_version=0),
        lambda s: s.update(surprise=1),
        lambda s: s["parameters"][0].update(label="guessed"),
        lambda s: s["bodies"][0]["identified"]["theta"].pop(),
        lambda s: s["held_out"]["joints"][0].update(rms_after="small"),
        lambda s: s["provenance"]["inputs"][0].update(sha256="1"),
    ],
)
def test_what_is_no_summary_is_refused(found, spoil):
    wrong = copy.deepcopy(found)
    spoil(wrong)
    assert not validator("identification").is_valid(wrong)


def test_unknown_kinds_are_refused():
    with pytest.raises(OptionError, match="identification, drives, payload"):
        schema("weather")
