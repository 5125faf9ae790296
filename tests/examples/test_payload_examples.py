"""The payload examples: the stored experiment says what the documentation says, and the stream is followed."""

import json
import runpy
from pathlib import Path

import numpy as np
import pytest

pytestmark = pytest.mark.claim("payload.published")

ROOT = Path(__file__).parents[2]


def test_stored_experiment_has_the_order_of_the_paper(tmp_path, capsys):
    example = runpy.run_path(str(ROOT / "examples" / "30_payload_figures.py"), run_name="example")
    example["main"]([str(tmp_path)])
    assert "Table III" in capsys.readouterr().out
    assert all((tmp_path / f"figure_{i}.html").stat().st_size > 100_000 for i in (4, 5, 6, 7))
    data = json.loads((ROOT / "evidence" / "bench" / "payload.json").read_text())
    assert len(data["layouts"]) == 8
    table = {name: np.array(errors) for name, errors in data["table"].items()}  # [speed][mass, centre, inertia]
    published = np.array([[1.34, 9.83, 44.1], [1.77, 15.5, 43.5], [1.91, 16.4, 43.6]])  # best of each column
    assert (table["density"] < published).all() and (table["density, causal"] < published).all()
    for i in range(3):
        inertia = {name: errors[i, 2] for name, errors in table.items()}
        assert min(inertia["ols"], inertia["rtls"]) > inertia["geo, raw"] > inertia["pmd"] > inertia["density"]
        assert table["ols"][i, 1] > table["pmd"][i, 1] > table["density"][i, 1]


def test_stream(capsys, tmp_path):
    example = runpy.run_path(str(ROOT / "examples" / "31_online_payload.py"), run_name="example")
    log, held = example["stream"]()
    values, deviations, changes = example["follow"](log)
    assert [change.kind for change in changes] == ["picked up", "swapped", "dropped"]
    settled = held[:, 0] > 0
    settled &= np.abs(log.t[:, None] - np.array([2.0, 6.0])).min(axis=1) > 0.5
    off = np.abs(values[settled, 0] - held[settled, 0])
    assert np.mean(off < 3 * deviations[settled, 0]) > 0.9
    assert "picked up at" in capsys.readouterr().out
