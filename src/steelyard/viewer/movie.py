"""Motions to play, sampled at the rate of a film, and films of them: GIF through Pillow, MP4 through ffmpeg."""

import shutil
import subprocess
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from steelyard import storage
from steelyard.errors import DrawingError, OptionError
from steelyard.extras import extra
from steelyard.log import Log, filters, read_log
from steelyard.model import Robot
from steelyard.simulate.trajectories import Trajectory
from steelyard.viewer.stage import stage

RATE = 30.0  # Hz
MOST = 3000  # samples: of longer motions, fewer a second


@dataclass(frozen=True, eq=False)
class Motion:
    """t: (n,) s from zero, increasing; q: (n, nq)."""

    t: np.ndarray
    q: np.ndarray

    def at(self, rate: float) -> "Motion":
        """Sampled anew at `rate` Hz, linearly in every coordinate; kinematics normalise quaternions."""
        t = np.arange(int(self.t[-1] * rate) + 1) / rate
        return Motion(t, np.stack([np.interp(t, self.t, column) for column in self.q.T], axis=1))


def motion_of(trajectory, robot: Robot) -> Motion:
    """Samples of a Trajectory (a design is one), a Log, or the path of a log. Raises OptionError, LogError."""
    if isinstance(trajectory, Motion):
        return _checked(trajectory.t, trajectory.q, robot)
    if isinstance(trajectory, str | Path):
        trajectory = read_log(trajectory, robot)
    if isinstance(trajectory, Trajectory):
        count = int(np.clip(trajectory.duration * RATE, 2, MOST))
        t = np.linspace(0.0, trajectory.duration, count)
        return _checked(t, np.asarray(trajectory.evaluate(t)[0], dtype=float), robot)
    if not isinstance(trajectory, Log):
        raise OptionError(f"A motion is a trajectory, a log or its path; got {type(trajectory).__name__}.")
    if robot.loops:
        trajectory = _closed(trajectory, robot)
    t = np.asarray(trajectory.t, dtype=float)
    order = np.flatnonzero(np.isfinite(t) & np.isfinite(trajectory.q).all(axis=1))
    order = order[np.unique(t[order], return_index=True)[1]]
    if len(order) < 2:
        raise OptionError(f"Log '{trajectory.name}' has {len(order)} usable samples; a motion needs two.")
    t = t[order] - t[order[0]]
    wanted = np.linspace(0.0, t[-1], int(np.clip(t[-1] * RATE, 2, min(MOST, len(order)))))
    nearest = np.searchsorted((t[1:] + t[:-1]) / 2, wanted)
    return _checked(wanted, np.asarray(trajectory.q)[order[nearest]], robot)


def _closed(log: Log, robot: Robot) -> Log:
    """Passive joints of closed loops follow from the motors'."""
    from steelyard.identifiable.loop_completion import on_tree

    return on_tree(robot, log if log.v is not None else filters.differentiate(log, cutoff=log.rate / 10))


def _checked(t, q, robot: Robot) -> Motion:
    if q.shape != (len(t), robot.nq):
        raise OptionError(f"The motion has {q.shape[1]} coordinates; robot '{robot.name}' has {robot.nq}.")
    return Motion(t, q)


RATES = {".gif": 15.0, ".mp4": 30.0}  # pictures a second
WIDTH, HEIGHT = 480, 360
COLORS = 128  # of a GIF


def require_film(path) -> Path:
    """The path of a film. Raises OptionError for a suffix that is none."""
    path = Path(path)
    if path.suffix.lower() not in RATES:
        raise OptionError(f"'{path}': a film is a {' or '.join(RATES)} file; choose one of these suffixes.")
    return path


def film(robot: Robot, motion: Motion, path, *, width: int = WIDTH, height: int = HEIGHT) -> Path:
    """Write a film of a motion, drawn by MuJoCo without a screen. path: .gif or .mp4, width, height: pixels.

    Raises OptionError for another suffix, DrawingError where there is no OpenGL, Pillow (GIF) or ffmpeg (MP4).
    """
    path = require_film(path)
    suffix = path.suffix.lower()
    write = _gif if suffix == ".gif" else _mp4
    played = motion.at(RATES[suffix])
    try:
        with (
            storage.folders_above(path),
            storage.whole(path) as draft,
            stage(robot, played.q, width=width, height=height) as picture,
        ):
            write((picture(pose) for pose in played.q), draft, RATES[suffix], width, height)
    except OSError as error:
        raise OptionError(f"Film {path} cannot be written: {error.strerror or error}.") from error
    return path


def _gif(pictures: Iterator[np.ndarray], path: Path, rate: float, width: int, height: int):
    try:
        with extra("Writing a GIF"):
            from PIL import Image
    except OptionError as error:  # the page beside it is written all the same
        raise DrawingError(str(error)) from error
    first = Image.fromarray(next(pictures)).quantize(COLORS)
    rest: Iterable = (Image.fromarray(each).quantize(palette=first, dither=Image.Dither.NONE) for each in pictures)
    first.save(path, save_all=True, append_images=rest, duration=round(1000 / rate), loop=0)


def _mp4(pictures: Iterator[np.ndarray], path: Path, rate: float, width: int, height: int):
    program = shutil.which("ffmpeg")
    if program is None:
        raise DrawingError("an MP4 needs ffmpeg, which is not installed; a GIF does without")
    source = ["-f", "rawvideo", "-pix_fmt", "rgb24", "-s", f"{width}x{height}", "-r", f"{rate:g}", "-i", "-"]
    words = [program, "-loglevel", "error", "-y", *source, "-pix_fmt", "yuv420p", "-movflags", "+faststart", str(path)]
    frames = b"".join(np.ascontiguousarray(each).tobytes() for each in pictures)
    done = subprocess.run(words, input=frames, capture_output=True, check=False)
    if done.returncode:
        raise DrawingError(f"ffmpeg failed: {done.stderr.decode(errors='replace').strip()[-300:]}")
