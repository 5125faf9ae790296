"""What of a robot differs from its file, part by part: which link takes which inertial, which joint which property.

A body of a `Robot` may stand for several links of the file, fixed to one another. Its new inertia is given to
one of them, the receiver; the others keep theirs, so that the file changes as little as possible.
"""

from collections.abc import Callable, Container, Iterable, Mapping
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np

from steelyard.errors import ModelError, choices
from steelyard.inertia import pseudo, to_com_inertia, transform
from steelyard.model.assemble import of_followers
from steelyard.model.compare import PROPERTIES, relative_difference
from steelyard.model.drive import Drive
from steelyard.model.joint import Joint
from steelyard.model.references import left_behind
from steelyard.model.robot import Link, Robot
from steelyard.numbers import NEGLIGIBLE, ROUNDING, SAME


@dataclass(frozen=True, eq=False)
class Changes:
    """What to write."""

    links: dict[int, np.ndarray]  # index of a link -> (10,) its inertial parameters in its own frame
    joints: dict[str, dict[str, float]]  # joint name -> property -> value
    drives: dict[str, Drive]  # by joint, as they read back
    expected: Robot  # as which the edited file has to read back
    rescaled: tuple[str, ...]  # a line for each body whose links could not keep their inertials within its new one
    notes: tuple[str, ...]  # these, and what cannot be written

    def draft(self, noun: str, target: Path, folders, files, renamed, *, lines=(), **others) -> "Draft":
        """The files of a copy. noun: for links; folders: as of `ModelDocument`; renamed, lines: of paths and of other
        elements that changed."""
        notes = (*self.notes, *others.pop("notes", ()), *(left_behind(folders, target) if renamed else ()))
        about = {"expected": self.expected, "rescaled": self.rescaled} | others
        changed = [f"{noun} '{self.expected.links[index].name}': inertial" for index in self.links]
        changed += [f"joint '{name}': {', '.join(properties)}" for name, properties in self.joints.items()]
        return Draft(files=tuple(files), changed=(*changed, *lines, *renamed), notes=notes, **about)


def find_changes(
    robot: Robot,
    reference: Robot,
    *,
    format: str,
    hosts: Callable[[int], bool],
    writable: Callable[[Joint, str], bool],
    drives: Mapping[str, Drive],
    obstacle: Callable[[str], str | None] = lambda joint: None,
) -> Changes:
    """Compare a robot with its file as read afresh (`reference`). hosts: whether the format lets a link have an
    inertial; writable: whether it has a place for a property of a joint; obstacle: why a drive cannot be written, or
    None. Raises ModelError for a changed body that cannot exist, and for negative joint properties."""
    inertials: dict[int, np.ndarray] = {}
    rescaled: list[str] = []
    for body in range(robot.nb):
        if not (relative_difference(robot.inertias[body], reference.inertias[body]) <= ROUNDING):
            require_consistent(robot.body_names[body], robot.inertias[body])
            parts, lines = divide(robot.inertias[body], body, reference, hosts)
            inertials |= parts
            rescaled += lines
    joints, arrays, missing = _joint_changes(robot, reference, format, writable)
    known = reference.drives
    changed = {n: drive for n, drive in drives.items() if n not in known or drive.differing(known[n], ROUNDING)}
    kept = {name: why for name in changed if (why := obstacle(name)) is not None}
    told = {name: drive for name, drive in changed.items() if name not in kept}
    missing += [f"The drive of joint '{name}' was not written: {why}." for name, why in kept.items()]
    links = tuple(
        replace(link, theta=inertials[i], has_inertial=True) if i in inertials else link
        for i, link in enumerate(reference.links)
    )
    expected = replace(robot, links=links, drives=dict(reference.drives) | told, floor=reference.floor, **arrays)
    return Changes(inertials, joints, told, expected, tuple(rescaled), (*rescaled, *missing))


def com_form(theta):
    """Mass, centre of mass (3,) and inertia about it (3, 3) as they are written: rounding of the shift becomes zero."""
    mass, com, inertia = to_com_inertia(theta)
    return mass, com, np.where(np.abs(inertia) > _noise(theta), inertia, 0.0)


