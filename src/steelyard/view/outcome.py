"""What an output folder of `identify` says about masses."""

import json
from pathlib import Path

import numpy as np

from steelyard.errors import OptionError, choices
from steelyard.model.robot import Robot
from steelyard.view.bodies import Found

SUMMARY = "summary.json"


def read_outcome(path, robot: Robot) -> Found:
    """Identified inertias and covariances of the centres of mass from `summary.json` or its folder.

    Raises OptionError for files that are no summary and summaries of another robot.
    """
    path = Path(path)
    file = path / SUMMARY if path.is_dir() else path
    try:
        bodies = {body["name"]: body for body in json.loads(file.read_text("utf-8"))["bodies"]}
        theta = {name: np.array(body["identified"]["theta"], dtype=float) for name, body in bodies.items()}
        centers = {name: body.get("center_covariance") for name, body in bodies.items()}
    except OSError as error:
        raise OptionError(
            f"{file} cannot be read: {error.strerror or error}. Give the output folder of `steelyard identify`."
        ) from error
    except (ValueError, KeyError, TypeError) as error:
        raise OptionError(f"{file} is no summary of `steelyard identify` ({type(error).__name__}: {error}).") from error
    missing = [name for name in robot.body_names if name not in theta or theta[name].shape != (10,)]
    if missing:
        raise OptionError(
            f"{file} has no body {choices(missing)} of robot '{robot.name}'. Its bodies: {choices(theta)}. Give the "
            "model that was identified."
        )
    unknown = np.full((3, 3), np.nan)
    spread = [unknown if centers[name] is None else np.array(centers[name], dtype=float) for name in robot.body_names]
    return Found(np.array([theta[name] for name in robot.body_names]), np.array(spread))
