"""Exhaustive cases run by name: `make exhaustive`, or the identifier of a test on the command line."""

import os
from collections import defaultdict

import pytest

from properties import EXHAUSTIVE


def pytest_addoption(parser: pytest.Parser):
    parser.addoption("--exhaustive", action="store_true", help="every case of every test, not a few of the slow ones")


def pytest_configure(config: pytest.Config):
    if config.getoption("exhaustive"):
        os.environ[EXHAUSTIVE] = "1"
    else:  # compiling takes far longer than what tests run
        os.environ.setdefault("JAX_DISABLE_MOST_OPTIMIZATIONS", "1")


@pytest.fixture(scope="module")
def few_draws():
    """Results of drives have few samples."""
    from brief_search import draw_few

    with pytest.MonkeyPatch.context() as patch:
        draw_few(patch)
        yield


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]):
    """Leaves `keep` cases, evenly spread, of each test marked `exhaustive(keep=...)`."""
    if config.getoption("exhaustive") or any("::" in each for each in config.args):
        return
    left, tests = [], defaultdict(list)
    for item in items:  # fixtures of wider scope set cases of one test apart; single cases may be marked
        mark = item.get_closest_marker("exhaustive")
        keep = None if mark is None else mark.kwargs.get("keep", 0)
        tests[item.nodeid.partition("[")[0], keep].append(item)
    for (_, keep), cases in tests.items():
        if keep is not None:
            keep = min(keep, len(cases))
            kept = {round((k + 0.5) * len(cases) / keep - 0.5) for k in range(keep)}
            left += [case for place, case in enumerate(cases) if place not in kept]
    if left:
        config.hook.pytest_deselected(items=left)
        gone = {id(case) for case in left}
        items[:] = [item for item in items if id(item) not in gone]
