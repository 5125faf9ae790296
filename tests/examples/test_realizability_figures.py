"""The example that draws the figures of paper B: it runs, writes what it says, and its answers are the known ones."""

import runpy
from pathlib import Path

import numpy as np
import pytest

from steelyard.inertia import is_realizable

pytestmark = pytest.mark.claim("body.figures", "figures of paper B are drawn")

SCRIPT = Path(__file__).parents[2] / "examples" / "11_realizability_figures.py"


@pytest.mark.exhaustive
def test_figures_are_written_and_say_what_is_true(tmp_path, capsys):
    example = runpy.run_path(str(SCRIPT), run_name="example")
    example["main"]([str(tmp_path)])
    answers = [line for line in capsys.readouterr().out.splitlines() if "tr(J Q)" in line]
    assert [not line.endswith("not realizable") for line in answers] == [True, True, False, True, True, False]
    for name in ("figure_2", "figure_3"):
        assert (tmp_path / f"{name}.html").stat().st_size > 100_000


def test_cases_by_hand():
    """`sum variances / axes^2 + level of the centre <= 1` for axis-aligned bodies of the figure."""
    example = runpy.run_path(str(SCRIPT), run_name="example")
    for _, center, variances in example["CASES"]:
        axes = np.array([5.0, 2.0, 1.0])
        expected = variances @ (1 / axes) + np.array(center) ** 2 @ (1 / axes) <= 1
        assert is_realizable(example["body"](center, variances), example["SHAPE"]) == expected
