"""Tables 2, 4 and 5 of paper C: counts, dimensions, and every symbol.

The symbols of the published tables are set by their legend and by the rule that the first independent column going down
the bodies is the base parameter. They are derived here a second time, from the row-reduced regressor that Pinocchio
computes, and compared with the library's; the tables are frozen as text too.
"""

from dataclasses import replace

import numpy as np
import pytest
from scipy.linalg import qr

from pinocchio_trees import Twin
from steelyard.identifiable import identifiability
from steelyard.identifiable.null_space import PAPER_ORDER
from steelyard.model import library

pytestmark = pytest.mark.claim(
    "identifiability.published",
    "published tables of PUMA, SCARA and Cheetah leg; the locked-torso experiment",
    limits="symbols are derived a second time from Pinocchio's reduced regressor; printed cells were not at hand",
)

DOWN = np.argsort(PAPER_ORDER)  # m hx hy hz Ixx Iyy Izz Iyz Ixz Ixy, as the tables list them


def puma():
    """The PUMA 560 with link 2's frame at the shoulder, as in the paper's Fig. 7, and its offset in link 3's."""
    robot = library.puma560()
    joints = list(robot.joints)
    shift = np.linalg.norm(joints[1].position)
    joints[1] = replace(joints[1], position=np.zeros(3))
    joints[2] = replace(joints[2], position=joints[2].position + np.array([0, 0, shift]))
    return replace(robot, joints=tuple(joints))


ROBOTS = {
    "puma": (puma, {}),
    "scara": (library.scara, {}),
    "leg, fixed": (library.cheetah3_leg, {}),
    "leg, floating": (library.cheetah3_leg, {"floating": True}),
}


def symbols(idn):
    """Rows of the table as strings, one character a body."""
    bodies = len(idn.robot.body_names)
    return ["".join(idn.status[10 * b + i].symbol for b in range(bodies)) for i in DOWN]


@pytest.mark.parametrize(
    "name, links, with_motors",
    [("puma", 36, 40), ("scara", 8, 11), ("leg, fixed", 17, 18), ("leg, floating", 10 + 21, 10 + 24)],
)
def test_counts(name, links, with_motors):
    make, options = ROBOTS[name]
    robot = make(**options)
    assert identifiability(robot).count == links
    with_rotors = identifiability(robot, motors=True)
    assert with_rotors.count == with_motors and with_rotors.method == "recursive"
    assert with_rotors.size == 10 * robot.nb + 4 * len(robot.rotors)


@pytest.mark.parametrize(
    "name, V, V_gravity, K, K_gravity, T",
    [
        ("puma", "1 3 6 6 6 6", "2 5 6 6 6 6", "1 6 10 10 10 10", "1 8 10 10 10 10", "9 3 3 3 3 3"),
        ("scara", "1 3 4 4", "2 4 4 4", "1 4 4 4", "1 4 4 4", "9 7 9 7"),
        ("leg, fixed", "1 3 6", "3 6 6", "1 6 10", "3 9 10", "7 3 3"),
        ("leg, floating", "6 6 6 6", "6 6 6 6", "10 10 10 10", "10 10 10 10", "0 3 3 3"),
    ],
)
def test_dimensions(name, V, V_gravity, K, K_gravity, T):
    make, options = ROBOTS[name]
    found = identifiability(make(**options)).dimensions
    fields = ("velocities", "velocities_with_gravity", "combinations", "combinations_with_gravity", "transfers")
    for field, expected in zip(fields, (V, V_gravity, K, K_gravity, T), strict=True):
        assert [getattr(d, field) for d in found] == [int(x) for x in expected.split()]


TABLES = {
    "puma": "××○○○○ ×●●★★★ ×★●●●★ ××○○○○ ×●●●●● ×○○○○○ ●●●●●★ ×★★★★★ ×●★★★★ ×★●★★★",
    "scara": "×○●○ ×●○★ ×●○★ ×××× ×××× ×××× ●●○★ ×××× ×××× ××××",
    "leg, fixed": "×○○ ×★★ ●○○ ★●★ ●●● ×●★ ×○○ ×●★ ×★★ ×★★",
    "leg, floating": "●○○○ ●○★★ ●●○○ ★★●★ ●●●● ●●●★ ●○○○ ★★●★ ★★★★ ●★★★",
}


@pytest.mark.parametrize("name", ROBOTS)
def test_symbols(name):
    make, options = ROBOTS[name]
    assert " ".join(symbols(identifiability(make(**options)))) == TABLES[name]


