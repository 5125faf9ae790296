"""SY2xx: which tensors a body can have."""

from collections.abc import Iterator

import numpy as np

from steelyard.check.rule import Hit, figures, rule
from steelyard.check.thresholds import THRESHOLDS
from steelyard.model.sketch import Inertial, Sketch

NEAREST = "Nearest consistent inertia with the stated mass and centre of mass, inside the geometry where it is known."


def _physical(sketch: Sketch) -> Iterator[tuple[str, Inertial]]:
    """Parts with a mass and a tensor of numbers."""
    for _, part, inertial in sketch.stated():
        if np.isfinite(inertial.moments).all() and inertial.mass != 0 and not inertial.is_point:
            yield part.name, inertial


@rule("SY201", "not-positive", "error", repairs=NEAREST)
def not_positive(sketch: Sketch) -> Iterator[Hit]:
    """An inertia tensor has a principal moment that is zero or negative.

    Why: Turning the body about that axis would take no energy, or give some. Simulators refuse or explode.
    Example:
        <inertia ixx="0.01" ixy="0.02" ixz="0" iyy="0.01" iyz="0" izz="0.02"/>
    Remedy: Check signs and magnitudes of the products of inertia; copy the tensor again from CAD.
    """
    for name, inertial in _physical(sketch):
        low, high = inertial.moments[0], np.abs(inertial.moments).max()
        if high > 0 and low <= THRESHOLDS.rounding * high:
            message = f"{sketch.word} '{name}' has principal moments {figures(inertial.moments)} kg m^2."
            yield Hit(inertial.place, message, "All three must be positive; check the products of inertia.")


@rule(
    "SY202",
    "zero-tensor",
    "warning",
    repairs="From the geometry at the stated mass; without geometry, that of a ball of water.",
)
def zero_tensor(sketch: Sketch) -> Iterator[Hit]:
    """A body has mass but an inertia tensor of zeros.

    Why: That is a point mass. It is harmless on a link that is fixed to a larger body and reported only for bodies that
    have no other inertia: there it makes the mass matrix singular, and MuJoCo and Gazebo refuse it.
    Example:
        <mass value="1"/><inertia ixx="0" ixy="0" ixz="0" iyy="0" iyz="0" izz="0"/>
    Remedy: State the tensor.
    """
    for index, part, inertial in sketch.stated():
        if inertial.mass > 0 and inertial.is_point:
            members = sketch.clusters[sketch.carrier[index]]
            others = [sketch.parts[i].inertial for i in members]
            if not any(other is not None and not other.is_point for other in others):
                message = f"{sketch.word} '{part.name}' has {inertial.mass:g} kg and no moment of inertia."
                yield Hit(inertial.place, message, "State its inertia tensor.")


@rule("SY203", "triangle-inequality", "error", repairs=NEAREST)
def triangle_inequality(sketch: Sketch) -> Iterator[Hit]:
    """The principal moments violate the triangle inequality.

    Why: The largest principal moment of any distribution of mass is at most the sum of the other two. MuJoCo refuses
    such a body, Bullet and Gazebo compute nonsense, and no identification with physical consistency can use it. The
    same is to say that the pseudo-inertia has a negative eigenvalue.
    Example:
        <inertia ixx="0.01" ixy="0" ixz="0" iyy="0.01" iyz="0" izz="0.05"/>
    Remedy: Usually two numbers are swapped, units are mixed, or the tensor was transformed wrongly; export it again.
    """
    for name, inertial in _physical(sketch):
        a, b, c = inertial.moments
        if a > THRESHOLDS.rounding * c and a + b - c < -THRESHOLDS.rounding * c:
            message = f"{sketch.word} '{name}': largest principal moment {c:.6g} exceeds {a:.6g} + {b:.6g} kg m^2"
            percent = 100 * (c - a - b) / (a + b)
            yield Hit(
                inertial.place, f"{message} by {percent:.2g} %.", "Export the tensor again; check swapped numbers."
            )


@rule("SY204", "no-thickness", "warning", repairs=NEAREST)
def no_thickness(sketch: Sketch) -> Iterator[Hit]:
    """A body is infinitely thin: its pseudo-inertia is singular.

    Why: A rod or plate without thickness is a limit no body reaches. Charts and barriers of physically consistent
    inertias (log-Cholesky, log det) are undefined there, and MuJoCo accepts it only within rounding.
    Example:
        <inertia ixx="0.01" ixy="0" ixz="0" iyy="0.01" iyz="0" izz="0.02"/>
    Remedy: Give the tensor the thickness the part has.
    """
    for name, inertial in _physical(sketch):
        low, _, high = inertial.spread
        a, b, c = inertial.moments
        violates = a <= THRESHOLDS.rounding * c or a + b - c < -THRESHOLDS.rounding * c
        if inertial.mass > 0 and not violates and low < THRESHOLDS.flat * high:
            message = f"{sketch.word} '{name}' is flat: second moments {figures(inertial.spread)} kg m^2."
            yield Hit(inertial.place, message, "Give it the thickness the part has.")
