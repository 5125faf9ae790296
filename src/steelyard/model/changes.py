"""What of a robot differs from its file, part by part: which link takes which inertial, which joint which property.

A body of a `Robot` may stand for several links of the file, fixed to one another. Its new inertia is given to one of them, the
receiver; the others keep theirs, so that the file changes as little as possible.
"""

from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np
from scipy.linalg import eigh

from steelyard.errors import ModelError, choices
from steelyard.inertia import pseudo
from steelyard.inertia.parameters import to_com_inertia, transform
from steelyard.model.compare import PROPERTIES, relative_difference
from steelyard.model.joint import Joint
from steelyard.model.robot import Robot

SAME = 1e-12
MARGIN = 1e-9


@dataclass(frozen=True, eq=False)
class Changes:
    """What to write.

    links: index of a link -> (10,) its inertial parameters in its own frame. joints: joint name -> property -> value. expected: the robot the
    edited file has to read back as. notes: what was scaled or cannot be written.
    """

    links: dict[int, np.ndarray]
    joints: dict[str, dict[str, float]]
    expected: Robot
    notes: tuple[str, ...]


def find_changes(
    robot: Robot, reference: Robot, *, format: str, hosts: Callable[[int], bool], holds: Callable[[Joint, str], bool]
) -> Changes:
    """Compare a robot with its file as read afresh (`reference`, of the same structure).

    hosts: whether the format lets a link, by index, have an inertial. holds: whether the format has a place for a property of a joint.
    Raises ModelError for a changed body that no distribution of mass can have, and for negative joint properties.
    """
    inertials: dict[int, np.ndarray] = {}
    notes = []
    for body in range(robot.nb):
        if not (relative_difference(robot.inertias[body], reference.inertias[body]) <= SAME):
            require_consistent(robot.body_names[body], robot.inertias[body])
            parts, note = _divide(robot.inertias[body], body, reference, hosts)
            inertials |= parts
            notes += note
    joints, arrays, missing = _joint_changes(robot, reference, format, holds)
    links = tuple(
        replace(link, theta=inertials[i], has_inertial=True) if i in inertials else link
        for i, link in enumerate(reference.links)
    )
    return Changes(inertials, joints, replace(robot, links=links, **arrays), (*notes, *missing))


def require_consistent(name: str, theta):
    """Raise ModelError for a body whose pseudo-inertia is not positive definite. theta: (10,)."""
    if np.isfinite(theta).all() and theta[0] > 0:
        inertia = to_com_inertia(theta)[2]
        smallest = float(np.linalg.eigvalsh(0.5 * np.trace(inertia) * np.eye(3) - inertia)[0])
        if smallest > 0:
            return
        found = f"smallest second moment about its centre of mass {smallest:.3g} kg m^2"
    else:
        found = f"mass {theta[0]:.6g} kg"
    raise ModelError(
        f"Body '{name}' cannot be written: no distribution of mass has its parameters ({found}; it must be positive). "
        "Fit with physical consistency (fit.consistent), or project the inertias first. Nothing was written."
    )


def _divide(theta, body: int, reference: Robot, hosts) -> tuple[dict[int, np.ndarray], list[str]]:
    """Inertials of the links of one body whose inertia became theta, and a note where fixed links had to be scaled."""
    riders = [i for i, link in enumerate(reference.links) if link.body == body]
    receiver = _receiver(reference, body, riders, hosts)
    fixed = [i for i in riders if i != receiver and reference.links[i].theta.any()]
    attached = {i: _in_body(reference.links[i]) for i in fixed}
    total = sum(attached.values(), np.zeros(10))
    share, changed, notes = 1.0, {}, []
    largest = _largest_share(total, theta) if fixed else 0.0
    if largest > 1 - MARGIN:
        share = 0.5 / largest
        changed = {i: share * reference.links[i].theta for i in fixed}
        names = choices(reference.links[i].name for i in fixed)
        notes.append(
            f"Body '{reference.body_names[body]}': the inertials of the links fixed to '{reference.links[receiver].name}' ({names}) "
            f"are more than the whole body now has; they were scaled by {share:.6g} so that every link stays physically consistent."
        )
    link = reference.links[receiver]
    changed[receiver] = transform(theta - share * total, link.rotation.T, -link.rotation.T @ link.position)
    return changed, notes


def _receiver(reference: Robot, body: int, riders: list[int], hosts) -> int:
    """The link that carries the joint; where it has no mass in the file, the heaviest of the links fixed to it."""
    links, name = reference.links, reference.body_names[body]
    main = next(i for i in riders if links[i].name == name)
    heavy = [i for i in riders if links[i].theta[0] > 0]
    if hosts(main) and (main in heavy or not heavy):
        return main
    if not heavy:
        raise ModelError(
            f"Body '{name}' cannot be written: the format lets none of its parts have an inertial. "
            "Put its mass into a body of its own in the model file and try again."
        )
    return max(heavy, key=lambda i: links[i].theta[0])


def _in_body(link):
    return transform(link.theta, link.rotation, link.position)


def _largest_share(part, whole) -> float:
    """Largest eigenvalue of `J(whole)^-1 J(part)`: `whole - s part` is consistent for s below its inverse. part, whole: (10,)."""
    J = pseudo.to_matrix(whole)
    D = np.diag(1 / np.sqrt(np.diag(J)))
    return float(eigh(D @ pseudo.to_matrix(part) @ D, D @ J @ D, eigvals_only=True)[-1])


def _joint_changes(robot: Robot, reference: Robot, format: str, holds):
    """Changed properties by joint, the arrays as they will read back, and notes about what has no place in the format."""
    changed: dict[str, dict[str, float]] = {}
    arrays, notes = {}, []
    for field in PROPERTIES:
        values, old, homeless = getattr(robot, field).copy(), getattr(reference, field), []
        for joint, at in zip(robot.joints, robot.v_slices, strict=True):
            if joint.mimics is not None or np.allclose(values[at], old[at], rtol=SAME, atol=0.0):
                continue
            if not (np.isfinite(values[at]).all() and (values[at] >= 0).all()):
                raise ModelError(
                    f"Joint '{joint.name}' has {field} {values[at].tolist()}; expected finite numbers that are not negative. "
                    "Fit friction with fit.consistent, or correct it. Nothing was written."
                )
            if holds(joint, field) and np.ptp(values[at]) == 0:
                changed.setdefault(joint.name, {})[field] = float(values[at][0])
            else:
                homeless.append(joint.name)
                values[at] = old[at]
        arrays[field] = values
        if homeless:
            notes.append(f"{format} has no place for the {field} of {choices(homeless)}; it was not written.")
    return changed, arrays, notes
