"""What contacts keep from sight, against ranks of Pinocchio's regressor over motions that keep feet still."""

from functools import lru_cache

import numpy as np
import pinocchio as pin
import pytest
import scipy.linalg

import pinocchio_adapter as adapter
import steelyard as sy
from robots import random_state, urdf
from steelyard.errors import ModelError, OptionError
from steelyard.inertia import transform
from steelyard.information import accumulate
from steelyard.model import load

WORLD = pin.ReferenceFrame.LOCAL_WORLD_ALIGNED
SOLO = ("FL_FOOT", "FR_FOOT", "HL_FOOT", "HR_FOOT")
GO2 = ("FL_foot", "FR_foot", "RL_foot", "RR_foot")
ANYMAL = ("LF_FOOT", "RF_FOOT", "LH_FOOT", "RH_FOOT")
SOLES = {"left_ankle_roll_link": "flat", "right_ankle_roll_link": "flat"}
LEFT = {"left_ankle_roll_link": "flat"}
HELD = {"point": slice(0, 3), "flat": slice(0, 6)}
CASES = [
    ("solo12", True, SOLO, 90),
    ("solo12", True, SOLO[:3], 91),
    ("solo12", True, (), 94),
    ("solo12", True, (SOLO, SOLO[:2]), 92),
    ("solo12", True, (SOLO[:2], SOLO[2:]), 94),
    ("go2", True, GO2, 90),
    ("go2", True, (GO2[::3], GO2[1:3]), 94),
    ("anymal", True, ANYMAL, 90),
    ("anymal", True, ANYMAL[:1], 93),
    ("g1_29dof_rev_1_0", True, SOLES, 185),
    ("g1_29dof_rev_1_0", True, LEFT, 199),
    ("g1_29dof_rev_1_0", True, (SOLES, LEFT), None),
    ("talos_reduced", True, {"leg_left_6_link": "flat"}, 220),
    ("panda", False, ("panda_hand",), 47),
    ("panda", False, {"panda_hand": "flat"}, None),
]


def sets_of(contacts):
    """One dictionary a set of contacts."""
    one = isinstance(contacts, dict) or all(isinstance(each, str) for each in contacts)
    return [
        each if isinstance(each, dict) else dict.fromkeys(each, "point") for each in ([contacts] if one else contacts)
    ]


@lru_cache
def models(name, floating):
    return adapter.load(urdf(name), floating), load(urdf(name), floating=floating or None)


def standing_rows(name, floating, contacts, rng, regress):
    """Rows of random motions that keep frames still, without forces there; regress(model, data, robot, q, v, a)."""
    model, robot = models(name, floating)
    data, E = model.createData(), adapter.velocity_map(model, robot)
    q, v, a = random_state(robot, rng)
    at, rows, bias = adapter.configuration(model, robot, q), [np.zeros((0, robot.nv))], [np.zeros(0)]
    if contacts:
        J = {}
        for frame, kind in contacts.items():
            J[frame] = pin.computeFrameJacobian(model, data, at, model.getFrameId(frame), WORLD)[HELD[kind]] @ E
        still = scipy.linalg.null_space(np.concatenate(list(J.values())), rcond=1e-9)
        v = still @ (still.T @ v)
        pin.forwardKinematics(model, data, at, E @ v, np.zeros(model.nv))
        for frame, kind in contacts.items():
            index = model.getFrameId(frame)
            rows.append(J[frame])
            bias.append(pin.getFrameClassicalAcceleration(model, data, index, WORLD).vector[HELD[kind]])
    J, bias = np.concatenate(rows), np.concatenate(bias)
    a = a - np.linalg.lstsq(J, J @ a + bias, rcond=1e-9)[0] if len(J) else a
    Z = scipy.linalg.null_space(J, rcond=1e-9) if len(J) else np.eye(robot.nv)
    return Z.T @ regress(model, data, robot, q, v, a)


@pytest.mark.exhaustive(keep=8)
@pytest.mark.parametrize(("name", "floating", "contacts", "count"), CASES)
def test_counts_are_the_rank_over_sampled_motions(name, floating, contacts, count):
    robot, rng = load(urdf(name), floating=floating or None), np.random.default_rng(1)
    found = sy.identifiability(robot, contacts=contacts)
    stacked = [
        standing_rows(name, floating, each, rng, adapter.regressor)
        for each in sets_of(contacts)
        for _ in range(2 * robot.nb + 20)
    ]
    stacked = np.concatenate(stacked)
    size = np.linalg.norm(stacked, axis=0)
    shown = size > 1e-9 * size.max()
    triangle = np.linalg.qr(stacked[:, shown] / size[shown], mode="r")
    singular = np.linalg.svd(triangle, compute_uv=False)
    assert found.count == np.count_nonzero(singular > 1e-8 * singular[0])
    assert count is None or found.count == count
    assert found.hidden.combinations == sy.identifiability(robot).count - found.count
    assert found.method == "numeric, in contact" and found.decisions.kept > 1e-3


