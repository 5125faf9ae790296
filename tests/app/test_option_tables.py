"""What is made of the fields of a job is up to date: page and keywords of `identify`."""

from dataclasses import fields
from inspect import Parameter, getdoc, signature

import option_tables

import steelyard as sy
from steelyard.corrections import Corrections
from steelyard.job import Job
from steelyard.job_options import options_of
from steelyard.report.schema import schema


def test_the_page_has_the_options_of_every_subcommand():
    text = option_tables.PAGE.read_text("utf-8")
    assert option_tables.page(text) == text, "run python tools/option_tables.py"
    assert all(f"| `{name}" in text for name in ("--cutoff HZ", "--mass LINK=KG", "--floating`, `--fixed"))
    tables = {part[1]: len(option_tables.TABLE.findall(part[0])) for part in option_tables.SECTION.finditer(text)}
    assert tables == dict.fromkeys(option_tables.COMMANDS, 1)


def test_what_the_page_adds_is_of_an_option():
    flags = {
        (name, flag)
        for name, each in option_tables.COMMANDS.items()
        for parameter in each.params
        for flag in parameter.opts
    }
    assert set(option_tables.MORE) <= flags


def test_the_schema_of_summaries_has_every_option_of_a_job():
    for kind in ("identification", "drives"):
        job = schema(kind)["properties"]["job"]
        assert set(job["properties"]) == {each.name for each in fields(Job)}
        assert set(job["properties"]["corrections"]["properties"]) == {each.name for each in fields(Corrections)}
        told = {name: each for name, each in job["properties"].items() if name in options_of(Job)}
        assert all(each.get("description") for name, each in told.items() if name != "corrections")


def test_identify_takes_every_option_of_a_job_with_its_default():
    keywords = {
        name: each.default
        for name, each in signature(sy.identify).parameters.items()
        if each.kind is Parameter.KEYWORD_ONLY and name not in ("out", "progress")
    }
    assert keywords == {name: each.default for name, (each, _) in options_of(Job).items()}
    assert keywords == {name: getattr(Job, name) for name in keywords}
    text = getdoc(sy.identify) or ""
    assert [name for name in keywords if f"\n    {name}" not in text] == []


def test_editors_see_every_keyword():
    text = option_tables.STUB.read_text("utf-8")
    assert option_tables.keywords(text) == text, "run python tools/option_tables.py"
    assert "cutoff: float | None = None," in text
