"""Films drawn without a screen, and what is said where that is not possible."""

import shutil
import subprocess
from pathlib import Path
from types import SimpleNamespace

import mujoco
import numpy as np
import pytest
from PIL import Image

import steelyard as sy
from robots import random_state, urdf
from steelyard.errors import DrawingError, OptionError
from steelyard.model import mjcf_text, to_mujoco
from steelyard.viewer import Motion, film, motion_of, view_files, written
from steelyard.viewer import stage as stages
from view_models import write_arm

POSES = np.array([[0.0, 0.0, 0.1], [-0.5, 0.6, 0.1], [-1.0, 1.2, 0.15]])


@pytest.fixture(scope="module")
def arm(tmp_path_factory):
    return sy.load(write_arm(tmp_path_factory.mktemp("arm")))


@pytest.fixture(scope="module")
def motion():
    return Motion(np.array([0.0, 0.1, 0.2]), POSES)


def drawn(arm, motion, path):
    try:
        return film(arm, motion, path, width=160, height=120)
    except DrawingError as error:
        pytest.skip(f"nothing can be drawn here: {error}")


def test_a_gif_moves(arm, motion, tmp_path):
    with Image.open(drawn(arm, motion, tmp_path / "film.gif")) as found:
        assert found.n_frames == 4 and found.size == (160, 120)
        frames = []
        for k in range(found.n_frames):
            found.seek(k)
            frames.append(np.asarray(found.convert("RGB")).astype(int))
    background = frames[0][0, 0]
    assert (np.abs(frames[0] - background).max(axis=-1) > 60).mean() > 0.02
    assert (np.abs(frames[0] - frames[3]).max(axis=-1) > 60).mean() > 0.01
    assert list(tmp_path.iterdir()) == [tmp_path / "film.gif"]


def test_bodies_stand_where_mujoco_puts_them():
    path = urdf("panda")
    robot = sy.load(path)
    q, v, a = random_state(robot, np.random.default_rng(0), (3,))
    R, p = stages.body_poses(robot, q)
    m = mujoco.MjModel.from_xml_string(mjcf_text(robot))
    d = mujoco.MjData(m)
    for k, qpos in enumerate(to_mujoco(m, robot, q, v, a)[0]):
        d.qpos[:] = qpos
        mujoco.mj_kinematics(m, d)
        for i, name in enumerate(robot.body_names):
            np.testing.assert_allclose(p[k, i], d.body(name).xpos, atol=1e-9)
            np.testing.assert_allclose(R[k, i].ravel(), d.body(name).xmat, atol=1e-9)


def test_without_opengl_the_page_is_still_written(arm, motion, tmp_path, monkeypatch):
    def nothing(*_):
        raise RuntimeError("no display")

    monkeypatch.setattr(stages, "import_module", lambda name: SimpleNamespace(GLContext=nothing))
    lines = list(written(arm, motion=motion, page=tmp_path / "view.html", movie=tmp_path / "film.gif"))
    assert lines[0].startswith("Wrote ") and "No film was written" in lines[1] and "no display" in lines[1]
    assert [path.name for path in tmp_path.iterdir()] == ["view.html"]


def test_mp4_goes_through_ffmpeg(arm, motion, tmp_path, monkeypatch):
    drawn(arm, motion, tmp_path / "probe.gif")
    monkeypatch.setattr(shutil, "which", lambda name: None)
    with pytest.raises(DrawingError, match="ffmpeg"):
        film(arm, motion, tmp_path / "film.mp4", width=160, height=120)
    called = []

    def run(words, *, input, **_):
        called.append((words, input))
        Path(words[-1]).touch()
        return SimpleNamespace(returncode=0)

    monkeypatch.setattr(shutil, "which", lambda name: f"/bin/{name}")
    monkeypatch.setattr(subprocess, "run", run)
    film(arm, motion, tmp_path / "film.mp4", width=160, height=120)
    ((words, pixels),) = called
    assert words[0] == "/bin/ffmpeg" and "160x120" in words and len(pixels) == 7 * 160 * 120 * 3


def test_the_command_says_what_it_wrote(arm, tmp_path):
    log = sy.Log(t=np.linspace(0, 1, 50), q=np.linspace(POSES[0], POSES[2], 50), joint_names=arm.joint_names)
    path = sy.write_npz(log, tmp_path / "log.npz")
    lines = view_files(arm.source.path, trajectory=path, out=tmp_path / "view.html")
    assert lines == [f"Wrote {tmp_path / 'view.html'}."]
    assert motion_of(path, arm).t[-1] == pytest.approx(1.0)
    with pytest.raises(OptionError, match="--trajectory"):
        view_files(arm.source.path, out=tmp_path / "view.html", movie=tmp_path / "film.gif")
    with pytest.raises(OptionError, match=r"\.gif or \.mp4"):
        view_files(arm.source.path, trajectory=path, out=tmp_path / "view.html", movie=tmp_path / "film.avi")