def _noise(theta) -> float:
    """Rounding that the shift to the centre of mass leaves in moments about it, kg m^2."""
    return float(16 * np.finfo(float).eps * np.abs(theta[4:]).max())


OPEN = 1e9  # a limit that stands for none in a file that needs one


def require_consistent(name: str, theta):
    """Raise ModelError for a body (10,) that no distribution of mass has; points, rods and plates are limits of
    some."""
    if np.isfinite(theta).all() and theta[0] > 0:
        inertia = to_com_inertia(theta)[2]
        spread = np.linalg.eigvalsh(0.5 * np.trace(inertia) * np.eye(3) - inertia)
        if spread[0] >= -NEGLIGIBLE * spread[-1] - _noise(theta):
            return
        found = f"smallest second moment about its centre of mass {spread[0]:.3g} kg m^2, and none is negative"
    else:
        found = f"mass {theta[0]:.6g} kg, which must be positive"
    raise ModelError(
        f"Body '{name}' cannot be written: no distribution of mass has its parameters ({found}). "
        "Fit with physical consistency (fit.consistent), or project the inertias first. Nothing was written."
    )


def divide(theta, body: int, reference: Robot, hosts) -> tuple[dict[int, np.ndarray], list[str]]:
    """Inertials (10,) by link of one body whose inertia became theta (10,), and a line where fixed links had to follow.
    hosts: as of `find_changes`."""
    links = reference.links
    riders = [i for i, link in enumerate(links) if link.body == body]
    receiver = _receiver(reference, body, riders, hosts)
    fixed = {i: links[i] for i in riders if i != receiver and links[i].theta.any()}
    changed, notes = {}, []
    if (largest := _largest_share(_total(fixed.values()), theta)) > 1 - SAME:
        changed, how = _follow(fixed, reference.inertias[body], theta, largest)
        masses = [f"{link.name} {link.theta[0]:.4g} -> {changed[i][0]:.4g} kg" for i, link in fixed.items()]
        notes.append(
            f"Links fixed to '{links[receiver].name}' cannot keep their inertials within the new one of body "
            f"'{reference.body_names[body]}' ({reference.inertias[body][0]:.4g} -> {theta[0]:.4g} kg with them): "
            f"{choices(masses)}; {how}."
        )
        fixed = {i: replace(link, theta=changed[i]) for i, link in fixed.items()}
    R, p = links[receiver].rotation, links[receiver].position
    changed[receiver] = transform(theta - _total(fixed.values()), R.T, -R.T @ p)
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


def _total(links: Iterable[Link]):
    return sum((transform(link.theta, link.rotation, link.position) for link in links), np.zeros(10))


def _largest_share(part, whole) -> float:
    """Largest eigenvalue of `J(whole)^-1 J(part)`: `whole - s part` is consistent for s below its inverse.

    Infinite where the part has extent in a direction in which the whole, a plate or rod, has none.
    """
    J, inside = pseudo.to_matrix(whole), pseudo.to_matrix(part)
    if not inside.any():
        return 0.0
    scale = np.sqrt(np.where(np.diag(J) > 0, np.diag(J), 1.0))
    values, vectors = np.linalg.eigh(J / np.outer(scale, scale))
    inside = vectors.T @ (inside / np.outer(scale, scale)) @ vectors
    full = values > NEGLIGIBLE
    if inside.diagonal()[~full].sum() > NEGLIGIBLE * np.trace(inside):
        return np.inf
    whiten = 1 / np.sqrt(values[full])
    return float(np.linalg.eigvalsh(inside[np.ix_(full, full)] * np.outer(whiten, whiten))[-1])


