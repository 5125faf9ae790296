"""Thresholds of the payload's identification and of what is said about a log, each with where it comes from.

How often right logs come near them is in `docs/evidence/adversary/payloads.md`.
"""

from dataclasses import dataclass


@dataclass(frozen=True)
class Thresholds:
    """What counts as determined, as explained and as a mistake."""

    fewest_poses: int = 4  # poses that show a mass and a centre
    determined: float = 0.1
    """Relative standard deviation up to which a quantity counts as measured: within a fifth, with 95 %."""
    felt: float = 25.0  # squared signal of a payload over that of the noise, each of ten parameters: something is held
    misstated: float = 1.2  # residual over stated noise that contradicts it, where it is significant as well
    misfit_searched: float = 0.02  # share of the wrench beyond noise from which mistakes are looked for
    misfit_with_care: float = 0.15  # the same from which a result is used with care
    unexplained: float = 0.3  # the same from which there is no result
    torques_unexplained: float = 0.7
    """Share of the torque beyond the arm's, from joint torques: half its energy; more is the arm's model, not a
    payload."""
    moved_center: float = 0.005  # m: the same of the centre of mass
    evidence: float = 30.0
    """Nats with which a mistake is sure: errors of filtered motion win up to 16 in right logs, a push within the noise
    that moves the mass by 4 % wins 63 (`tests/payload/test_not_explained.py`)."""
    moved_mass: float = 0.02  # share of the mass: stretches of time that move it further make it no result
    surely: float = 0.95
    """Probability with which a grasp costs less than another, and below which a cost lies that is its upper bound: the
    convention of one-sided bounds."""
    chance: float = 1e-3  # p-value of an F test below which residuals depend on the pose
    better_reading: float = 0.25  # share of the residual: signs or axes with which so little is left are the right ones
    explained: float = 0.2  # residual over signal below which signs and axes of a log are right as they are
    reading_unexplained: float = 0.5  # residual over signal above which signs and axes explain nothing
    saturated: float = 0.02  # share of samples at exactly the extreme value of a channel
    constant_pose: float = 0.08726646259971647
    """rad (5 degrees): spread of gravity's direction in the sensor below which the pose counts as constant."""
    outside_shape: float = 0.1  # share of the shape's diagonal that a centre of mass may lie outside
    same_motion: float = 0.1  # mismatch of two motion signals, of the larger, up to which nothing is looked for
    other_reading: float = 0.4  # share of the mismatch: another reading of a signal that leaves less is the right one
    unrelated_acceleration: float = 0.7
    """Mismatch of accelerations that is a finding without a reading: lagging filters on poses of high noise leave up to
    0.49 (`evidence.bench.tray_experiment.recorded`, 1 to 4 rad/s)."""
    unrelated_rate: float = 0.3  # the same of angular velocity, where they leave up to 0.10
    gravity_refuted: float = 16.0  # squared deviations that refute a strength of gravity; right logs come to 12


THRESHOLDS = Thresholds()
LOOKED_AT, IN_A_ROW = 2000, 4000  # samples of a long log, thinned, and those one after the other
