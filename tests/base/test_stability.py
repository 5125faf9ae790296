"""Names that docs/install.md promises, and those of the README, exist and are documented."""

import re
from functools import reduce
from inspect import getdoc
from pathlib import Path

import pytest

import steelyard as sy

ROOT = Path(__file__).parents[2]
NAMES = sorted(
    {
        name
        for page in ("README.md", "docs/install.md")
        for name in re.findall(r"\bsy\.(\w+(?:\.\w+)*)", (ROOT / page).read_text("utf-8"))
    }
)


def test_the_list_is_read():
    assert len(NAMES) > 50 and "fit.posterior" in NAMES


@pytest.mark.parametrize("name", NAMES)
def test_promised_names_are_there(name):
    assert getdoc(reduce(getattr, name.split("."), sy))
