"""What is made of the fields of a job is up to date: the page of the command line, and keywords of `identify`."""

from inspect import Parameter, getdoc, signature

import option_tables

import steelyard as sy
from steelyard.job import Job
from steelyard.job_options import options_of


def test_the_page_has_the_options_of_a_job():
    text = option_tables.PAGE.read_text("utf-8")
    assert option_tables.page(text) == text, "run python tools/option_tables.py"
    assert all(f"| `{name}" in text for name in ("--cutoff HZ", "--mass LINK=KG", "--floating`, `--fixed"))


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
