"""Columns whose size evidence tells are the posterior's alone: with them every other fit is what it is without."""

import numpy as np
import pytest

import steelyard as sy
from steelyard.fit.drive_calibration import gains_by_model
from steelyard.job import FRICTION

PUMA = sy.library.puma560()


def of_total(info, blocks):
    return sy.fit.total(info, np.full(info.plain.basis.count, 1e-3)).base


FITS = {
    "least_squares": lambda info, blocks: sy.fit.least_squares(info).parameters,
    "consistent": lambda info, blocks: sy.fit.consistent(info).parameters,
    "total": of_total,
    "compensated": lambda info, blocks: sy.fit.compensated(info, np.full(info.plain.basis.count, 1e-3)).gram,
    "gains by model": lambda info, blocks: gains_by_model(info).gains,
    "uncertainty": lambda info, blocks: sy.fit.uncertainty(sy.fit.consistent(info), blocks).base.deviation,
}


@pytest.fixture(scope="module")
def sums():
    log = sy.simulate.record(PUMA, duration=4.0).log
    return [
        (sy.accumulate(PUMA, log, **columns), sy.accumulate_blocks(PUMA, log, **columns))
        for columns in ({}, {"friction": FRICTION})
    ]


@pytest.mark.parametrize("name", FITS)
def test_other_fits_do_without(sums, name):
    (weighed, plain) = sums
    assert weighed[0].layout.size > plain[0].layout.size
    found, expected = (FITS[name](*each) for each in sums)
    np.testing.assert_allclose(found, expected, rtol=1e-6, atol=1e-9 * np.abs(expected).max())


def test_intervals_of_a_posterior_are_no_bootstrap(sums):
    info, blocks = sums[0]
    with pytest.raises(sy.SteelyardError, match="other columns"):
        sy.fit.uncertainty(sy.fit.posterior(info), blocks)
