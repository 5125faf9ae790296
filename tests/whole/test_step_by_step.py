"""`sy.accumulate` and `sy.fit.posterior` without options, and `sy.identify`: one model and log, one fit."""

import numpy as np
import pytest

import loop_logs
import steelyard as sy
import walks
from small_runs import write_case
from steelyard.errors import LogError
from steelyard.log import Log
from steelyard.model import library
from steelyard.model.side import read_side, side_path
from steelyard.prepare import prepare
from steelyard.prepare.reading import read_logs
from steelyard.simulate import Sensors, record


def arm(tmp_path):
    robot = sy.library.scara()
    return robot, robot, [record(robot, duration=6.0, seed=1, sensors=Sensors()).log], {}


def known_arm(tmp_path):
    """Facts of a side file, which count beside the data."""
    model, log = write_case(tmp_path, samples=600)
    (tmp_path / "arm.steelyard.toml").write_text('version = 1\n[known.masses]\n"forearm + rod" = 2.7\n')
    return model, sy.load(model), [log], {}


def several_logs(tmp_path):
    robot = sy.library.scara()
    return robot, robot, [record(robot, duration=4.0, seed=seed, sensors=Sensors()).log for seed in (1, 2)], {}


def weighed_joints(tmp_path):
    robot, _, (log,), _ = arm(tmp_path)
    weights = np.ones((len(log), log.nv))
    weights[: len(log) // 3, 1] = 0.0
    return robot, robot, [log.replace(weights=weights)], {}


def shared_motor(tmp_path):
    robot, _, logs, _ = arm(tmp_path)
    return robot, robot, logs, {"coupling": (f"{robot.dof_names[0]}+{robot.dof_names[1]}",)}


def closed_loop(tmp_path):
    truth = library.four_bar_leg()
    t = np.arange(0, 20, 0.01)
    w, phase = np.array([[1.1, 3.7, 6.1], [1.7, 2.9, 7.3]]), np.arange(6).reshape(2, 3)
    size = np.array([[0.25, 0.12, 0.05], [0.2, 0.12, 0.06]])
    angle = t[:, None, None] * w + phase
    q, v, a = ((f(angle) * size * w**k).sum(-1) * s for f, k, s in ((np.sin, 0, 1), (np.cos, 1, 1), (np.sin, 2, -1)))
    model = tmp_path / "leg.urdf"
    model.write_text(truth.source.path.read_text().replace('<mass value="1.8"/>', '<mass value="2.6"/>'))
    side_path(model).write_text(side_path(truth.source.path).read_text())
    return (
        model,
        read_side(side_path(model), sy.load(model)),
        [sy.write_csv(loop_logs.motors_log(truth, t, q, v, a), tmp_path / "run.csv")],
        {},
    )


def walking(tmp_path):
    """A trot whose log flags its contacts."""
    walk = walks.walk("trot", duration=8.0)
    return walk.nominal, walk.nominal, [walk.log], {}


def flying(tmp_path):
    """A free base in flight, all six of whose rows are driven; no contacts."""
    walk = walks.walk("trot", duration=6.0)
    robot, exact = walk.nominal, walk.exact
    q, v, a = exact.require("q", "v", "a")
    tau = sy.inverse_dynamics(walk.true, q, v, a)
    tau = tau + 0.01 * tau.std(axis=0) * np.random.default_rng(0).normal(size=tau.shape)
    return robot, robot, [sy.Log(t=exact.t, q=q, v=v, tau=tau, joint_names=robot.dof_names)], {}


KINDS = (known_arm, several_logs, closed_loop, walking)
MORE = (arm, weighed_joints, shared_motor, flying)


@pytest.mark.parametrize(
    "kind",
    [*KINDS, *(pytest.param(kind, marks=pytest.mark.exhaustive) for kind in MORE)],
    ids=[kind.__name__ for kind in (*KINDS, *MORE)],
)
def test_both_ways_fit_alike(kind, tmp_path):
    """The fit that `identify` makes of the training part predicts what that of the two steps does, within the noise."""
    model, robot, logs, options = kind(tmp_path)
    result = sy.identify(model, logs, **options)
    robot, read = read_logs(logs, robot)
    train = [sy.split_blocks(prepare(log, robot, **options).log, 0.3)[0] for log in read]
    info = sy.accumulate(robot, train, **options)
    estimate = sy.fit.posterior(info)
    assert (
        estimate.layout.terms == result.estimate.layout.terms
        and estimate.layout.extras == result.estimate.layout.extras
    )
    found, told = sy.validate(estimate, result.held_out), result.after
    apart = np.linalg.norm(found.predicted - told.predicted)
    assert apart < np.linalg.norm(told.error) and found.relative_error < 1.1 * told.relative_error
    blocks = sum(sy.accumulate_blocks(robot, train, **options))
    np.testing.assert_allclose(blocks.base.G, info.base.G, rtol=1e-9, atol=1e-9 * np.abs(info.base.G).max())


def test_recordings_are_prepared_as_identify_prepares_them(tmp_path):
    model, log = write_case(tmp_path, samples=600)
    robot = sy.load(model)
    info = sy.accumulate(robot, log)
    ready = prepare(sy.read_log(log, robot), robot).log
    for other in (
        sy.accumulate(robot, ready),
        sy.accumulate(robot, iter([log])),
        sy.accumulate(robot, {1: log}.values()),
    ):
        np.testing.assert_allclose(other.G, info.G, rtol=1e-12)


def test_what_is_told_counts_more(tmp_path):
    """Options of the sums and of the fit replace these choices; the primitive ones take none of them."""
    model, log = write_case(tmp_path, samples=600)
    robot = sy.load(model)
    plain = sy.accumulate(robot, log, friction=("viscous",), armature=False, sample_weights=None)
    assert plain.layout.terms == ("viscous",) and (plain.counts == plain.n).all()
    side_path(model).write_text("version = 1\n[known.masses]\nupper = 4.0\n")
    assert sy.fit.posterior(plain).theta[0, 0] == pytest.approx(4.0)
    assert sy.fit.posterior(plain, masses={"upper": 5.0}).theta[0, 0] == pytest.approx(5.0)
    saved = sy.load_information(sy.save_information(plain, tmp_path / "sums.npz"), robot)
    assert saved.model_facts and sy.fit.posterior(saved).theta[0, 0] == pytest.approx(4.0)
    assert sy.fit.consistent(saved).theta[0, 0] != pytest.approx(4.0)  # which takes what it is told


def test_contacts_take_a_list_of_logs():
    walk = walks.walk("trot", duration=4.0)
    with pytest.raises(sy.errors.StreamInterrupted, match="Give a list of logs") as caught:
        sy.accumulate(walk.nominal, iter([walk.log]))
    assert isinstance(caught.value.__cause__, LogError)
    known = {"row_weights": np.ones(walk.nominal.nv)}
    assert isinstance(walk.log, Log) and sy.accumulate(walk.nominal, walk.log, **known).projection is not None
