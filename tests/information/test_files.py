"""Saved Information: round trip, other robots refused, other files refused; forgetting."""

import numpy as np
import pytest

import steelyard as sy
from problems import random_log
from robots import urdf
from steelyard.errors import FitError, OptionError
from steelyard.information import accumulate
from steelyard.storage import NewerFormat


@pytest.fixture(scope="module")
def case():
    robot = sy.load(urdf("ur5_robot"))
    rng = np.random.default_rng(0)
    return robot, random_log(robot, rng, samples=300, torque=lambda *s: sy.inverse_dynamics(robot, *s))


def test_round_trip(case, tmp_path):
    robot, log = case
    log = log.replace(bandwidth=0.25 * log.rate)
    info = accumulate(robot, log, armature=True, coupling=(robot.joint_names[-2:],))
    path = sy.save_information(info, tmp_path / "info.npz")
    assert list(tmp_path.iterdir()) == [path]
    back = sy.load_information(path, sy.load(urdf("ur5_robot")))
    assert back.layout == info.layout
    assert (back.n, back.independence, back.coulomb_width) == (info.n, info.independence, info.coulomb_width)
    np.testing.assert_array_equal((back + info).gram, 2 * info.gram)
    np.testing.assert_array_equal(sy.fit.least_squares(back).parameters, sy.fit.least_squares(info).parameters)


def test_masses_may_differ_but_not_kinematics(case, tmp_path):
    robot, log = case
    path = sy.save_information(accumulate(robot, log), tmp_path / "info.npz")
    assert sy.load_information(path, robot.with_inertias(2 * robot.inertias)).n == len(log)
    for other in (None, sy.load(urdf("ur3_robot")), sy.load(urdf("ur5_robot"), gravity=(0, 0, -1.62))):
        with pytest.raises(FitError, match="belongs to robot"):
            sy.load_information(path, other)


def test_raw_regression_round_trip(tmp_path):
    rng = np.random.default_rng(1)
    info = sy.Information.from_arrays(rng.normal(size=(50, 4)), rng.normal(size=50))
    back = sy.load_information(sy.save_information(info, tmp_path / "raw.npz"))
    np.testing.assert_array_equal(back.G, info.G)


@pytest.mark.parametrize("content", [b"", b"not a zip", None])
def test_other_files_are_refused(case, tmp_path, content):
    path = tmp_path / "other.npz"
    if content is None:
        np.savez(path, q=np.zeros(3))
    else:
        path.write_bytes(content)
    with pytest.raises(FitError, match=r"other\.npz is not a saved Information"):
        sy.load_information(path, case[0])


def test_newer_versions_are_read_with_a_warning_or_refused_by_name(case, tmp_path, monkeypatch):
    robot, log = case
    info = accumulate(robot, log)
    for name in ("1.7", "2.0", "1"):
        monkeypatch.setattr("steelyard.information.files.FORMAT", f"steelyard information {name}")
        sy.save_information(info, tmp_path / f"{name}.npz")
    monkeypatch.undo()
    assert sy.load_information(tmp_path / "1.npz", robot).n == info.n
    with pytest.warns(NewerFormat, match=r"information 1\.7', newer than 'steelyard information 1\.1'"):
        np.testing.assert_array_equal(sy.load_information(tmp_path / "1.7.npz", robot).gram, info.gram)
    with pytest.raises(FitError, match=r"'steelyard information 2\.0'; this version reads .* up to version 1"):
        sy.load_information(tmp_path / "2.0.npz", robot)


def test_files_may_lie_at_a_url(case):
    pytest.importorskip("fsspec", reason="fsspec is not installed")
    robot, log = case
    info = accumulate(robot, log)
    path = sy.save_information(info, "memory://folder/info.npz")
    np.testing.assert_array_equal(sy.load_information(path, robot).gram, info.gram)
    with pytest.raises(FitError, match="not a saved Information"):
        sy.load_information("memory://folder/absent.npz", robot)


def test_user_columns_cannot_be_saved(case, tmp_path):
    robot, log = case
    info = accumulate(robot, log, extra=[sy.UserColumn("cube", lambda q, v, a: v**3)])
    with pytest.raises(OptionError, match="cannot be saved"):
        sy.save_information(info, tmp_path / "info.npz")


def test_forgetting_follows_a_change(case):
    robot, log = case
    rng = np.random.default_rng(2)
    heavier = robot.with_inertias(1.2 * robot.inertias)
    later = random_log(heavier, rng, samples=300, torque=lambda *s: sy.inverse_dynamics(heavier, *s))
    before, after = (accumulate(robot, x, friction=()) for x in (log, later))
    plain, forgetting = before + after, before.discounted(1e-4) + after
    truth = after.basis.regroup(heavier.inertias.ravel())
    errors = [np.linalg.norm(np.linalg.solve(info.G, info.b) - truth) for info in (plain, forgetting)]
    assert errors[1] < 1e-2 * errors[0]
    assert forgetting.n == len(later)
    with pytest.raises(OptionError, match="forgetting"):
        before.discounted(1.1)
