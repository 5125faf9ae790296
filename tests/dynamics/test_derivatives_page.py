"""What the page on derivatives and on the calibration of axes shows runs as written."""

import re
from pathlib import Path

import numpy as np

from robots import random_state
from steelyard.dynamics import inverse_dynamics
from steelyard.log import Log
from steelyard.model import library

DOCS = Path(__file__).parents[2] / "docs"


def test_the_page_runs(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    robot = library.puma560()
    q, v, a = random_state(robot, np.random.default_rng(1), (300,))
    tau = inverse_dynamics(robot, q, v, a)
    tau += 0.01 * np.random.default_rng(2).normal(size=tau.shape)
    namespace = {"log": Log(t=np.arange(300) * 0.01, q=q, v=v, a=a, tau=tau)}
    text = (DOCS / "derivatives.md").read_text("utf-8")
    blocks = re.findall(r"```python\n(.*?)```", text, flags=re.DOTALL)
    assert len(blocks) == 3
    for block in blocks:
        exec(block, namespace)
    assert namespace["gradient"].theta.shape == (1000, 6, 10)
    assert namespace["found"].eta.shape == (6, 6) and (tmp_path / "calibrated.urdf").exists()
    assert "Torques show" in capsys.readouterr().out
    for target in re.findall(r"\]\(([^)#]+)\)", text):
        assert (DOCS / target).exists()
