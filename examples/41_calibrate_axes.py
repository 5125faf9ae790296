"""Joint axes that are one degree off, found from a torque log together with the inertial parameters.

    python examples/41_calibrate_axes.py [OUT]

A PUMA 560 with a tool was assembled with every axis tilted by one degree in some direction; its model says nothing of
that, and its masses, inertias and friction are wrong by tens of percent besides. MuJoCo moves the true robot; the log
has encoder steps and noise. Fitting inertial parameters alone cannot explain it; fitting the axes as well does.
With OUT the calibrated model is written there as a URDF.
"""

import sys
from pathlib import Path

import numpy as np

import steelyard as sy
from steelyard.app.demo_job import mistaken
from steelyard.calibration import axis_directions
from steelyard.inertia import from_com_inertia
from steelyard.model import with_moved_axes
from steelyard.simulate import Sensors, record

SENSORS = Sensors(encoder_resolution=5e-6, torque_noise=0.005, rate=250.0)
CUTOFF = 10.0  # Hz
TOOL = from_com_inertia(np.array(3.0), np.array([0.08, 0.03, 0.15]), np.diag([0.03, 0.036, 0.024]))
ERROR = np.radians(1.0)


def robots(seed=5):
    """The true robot, its wrong model, and the tilt in rad along each direction."""
    built = sy.library.puma560()
    theta = built.inertias.copy()
    theta[-1] += TOOL
    built = built.with_inertias(theta)
    directions = axis_directions(built, None, tilt=ERROR, shift=0.0)
    angle = np.random.default_rng(seed).uniform(0, 2 * np.pi, size=built.nj)
    toward = np.stack([np.cos(angle), np.sin(angle)], axis=1).ravel()
    tilts = dict(zip(directions.names, toward * ERROR, strict=True))
    return with_moved_axes(built, directions.eta(toward)), mistaken(built, seed=3), tilts


def moved(robot, *, duration, seed):
    """A filtered log of a random motion."""
    log = record(robot, duration=duration, seed=seed, sensors=SENSORS).log
    return sy.filters.differentiate(log, cutoff=CUTOFF)


def compare():
    """The calibration, validations of the models on a motion none of them saw, and the true tilts."""
    truth, model, tilts = robots()
    log, held_out = moved(truth, duration=20.0, seed=1), moved(truth, duration=10.0, seed=2)
    stubborn = sy.fit.consistent(sy.accumulate(model, log))
    found = sy.calibrate(model, log, tilt=np.radians(2.0), shift=0.002)
    models = {"the model's axes": stubborn, "calibrated axes": found.estimate, "the truth": truth}
    return found, {name: sy.validate(each, held_out) for name, each in models.items()}, tilts


def main(arguments):
    found, validations, tilts = compare()
    print(found.summary())
    print("\nTilts in degrees, true and found:")
    for name, value, deviation in zip(found.directions.names, found.values, found.deviation, strict=True):
        if name in tilts:
            print(f"  {name}: {np.degrees(tilts[name]):+.2f}  {np.degrees(value):+.2f} +- {np.degrees(deviation):.2f}")
    print("\nTorque error on a motion that no fit has seen:")
    for name, validation in validations.items():
        joints = " ".join(f"{rms:.3f}" for rms in validation.rms)
        print(f"  {name}: {validation.relative_error:.2%} (joints, N m: {joints})")
    if arguments:
        out = Path(arguments[0])
        out.mkdir(parents=True, exist_ok=True)
        print(f"\nwritten: {sy.save(found.robot, out / 'calibrated.urdf').path}")


if __name__ == "__main__":
    main(sys.argv[1:])
