"""One small run, its summary and its page, shared by the tests of this folder."""

import pytest

import odd_logs
from small_runs import write_case
from steelyard.pipeline import Job
from steelyard.pipeline.identification import run
from steelyard.report.identification_report import summary, view_of
from steelyard.report.record import FILES, Record
from steelyard.report.rendering import markdown, page
from steelyard.report.signal_curves import curves


@pytest.fixture(scope="session")
def small(tmp_path_factory):
    """Result of a small run."""
    model, log = write_case(tmp_path_factory.mktemp("small"))
    return run(Job(model=str(model), logs=(str(log),)))


@pytest.fixture(scope="session")
def found(small):
    return summary(small, out="out", files=["arm_identified.urdf", *FILES])


@pytest.fixture(scope="session")
def record(small, found):
    return Record(found, curves(small))


@pytest.fixture(scope="session")
def view(record):
    return view_of(record)


@pytest.fixture(scope="session")
def html(view):
    return page(view)


@pytest.fixture(scope="session")
def text(view):
    """The report as Markdown."""
    return markdown(view)


@pytest.fixture(scope="session")
def odd_log():
    return odd_logs.odd_log()