@pytest.mark.parametrize("foot", SOLO)
def test_a_point_mass_at_a_standing_foot_changes_no_row(foot):
    robot, rng = load(urdf("solo12"), floating=True), np.random.default_rng(2)
    frame = robot.frame(foot)
    inertias = np.array(robot.inertias)
    inertias[frame.body] += transform(np.eye(10)[0], np.eye(3), frame.position)
    heavier = robot.with_inertias(inertias)

    def added(model, data, _, q, v, a):
        return sy.inverse_dynamics(heavier, q, v, a) - sy.inverse_dynamics(robot, q, v, a)

    stance, lifted = dict.fromkeys(SOLO, "point"), {each: "point" for each in SOLO if each != foot}
    for _ in range(5):
        assert np.abs(standing_rows("solo12", True, stance, rng, added)).max() < 1e-10
        assert np.abs(standing_rows("solo12", True, lifted, rng, added)).max() > 1e-2


def test_words():
    robot = load(urdf("solo12"), floating=True)
    found = sy.identifiability(robot, contacts=SOLO, base="floating")
    assert found.hidden.untold == 0 and found.hidden.lines == tuple(
        f"Does not show: a point mass at {foot}: lift it in some samples, or measure its force." for foot in SOLO
    )
    assert "a point mass at FL_FOOT" in found.explain("FL_LOWER_LEG")
    assert "measuring the forces of all contacts: " in found.explain("FL_LOWER_LEG")
    assert "a point mass" not in found.explain("FL_UPPER_LEG")
    assert sy.identifiability(robot, contacts=(SOLO, SOLO[1:])).hidden.lines == found.hidden.lines[1:]
    assert sy.identifiability(robot, contacts=(SOLO[:2], SOLO[2:])).hidden.lines == ()
    assert "Give the total mass" in str(sy.identifiability(robot, contacts=()).hidden)
    humanoid = load(urdf("g1_29dof_rev_1_0"), floating=True)
    sole = sy.identifiability(humanoid, contacts=LEFT).hidden
    assert "anything that moves with left_ankle_roll_link" in sole.lines[0]
    assert sole.untold == 4 and sole.lines[1] == "4 more combinations do not show in these stances."


def test_a_log_of_stance_has_the_rank_that_was_told():
    robot, rng = load(urdf("solo12"), floating=True), np.random.default_rng(3)
    states = []
    for _ in range(150):
        standing_rows(
            "solo12", True, dict.fromkeys(SOLO, "point"), rng, lambda *x: states.append(x[3:]) or np.zeros((18, 1))
        )
    q, v, a = (np.array(each) for each in zip(*states, strict=True))
    contacts = dict.fromkeys(SOLO, np.ones(150))
    log = sy.Log(t=np.arange(150) / 10, q=q, v=v, a=a, tau=sy.inverse_dynamics(robot, q, v, a), contacts=contacts)
    info = accumulate(robot, log, friction=())
    size = np.sqrt(np.diag(info.G))
    singular = np.linalg.eigvalsh(info.G / np.outer(size, size))
    assert np.count_nonzero(singular > 1e-10 * singular[-1]) == sy.identifiability(robot, contacts=SOLO).count == 90


def test_what_does_not_go_together_is_refused():
    robot = load(urdf("solo12"), floating=True)
    with pytest.raises(ModelError, match="no link or frame 'FL_foot'"):
        sy.identifiability(robot, contacts=("FL_foot",))
    with pytest.raises(OptionError, match="contacts are any of"):
        sy.identifiability(robot, contacts={"FL_FOOT": "edge"})
    with pytest.raises(OptionError, match="contact of one kind"):
        sy.identifiability(robot, contacts=({"FL_FOOT": "flat"}, {"FL_FOOT": "point"}))
    with pytest.raises(OptionError, match="leave locked, sensors out"):
        sy.identifiability(robot, contacts=SOLO, locked=("FL_HAA",), sensors="base")
    with pytest.raises(OptionError, match=r"leave base out.*floating=True"):
        sy.identifiability(load(urdf("solo12")), contacts=SOLO, base="floating")
