"""The figure of online sets, with fewer motions: tighter sets converge faster, one without the truth does not."""

import importlib.util
from pathlib import Path

import numpy as np

PATH = Path(__file__).parents[2] / "examples" / "35_online_sets.py"


def test_tighter_sets_converge_faster():
    spec = importlib.util.spec_from_file_location("online_sets", PATH)
    example = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(example)
    sizes = ({"wrong": 0.3, "free": None}, (2, 4, 8, 32)), ({"tight": 1.0, "wide": 1.5}, (2, 4, 8))
    runs = [dict(pair for each in sizes for pair in example.errors(seed, *each).items()) for seed in range(2)]
    mean = {name: np.exp(np.mean([np.log(run[name]) for run in runs], axis=0)) for name in runs[0]}
    first = {name: np.exp(np.log(each[:3]).mean()) for name, each in mean.items()}
    assert first["tight"] < first["wide"] < first["free"] and first["tight"] < 0.8 * first["free"]
    assert mean["wrong"][3] > 2 * mean["free"][3]