def _follow(fixed: dict[int, Link], old, new, largest: float) -> tuple[dict[int, np.ndarray], str]:
    """Inertias of fixed links, each in its frame, that leave a consistent rest of `new`, and how they were found.

    With upper triangular factors `J = U U^T`, `L = U_new U_old^-1` scales masses and maps space affinely. Taking every
    link of the body along it, `J_i -> L J_i L^T`, makes their sum `new` and keeps each consistent. It needs a
    consistent `old`; without one, the links are made light enough by a common factor.
    """
    try:
        L = _upper_factor(new) @ np.linalg.inv(_upper_factor(old))
    except np.linalg.LinAlgError:
        share = 0.5 / largest
        return {i: share * link.theta for i, link in fixed.items()}, f"they were scaled by {share:.6g}"
    moved = {i: _mapped(link, L) for i, link in fixed.items()}
    return moved, f"all were taken along one affine map, masses times {new[0] / old[0]:.6g}"


def _mapped(link: Link, L):
    """`J -> L J L^T` in the link's frame, L in the body's. Point masses, rods and plates are kept on the right side."""
    T = np.eye(4)
    T[:3, :3], T[:3, 3] = link.rotation, link.position
    L = np.linalg.inv(T) @ L @ T
    J = L @ pseudo.to_matrix(link.theta) @ L.T
    if J[3, 3] > 0:
        J[:3, :3] += ROUNDING * np.trace(J[:3, :3] - np.outer(J[:3, 3], J[:3, 3]) / J[3, 3]) * np.eye(3)
    return pseudo.to_parameters(J)


def _upper_factor(theta):
    """Upper triangular U (4, 4) with `J = U U^T`. Raises LinAlgError for an inconsistent theta (10,)."""
    return np.linalg.cholesky(pseudo.to_matrix(theta)[::-1, ::-1])[::-1, ::-1]


def _joint_changes(robot: Robot, reference: Robot, format: str, writable):
    """Changed properties by joint, the arrays as they will read back, and notes about what has no place."""
    changed: dict[str, dict[str, float]] = {}
    arrays, notes = {}, []
    for field in PROPERTIES:
        values, old, homeless = getattr(robot, field).copy(), getattr(reference, field), []
        followers = of_followers(reference.joints, field)
        for joint, at in zip(robot.joints, robot.v_slices, strict=True):
            if joint.mimics is not None or np.allclose(values[at], old[at], rtol=ROUNDING, atol=0.0):
                continue
            if not (np.isfinite(values[at]).all() and (values[at] >= 0).all()):
                raise ModelError(
                    f"Joint '{joint.name}' has {field} {values[at].tolist()}; expected finite numbers that are not "
                    "negative. Fit friction with fit.consistent, or correct it. Nothing was written."
                )
            own, below = values[at] - followers[at], [each for each in reference.joints if each.mimics == joint.name]
            if own.min() >= 0:  # that of followers stays in the file where it is
                below = []
            else:  # all of them have less, by one factor
                own = (old[at] - followers[at]) * values[at] / old[at]
            if all(writable(each, field) for each in (joint, *below)) and np.ptp(own) == 0:
                changed.setdefault(joint.name, {})[field] = float(own[0])
                for each in below:
                    changed.setdefault(each.name, {})[field] = float(getattr(each, field) * values[at][0] / old[at][0])
            else:
                homeless.append(joint.name)
                values[at] = old[at]
        arrays[field] = values
        if homeless:
            notes.append(f"{format} has no place for the {field} of {choices(homeless)}; it was not written.")
    return changed, arrays, notes


def unused(name: str, taken: Container[str]) -> str:
    """A name of a new element: with as many underscores behind it as make it differ from those that are taken."""
    while name in taken:
        name += "_"
    return name


@dataclass(frozen=True, eq=False)
class Draft:
    """Files of a model as they are to be written."""

    files: tuple[tuple[Path, bytes], ...]  # path and content, the model last, files it includes first
    expected: Robot  # as which they have to read back
    changed: tuple[str, ...]  # one line for each element that differs from the source
    notes: tuple[str, ...]  # what was not or not directly written
    suspects: tuple[str, ...] = ()  # settings of the file that may make it read back differently, for the message
    rescaled: tuple[str, ...] = ()  # as of `Changes`
    # of a new file, the robot in its frames and names, with all that a side file has to add; None: as it was
    whole: Robot | None = None
