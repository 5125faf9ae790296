"""MuJoCo's warnings are told, not left as a file in the working folder."""

from threading import Barrier, Thread

import mujoco
import numpy as np
import pytest

from steelyard import library, simulate
from steelyard.errors import ModelError
from steelyard.model import load
from steelyard.model.mjcf import MjcfDocument
from steelyard.model.mjcf_compile import captured_warnings
from steelyard.model.references import allowed_folders

BODY = '<worldbody><body name="a"><joint name="j"/><geom size=".1" mass="1" solref="NaN 1"/></body></worldbody>'


@pytest.fixture
def doubtful(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    path = tmp_path / "robot.xml"
    path.write_text(f"<mujoco>{BODY}</mujoco>")
    before = mujoco.get_mju_user_warning()  # dm_control sets one as it is imported
    mujoco.set_mju_user_warning(None)
    yield path
    mujoco.set_mju_user_warning(before)


def files(path):
    return [each.name for each in path.parent.iterdir()]


def test_mujoco_itself_leaves_a_file(doubtful, capfd):
    mujoco.MjModel.from_xml_path(str(doubtful))
    assert sorted(files(doubtful)) == ["MUJOCO_LOG.TXT", "robot.xml"]
    capfd.readouterr()


def test_a_model_with_a_warning_leaves_no_file_and_tells_it(doubtful, capfd):
    _, told = MjcfDocument(doubtful, allowed_folders(doubtful)).compiled
    robot = load(doubtful)
    assert files(doubtful) == ["robot.xml"] and capfd.readouterr() == ("", "")
    assert any("NaN" in each for each in told) and any("NaN" in each for each in robot.notes)
    assert mujoco.get_mju_user_warning() is None


def test_a_simulation_that_diverges_leaves_no_file(tmp_path, monkeypatch, capfd):
    monkeypatch.chdir(tmp_path)
    robot = library.puma560()
    light = robot.with_inertias(np.asarray(robot.inertias) * 1e-9)
    stiff = simulate.JointPD(np.full(6, 1e9), np.zeros(6))
    with pytest.raises(ModelError, match="diverged"):
        simulate.record(light, duration=0.5, controller=stiff)
    assert list(tmp_path.iterdir()) == [] and capfd.readouterr() == ("", "")


def test_threads_share_the_handler_and_the_users_is_restored(doubtful):
    own: list[str] = []
    mujoco.set_mju_user_warning(own.append)
    together, found = Barrier(2), []

    def listen():
        with captured_warnings() as told:
            together.wait()
            mujoco.MjModel.from_xml_path(str(doubtful))
            together.wait()
        found.append(told)

    try:
        threads = [Thread(target=listen) for _ in range(2)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert [len(told) for told in found] == [2, 2] and own == []
        mujoco.MjModel.from_xml_path(str(doubtful))
        assert len(own) == 1
    finally:
        mujoco.set_mju_user_warning(None)
