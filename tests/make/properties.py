"""Properties by Hypothesis: how many examples each is tried on."""

import os

from hypothesis import settings

EXHAUSTIVE = "STEELYARD_EXHAUSTIVE"  # set by conftest.py


def tried(count: int) -> settings:
    """Settings of a property: `count` examples by `make exhaustive`, a third by default, the same in every run."""
    some = count if EXHAUSTIVE in os.environ else -(-count // 3)
    return settings(max_examples=some, deadline=None, derandomize=True)
