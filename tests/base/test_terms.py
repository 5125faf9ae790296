"""The registry of friction and drive terms: what every record promises."""

import numpy as np
import pytest

from steelyard.dynamics import effect_column
from steelyard.errors import OptionError
from steelyard.model import library
from steelyard.terms import TERMS, ParameterLayout, friction_terms, layout_of, stated_values, term_of

STEP = 1e-6
v, a = np.random.default_rng(3).normal(size=(2, 200))


def torque(name, v, a, width=0.3):
    return effect_column(name, v, a, coulomb_width=width)


@pytest.mark.parametrize("name", TERMS)
def test_rates_are_derivatives_of_the_column(name, width=0.3):
    direction = np.tanh(v / width)
    by_v, by_a = TERMS[name].rates(v, a, direction, (1 - direction**2) / width)
    found_v = (torque(name, v + STEP, a) - torque(name, v - STEP, a)) / 2 / STEP
    found_a = (torque(name, v, a + STEP) - torque(name, v, a - STEP)) / 2 / STEP
    np.testing.assert_allclose(by_v + 0 * v, found_v, atol=1e-7)
    np.testing.assert_allclose(by_a + 0 * a, found_a, atol=1e-7)


@pytest.mark.parametrize("name", TERMS)
def test_parity_and_direction_are_as_the_record_says(name):
    term = TERMS[name]
    sign = -1.0 if term.odd else 1.0
    np.testing.assert_array_equal(torque(name, -v, a), sign * torque(name, v, a))  # time runs backwards
    moved = np.array_equal(term.column(v, a, np.tanh(v)), term.column(v, a, np.tanh(2 * v)))
    assert term.directed is not moved
    if term.odd and term.nonnegative:
        assert (v * torque(name, v, a) >= 0).all()  # it dissipates
    if term.inertial:
        np.testing.assert_array_equal(torque(name, v, a), a)  # the rate of the momentum v


def test_what_a_model_states_is_an_attribute_of_robots():
    robot = library.puma560()
    stated = stated_values(robot)
    assert list(stated) == [term.name for term in TERMS.values() if term.stated]
    changed = robot.with_joint_properties(**{TERMS[name].stated: np.arange(6.0) for name in stated})
    assert all(np.array_equal(values, np.arange(6.0)) for values in stated_values(changed).values())


def test_a_layout_has_columns_and_units_of_every_term():
    robot = library.puma560()
    layout = layout_of(robot, friction=friction_terms(), armature=True)
    assert layout.terms == tuple(TERMS)
    assert [layout.units[layout.term(name).start] for name in TERMS] == [term.units[0] for term in TERMS.values()]
    signed = {layout.names[column].rpartition(".")[2] for column in layout.nonnegative}
    assert signed == {name for name, term in TERMS.items() if term.nonnegative}


def test_an_unknown_term_is_an_error_that_lists_the_terms():
    listed = ", ".join(TERMS)
    with pytest.raises(OptionError, match=f"'stiction'.*{listed}"):
        term_of("stiction")
    with pytest.raises(OptionError, match=listed):
        effect_column("stiction", v, a)
    with pytest.raises(OptionError, match=listed):
        ParameterLayout((), ("joint1",), (0,), ("stiction",))
    with pytest.raises(OptionError, match="viscous, coulomb, offset"):
        layout_of(library.puma560(), friction=("stiction",))
