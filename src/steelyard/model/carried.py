"""Links that bodies carry in a new file: each keeps the inertial that it was read with, or its share of a new one."""

from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np

from steelyard.errors import choices
from steelyard.inertia import transform
from steelyard.model.changes import SAME, divide
from steelyard.model.compare import relative_difference
from steelyard.model.robot import WORLD, Link, Robot


@dataclass(frozen=True, eq=False)
class Carried:
    """own: by body, the link whose frame is the body's and whose name it has. fixed: by body, WORLD among them, the
    other links on it. notes: on inertials that are not those that were read. rescaled: of these, those of links that
    could not keep theirs within a new one of their body."""

    own: dict[int, Link]
    fixed: dict[int, tuple[Link, ...]]
    notes: tuple[str, ...]
    rescaled: tuple[str, ...]


def carried(robot: Robot, alone: Callable[[np.ndarray], bool] = lambda theta: True) -> Carried:
    """What each body carries.

    Args:
        robot: with the inertias that are to be written.
        alone: whether the format lets a fixed link have these inertial parameters (10,); where it does not, those of
            all links of its body are stated together.

    Returns:
        The Carried; the inertials of the links of a body add up to the body's.
    """
    links = list(robot.links)
    known = {link.name for link in links if link.body != WORLD}
    for body, name in enumerate(robot.body_names):
        if name not in known:  # of a robot that was not read from a file
            links.append(Link(name, body, np.eye(3), np.zeros(3), robot.inertias[body], True))
    whole = replace(robot, links=tuple(links), inertias=_sums(links, robot.nb))
    together, rescaled = [], []
    for body, theta in enumerate(robot.inertias):
        own = [i for i, link in enumerate(links) if link.body == body]
        if relative_difference(whole.inertias[body], theta) > SAME:
            parts, lines = divide(theta, body, whole, lambda link: True)
            rescaled += lines
            for i, part in parts.items():
                links[i] = replace(links[i], theta=part, has_inertial=True)
        if not all(alone(links[i].theta) for i in own if links[i].theta.any()):
            together.append(robot.body_names[body])
            for i in own:
                main = links[i].name == robot.body_names[body]
                links[i] = replace(links[i], theta=theta if main else np.zeros(10), has_inertial=main)
    lost = [i for i, link in enumerate(links) if link.body == WORLD and link.theta.any() and not alone(link.theta)]
    for i in lost:
        links[i] = replace(links[i], theta=np.zeros(10), has_inertial=False)
    notes = list(rescaled)
    if together:
        notes.append(f"Links on {choices(together)} have inertials that no body has alone; the sum is stated instead.")
    if lost:
        names = choices(links[i].name for i in lost)
        notes.append(f"Inertials of {names}, which stand still, are those of no body; they were not written.")
    own = {link.body: link for link in links if link.body != WORLD and link.name == robot.body_names[link.body]}
    fixed = {
        body: tuple(link for link in links if link.body == body and link is not own.get(body))
        for body in (WORLD, *range(robot.nb))
    }
    return Carried(own, fixed, tuple(notes), tuple(rescaled))


def _sums(links: list[Link], count: int) -> np.ndarray:
    """(count, 10) of the links of each body, in its frame."""
    total = np.zeros((count, 10))
    for link in links:
        if link.body != WORLD:
            total[link.body] += transform(link.theta, link.rotation, link.position)
    return total
