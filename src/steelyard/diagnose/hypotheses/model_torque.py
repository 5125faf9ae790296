"""Torques that are those of the given links, without any friction or armature: a model's, and not a robot's."""

from collections.abc import Iterator

import numpy as np

from steelyard.diagnose.case import Case
from steelyard.diagnose.faults import Fault, fault
from steelyard.diagnose.given_links import GivenLinks
from steelyard.diagnose.thresholds import ALL

DRIVES = 0.01  # share of a joint's torque that friction and armature may make up; of real joints they make up more


def found(case: Case) -> Iterator[Fault]:
    """The fault, which nothing undoes."""
    if not len(case.dofs) or not case.energy.any():
        return
    given = GivenLinks(case)
    bare = np.sum((case.target - given.torque) ** 2, axis=1)
    drives = np.sqrt(np.maximum(case.shares(bare) ** 2 - case.shares(given.energy) ** 2, 0.0))[list(case.dofs)]
    if case.share(bare) > ALL or drives.max() > DRIVES:
        return
    yield fault(
        "model_torque",
        f"Torques are those of the given links to {case.share(bare):.2%}, and friction and armature make up "
        f"{drives.max():.2%} of a joint's at most: the model computed them, or a simulation with it.",
        relative_error=case.share(bare),
        drives=drives.max(),
    )
