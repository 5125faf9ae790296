"""Logs on the edge: hardly any motion, stiff data and feather-light priors; every method still answers with a body."""

import pytest

from steelyard.payload import identify
from steelyard.payload.tray_experiment import recorded, test_object


@pytest.mark.exhaustive(keep=1)
@pytest.mark.parametrize("layout", ["barbell", "empty", "uniform"])
@pytest.mark.parametrize("speed", [0.05, 2.0])
def test_entropic_fits_of_every_weight(layout, speed):
    log, thing = recorded(layout, speed, 1.5), test_object(layout)
    for samples in (10, 50, 150):
        for options in ({"weight": 1e-6, "noise": (1.0, 1.0)}, {"weight": 1e-3}, {}, {"weight": 1e3}):
            found = identify(log[:samples], "geo", shape=thing.solid, **options)
            assert found.smallest_eigenvalue > 0
