"""The unit of a user's column changes nothing: neither its value nor its interval, nor anything beside it."""

from functools import reduce
from operator import add

import numpy as np
import pytest

import steelyard as sy
from steelyard.fit import uncertainty
from steelyard.information import accumulate_blocks

KINDS = {
    "spring": lambda q, v, a: q - 0.3,
    "drag": lambda q, v, a: v * np.abs(v),
    "cubic spring": lambda q, v, a: q**3,
    "gravity of something": lambda q, v, a: np.sin(q - 0.3),  # which the links explain as well
}
TRUE = 5.0  # N m at column one


@pytest.fixture(scope="module")
def case():
    robot = sy.library.puma560()
    log = sy.simulate.record(robot, duration=2.0).log
    return robot, log


def fitted(case, kind, dof, unit, method, nonnegative):
    robot, log = case

    def column(q, v, a):
        torque = np.zeros_like(q)
        torque[:, dof] = KINDS[kind](q[:, dof], v[:, dof], a[:, dof])
        return torque / unit

    ready = sy.filters.differentiate(log, cutoff=10.0)
    tau = ready.tau + TRUE * unit * column(ready.q, ready.v, ready.a)
    extra = sy.UserColumn(kind, column, f"{unit:g} N m", (robot.dof_names[dof],), nonnegative)
    blocks = accumulate_blocks(robot, ready.replace(tau=tau), extra=(extra,))
    estimate = method(reduce(add, blocks))
    return estimate, uncertainty(estimate, blocks)


@pytest.mark.parametrize("method", [sy.fit.consistent, sy.fit.least_squares])
@pytest.mark.parametrize(
    ("kind", "dof", "unit", "nonnegative"),
    [
        ("spring", 1, 1e-4, False),
        ("drag", 2, 1e4, True),
        ("cubic spring", 4, 1e-8, False),
        ("gravity of something", 2, 1e-3, False),
        ("gravity of something", 1, 1e6, True),
    ],
)
def test_no_unit_matters(case, kind, dof, unit, nonnegative, method):
    (one, found), (other, again) = (fitted(case, kind, dof, u, method, nonnegative) for u in (1.0, unit))
    if method is sy.fit.consistent or one.layout.extra.start in one.basis.columns:  # what nothing shows, a prior says
        assert other.extras[0] / unit == pytest.approx(one.extras[0], rel=1e-4, abs=1e-6)
    scale = np.ones(len(one.base))
    scale[one.basis.columns == one.layout.extra.start] = unit
    np.testing.assert_allclose(other.base / scale, one.base, rtol=1e-4, atol=1e-6 * np.abs(one.base).max())
    np.testing.assert_allclose(again.base.deviation / scale, found.base.deviation, rtol=1e-3)