@pytest.mark.parametrize("name", ROBOTS)
def test_symbols_from_the_row_reduced_regressor(name):
    """By the definitions of Table 3, with Pinocchio's regressor of random states."""
    make, options = ROBOTS[name]
    robot = make(**options)
    Y = Twin(robot, motors=False).regression(np.random.default_rng(0), 80)
    order = np.concatenate([10 * b + DOWN for b in range(robot.nb)])
    triangle = qr(Y[:, order], mode="r")[0]
    base, reduced = row_reduced(triangle / np.abs(triangle).max())
    expected = {}
    for place, column in enumerate(order):
        rows = np.abs(reduced[:, place]) > 1e-7
        alone = rows.sum() == 1 and (np.abs(reduced[rows]) > 1e-7).sum() == 1
        expected[column] = ("★" if alone else "●") if place in base else "○" if rows.any() else "×"
    assert [s.symbol for s in identifiability(robot).status] == [expected[c] for c in range(10 * robot.nb)]


def row_reduced(A, tolerance=1e-7):
    """Pivot columns and row-reduced echelon form, by Gauss and Jordan with row exchange."""
    A, pivots, top = A.copy(), [], 0
    for column in range(A.shape[1]):
        if top == len(A):
            break
        best = top + int(np.argmax(np.abs(A[top:, column])))
        if abs(A[best, column]) > tolerance:
            A[[top, best]] = A[[best, top]]
            A[top] /= A[top, column]
            others = np.arange(len(A)) != top
            A[others] -= np.outer(A[others, column], A[top])
            pivots.append(column)
            top += 1
    return pivots, A[:top]


def test_what_the_paper_says_of_the_puma():
    idn = identifiability(puma(), motors=True)
    known = dict(zip(idn.names, idn.status, strict=True))
    assert (
        known["link2.m"].name == known["link2.hz"].name == "UNIDENTIFIABLE"
    )  # "the mass m2 is unidentifiable", "and thus so is"
    assert (
        known["link6.Ixx"].name == "BASE" and known["link6.Iyy"].name == "COMBINED"
    )  # only Ixx - Iyy, by the rule Ixx
    assert [f"rotor(joint{j}).Im" in idn.base_names for j in range(1, 7)] == [False, False, True, True, True, True]
    assert "link6.Ixx - link6.Iyy" in idn.expressions()


def test_what_the_paper_says_of_the_scara():
    """Transfers across the prismatic joint need only leave the mass in place: nine of them."""
    idn = identifiability(library.scara())
    entries = [b.entries[np.argsort(b.columns)] for b in idn.blocks if b.columns.min() == 20]
    assert [e.shape for e in entries] == [(10, 9)] and not entries[0][0].any()


def test_two_link_arm_of_section_4():
    """Izz_1 + m_2 l^2, Izz_2, hx_2 and hy_2 of the planar arm without gravity (section 4.5.1)."""
    from steelyard.model import Joint, Robot, revolute_subspace

    z = revolute_subspace([0, 0, 1.0])
    joints = (
        Joint("1", "revolute", z, np.eye(3), np.zeros(3)),
        Joint("2", "revolute", z, np.eye(3), np.array([0.7, 0, 0])),
    )
    none = np.zeros(2)
    robot = Robot(
        "arm", joints, np.array([-1, 0]), ("a", "b"), np.arange(2), np.zeros((2, 10)), np.zeros(3), none, none, none
    )
    assert identifiability(robot).expressions() == ("a.Izz + x_2^2 b.m", "b.hx", "b.hy", "b.Izz")
    crossed = Joint("2", "revolute", revolute_subspace([0, 1.0, 0]), np.eye(3), np.array([0.7, 0, 0]))
    other = replace(robot, joints=(joints[0], crossed))
    assert identifiability(other).count == 8  # section 4.5.2: one of body 1 and seven of body 2


def test_tables_as_text():
    expected = """\
scara: 11 identifiable combinations of 56 parameters (recursive)

           1      2  3  4
    m      ×      ○  ●  ○
   hx      ×      ●  ○  ★
   hy      ×      ●  ○  ★
   hz      ×      ×  ×  ×
  Ixx      ×      ×  ×  ×
  Iyy      ×      ×  ×  ×
  Izz      ●      ●  ○  ★
  Iyz      ×      ×  ×  ×
  Ixz      ×      ×  ×  ×
  Ixy      ×      ×  ×  ×
   Im      ○      ★  ★  ★
dim V  1 (2)  3 (4)  4  4
dim K      1      4  4  4
dim T      9      7  9  7

1 link1  2 link2  3 link3  4 link4

★ identifiable alone
● identifiable in combination with others, chosen as base parameter
○ identifiable in combination with others
× unidentifiable
Im inertia of the body's motor about its axis
dim V directions in which the body can move, of 6 (in brackets: or its weight act)
dim K combinations of its ten parameters that matter (likewise)
dim T ways to hand inertia to the body before it that show nowhere"""
    assert identifiability(library.scara(), motors=True).table() == expected
