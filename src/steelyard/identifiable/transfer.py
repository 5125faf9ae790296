"""What an experiment moves and measures, and the transfers of inertia across one joint that it cannot notice."""

from dataclasses import dataclass

import numpy as np


@dataclass(frozen=True)
class Experiment:
    """What moves and what is measured.

    dynamic: whether joints move, or only hold poses. joints: whether joint torques are measured (all of them).
    wrenches: nodes in front of whose joint a six-axis sensor sits, GROUND for one under the robot.
    """

    dynamic: bool = True
    joints: bool = True
    wrenches: tuple[int, ...] = ()


@dataclass(frozen=True, eq=False)
class Transfer:
    """Changes of parameters that go unnoticed as transfers across one joint (or cluster of joints).

    members, shares: nodes and the (10, d) changes of each. columns (e,), extras (e, d): changes of other parameters.
    parent: the node that (10, d) `received` is added to.
    """

    members: tuple[int, ...]
    shares: tuple[np.ndarray, ...]
    columns: np.ndarray
    extras: np.ndarray
    parent: int
    received: np.ndarray

    @property
    def count(self) -> int:
        return self.received.shape[1]
