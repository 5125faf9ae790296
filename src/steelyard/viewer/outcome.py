"""What an output folder of `identify` says about masses."""

import json
from pathlib import Path

import numpy as np

from steelyard.errors import OptionError, choices
from steelyard.model import Robot
from steelyard.viewer.bodies import Found

SUMMARY = "summary.json"


def read_outcome(path, robot: Robot) -> Found:
    """Identified inertias and covariances of the centres of mass from `summary.json` or its folder.

    Raises OptionError for files that are no summary and summaries of another robot.
    """
    path = Path(path)
    file = path / SUMMARY if path.is_dir() else path
    try:
        bodies = {body["name"]: body for body in json.loads(file.read_text("utf-8"))["bodies"]}
        theta = {name: _numbers(body["identified"]["theta"], (10,)) for name, body in bodies.items()}
        centers = {name: _covariance(body.get("center_covariance")) for name, body in bodies.items()}
    except OSError as error:
        raise OptionError(
            f"{file} cannot be read: {error.strerror or error}. Give the output folder of `steelyard identify`."
        ) from error
    except (ValueError, KeyError, TypeError, RecursionError) as error:
        raise OptionError(f"{file} is no summary of `steelyard identify` ({type(error).__name__}: {error}).") from error
    missing = [name for name in robot.body_names if name not in theta]
    if missing:
        raise OptionError(
            f"{file} has no body {choices(missing)} of robot '{robot.name}'. Its bodies: {choices(theta)}. Give the "
            "model that was identified."
        )
    return Found(*(np.array([each[name] for name in robot.body_names]) for each in (theta, centers)))


def _covariance(given) -> np.ndarray:
    """(3, 3), NaN where it is not known."""
    return np.full((3, 3), np.nan) if given is None else _numbers(given, (3, 3))


def _numbers(given, shape: tuple[int, ...]) -> np.ndarray:
    """Raises ValueError for anything but finite numbers of that shape."""
    array = np.array(given, dtype=float)
    if array.shape != shape or not np.isfinite(array).all():
        raise ValueError(f"expected {shape} finite numbers, found {str(given)[:80]}")
    return array
