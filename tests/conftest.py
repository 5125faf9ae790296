"""Exhaustive cases run by name: `make exhaustive`, or the identifier of a test on the command line."""

from itertools import groupby

import pytest


def pytest_addoption(parser: pytest.Parser):
    parser.addoption("--exhaustive", action="store_true", help="every case of every test, not a few of the slow ones")


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]):
    """Leaves `keep` cases, evenly spread, of each test marked `exhaustive(keep=...)`."""
    if config.getoption("exhaustive") or any("::" in each for each in config.args):
        return
    left = []
    for _, group in groupby(items, key=lambda item: item.nodeid.partition("[")[0]):
        cases = list(group)
        mark = cases[0].get_closest_marker("exhaustive")
        if mark is not None:
            keep = min(mark.kwargs.get("keep", 0), len(cases))
            kept = {round((k + 0.5) * len(cases) / keep - 0.5) for k in range(keep)}
            left += [case for place, case in enumerate(cases) if place not in kept]
    if left:
        config.hook.pytest_deselected(items=left)
        gone = {id(case) for case in left}
        items[:] = [item for item in items if id(item) not in gone]
