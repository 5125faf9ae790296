"""Motions that are played, designed from or rehearsed are read as everything else reads them: with their side files."""

import numpy as np

import steelyard as sy
from steelyard.excite.motion_files import _prepared
from steelyard.viewer.played_motion import motion_of


def test_a_log_in_degrees_is_played_in_radians(tmp_path):
    robot = sy.library.scara()
    log = sy.simulate.record(robot, duration=4.0).log
    turns = np.array([joint.turns for joint in robot.free_joints])
    sy.write_csv(log.replace(q=np.where(turns, np.degrees(log.q), log.q)), tmp_path / "run.csv")
    path = tmp_path / "run.csv"
    words = ", ".join(f'"q:{name}=deg"' for name, turn in zip(robot.dof_names, turns, strict=True) if turn)
    (tmp_path / "run.csv.steelyard.toml").write_text(f"[corrections]\nunit = [{words}]\n")
    played = motion_of(path, robot)
    assert np.abs(played.q - np.stack([np.interp(played.t, log.t - log.t[0], x) for x in log.q.T], axis=1)).max() < 0.03
    np.testing.assert_allclose(np.ptp(_prepared(path, robot).q, axis=0), np.ptp(log.q, axis=0), rtol=0.05)
