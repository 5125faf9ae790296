"""One small run, its summary and its page, shared by the tests of this folder."""

import pytest

from small_runs import write_case
from steelyard.pipeline import Job, run
from steelyard.report import page, summary


@pytest.fixture(scope="session")
def small(tmp_path_factory):
    """Result of a small run."""
    model, log = write_case(tmp_path_factory.mktemp("small"))
    return run(Job(model=str(model), logs=(str(log),)))


@pytest.fixture(scope="session")
def found(small):
    return summary(small, out="out", files=["arm_identified.urdf", "summary.json", "report.html"])


@pytest.fixture(scope="session")
def html(small, found):
    return page(small, found)
