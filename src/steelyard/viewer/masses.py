"""Masses to look at: solid ellipsoids that weigh and turn like a body, and where its centre of mass can be."""

from dataclasses import dataclass
from pathlib import Path

import numpy as np

from steelyard.errors import InertiaError, OptionError, choices
from steelyard.fit import Estimate, Uncertainty
from steelyard.inertia.ellipsoid import covariance_axes
from steelyard.model import Robot

SOLID = np.sqrt(5.0)  # semi-axes of a homogeneous ellipsoid over the root-mean-square distances of its mass
REGION = np.sqrt(7.814727903251179)  # radius of the ball that holds 95 % of a standard normal vector in space


@dataclass(frozen=True, eq=False)
class Found:
    """What was identified. centers: (nb, 3, 3) m^2, covariance of each centre of mass there, None where it is not
    known."""

    theta: np.ndarray  # (nb, 10) in body frames
    centers: np.ndarray | None = None


def found_in(estimate: Estimate | Uncertainty | Robot, robot: Robot) -> Found:
    """Inertias, and what is known of their uncertainty. Raises OptionError for another robot's."""
    if isinstance(estimate, Uncertainty):
        found = Found(estimate.estimate.theta, estimate.centers)
    else:
        found = Found(estimate.inertias if isinstance(estimate, Robot) else estimate.theta)
    if found.theta.shape != (robot.nb, 10):
        raise OptionError(
            f"The estimate has {len(found.theta)} bodies, robot '{robot.name}' has {robot.nb}. Give the model that was "
            "identified."
        )
    return found


def mass_of(theta, center_covariance=None) -> dict:
    """JSON-ready mass [kg], centre of mass [m], `ellipsoid` (9,): semi-axes of a solid of the same mass and inertia, in
    columns, and `region`: of the 95 % region of the centre; None for what there is not."""
    theta = np.asarray(theta, dtype=float)
    com = theta[1:4] / theta[0] if theta[0] > 0 else np.full(3, np.nan)
    if not np.isfinite(com).all():  # without mass, or with 1e-320 kg
        return {"mass": float(theta[0]), "com": None, "ellipsoid": None, "region": None}
    try:
        _, lengths, axes = covariance_axes(theta)
        ellipsoid = (SOLID * axes * lengths).ravel().tolist() if lengths.any() else None
    except InertiaError:  # not physically consistent: there is no such solid
        ellipsoid = None
    region = None
    if center_covariance is not None and np.isfinite(center_covariance).all():
        squares, axes = np.linalg.eigh(center_covariance)
        region = (REGION * axes * np.sqrt(np.maximum(squares, 0.0))).ravel().tolist()
    return {"mass": float(theta[0]), "com": com.tolist(), "ellipsoid": ellipsoid, "region": region}


def read_outcome(path, robot: Robot) -> Found:
    """Identified inertias and covariances of centres of mass of a result. Raises OptionError for no result, or another
    robot's."""
    from steelyard.report.record import SUMMARY, read

    path = Path(path)
    folder = path.parent if path.name == SUMMARY else path
    bodies = {body["name"]: body for body in read(folder).summary.get("bodies", ())}
    if missing := [name for name in robot.body_names if name not in bodies]:
        raise OptionError(
            f"{folder} has no body {choices(missing)} of robot '{robot.name}'. Its bodies: "
            f"{choices(bodies) or 'none'}. Give the model that was identified."
        )
    own = [bodies[name] for name in robot.body_names]
    unknown = np.full((3, 3), np.nan)
    centers = [unknown if body["center_covariance"] is None else body["center_covariance"] for body in own]
    return Found(np.array([body["identified"]["theta"] for body in own]), np.array(centers, dtype=float))
