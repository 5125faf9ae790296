"""Films of a motion: GIF through Pillow, MP4 through ffmpeg."""

import shutil
import subprocess
from collections.abc import Iterable, Iterator
from pathlib import Path

import numpy as np

from steelyard import storage
from steelyard.errors import DrawingError, OptionError
from steelyard.model import Robot
from steelyard.viewer.motion import Motion
from steelyard.viewer.stage import stage

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
        from PIL import Image
    except ImportError as error:
        raise DrawingError("a GIF needs Pillow: `pip install pillow`") from error
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
