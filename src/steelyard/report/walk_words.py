"""What a walk shows of a robot and what it does not, in words, with the motion that would."""

from collections.abc import Iterator, Sequence
from itertools import combinations

import numpy as np

from steelyard.cards import SEVERAL
from steelyard.drives.motion_fit import MotionFit
from steelyard.drives.refinement import SHARED, SHARED_MORE
from steelyard.errors import choices
from steelyard.model import Robot

OPEN = 0.5  # of the prior's standard deviation, above which a number rests on the prior
TOGETHER = 0.9  # correlation from which on two numbers are not told apart
PARTS = (("mass", slice(0, 1)), ("centre of mass", slice(1, 4)), ("inertia", slice(4, 10)))
GROUND = ("friction", "softness")
NAMES = {"frictionloss": "friction loss"}
MORE = (
    "Motion of the legs in the air (base held, --fixed), of each joint at several speeds, tells armature from the "
    "inertia of legs, and friction loss from damping; squats and sways of the trunk on standing feet show its inertia."
)
UNPROVEN = (
    "Intervals, draws and ranges of walks are not proven, nor how mass is shared between trunk and limbs: windows "
    f"share what contacts and the simulation get wrong. They are {SHARED:g} times as wide as windows alone say, "
    f"{SHARED_MORE:g} times of armatures, dampings and softness of the ground, and span the answer with limbs as in "
    "the model; in 24 simulated walks whose gains were those of the file they hold 1,276 of 1,345 numbers of joints."
)


def walk_words(fit: MotionFit, robot: Robot) -> Iterator[str]:
    """Sentences on what a walk shows.

    Args:
        fit: to the motion of a robot that walks.
        robot: the model.

    Returns:
        The sentences.
    """
    named = dict(_numbers(fit, robot))
    before, after = fit.refined.unknowns.prior(fit.refined.x)[1], fit.covariance
    left = {name: np.sqrt(np.mean(np.diag(after)[own] / np.diag(before)[own])) for name, own in named.items()}
    shown = [name for name, share in left.items() if share < OPEN]
    hidden = [name for name, share in left.items() if share >= OPEN]
    if shown:
        yield f"The walk shows {choices(shown)}."
    if hidden:
        yield f"It hardly shows {choices(hidden)}: these rest on the given model."
    pairs = list(_pairs(after, named))
    if pairs:
        yield f"Not told apart, so that only both together are known: {'; '.join(pairs)}."
    if hidden or pairs:
        yield MORE


def _numbers(fit: MotionFit, robot: Robot) -> Iterator[tuple[str, np.ndarray]]:
    """Names of what was found, each with its coordinates."""
    unknowns = fit.refined.unknowns
    alone = [[dof] for dof in robot.driven_dofs if not any(dof in group for group in unknowns.groups)]
    for key in unknowns.free:
        for group in (*unknowns.groups, *alone):
            yield f"{NAMES.get(key, key)} of {_alike([robot.dof_names[dof] for dof in group])}", unknowns.of(key)[group]
    first = unknowns.of_bodies.start
    bodies: np.ndarray = np.any(unknowns.bodies, axis=2)
    for own in dict.fromkeys(tuple(np.flatnonzero(each).tolist()) for each in bodies):
        names = [robot.body_names[body] for body in own]
        for part, columns in PARTS:
            some = unknowns.bodies[:, own[0], columns].any(axis=1)
            if some.any():
                yield f"{part} of {_alike(names)}", first + np.flatnonzero(some)
    for k, what in enumerate(GROUND, unknowns.of_bodies.stop + 1):  # behind its height
        yield f"{what} of the ground", np.array([k])


def _alike(names: Sequence[str]) -> str:
    return names[0] if len(names) == 1 else f"{names[0]} and its like"


def _pairs(covariance: np.ndarray, named: dict[str, np.ndarray]) -> Iterator[str]:
    size = np.sqrt(np.diag(covariance))
    alike = np.abs(covariance / np.outer(size, size))
    found = {(a, b): alike[np.ix_(named[a], named[b])].max() for a, b in combinations(named, 2)}
    for pair in sorted(found, key=lambda pair: -found[pair])[:SEVERAL]:
        if found[pair] > TOGETHER:
            yield " and ".join(pair)
