"""Logs on the edge: hardly any motion, stiff data and feather-light priors; every method still answers with a body."""

import numpy as np
import pytest
from evidence.bench.tray_experiment import recorded, test_object

from payload_logs import swing
from steelyard.payload import Status, identify


@pytest.mark.exhaustive(keep=1)
@pytest.mark.parametrize("layout", ["barbell", "empty", "uniform"])
@pytest.mark.parametrize("speed", [0.05, 2.0])
def test_entropic_fits_of_every_weight(layout, speed):
    log, thing = recorded(layout, speed, 1.5), test_object(layout)
    for samples in (10, 50, 150):
        for options in ({"weight": 1e-6, "noise": (1.0, 1.0)}, {"weight": 1e-3}, {}, {"weight": 1e3}):
            found = identify(log[:samples], "geo", shape=thing.solid, **options)
            assert found.smallest_eigenvalue > 0


def test_a_sensor_that_shows_nothing_prints_no_nan():
    log = swing()
    found = identify(log.replace(wrench=np.zeros((len(log), 6))))
    assert found.status is Status.FAINT and "nan" not in found.summary()
    assert "centre of mass  undetermined" in found.summary() and found.as_dict()["com"] == [None] * 3
