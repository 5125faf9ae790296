"""Recursive identification: a consistent estimate after every sample or chunk, from sums that forget."""

import numpy as np
from numpy.typing import ArrayLike

from steelyard.arguments import require_type
from steelyard.errors import OptionError
from steelyard.fit.cone_program import consistent
from steelyard.fit.estimate import Estimate
from steelyard.information import Information, accumulate
from steelyard.log import Log
from steelyard.model import Robot


class RecursiveEstimator:
    """Sums of all samples so far, older ones counting less, and the consistent fit to them with the robot as prior.

    Every estimate is the global optimum that `consistent` finds and certifies; what the samples do not excite stays at
    the prior. This object changes with each `update`.
    """

    def __init__(
        self, robot: Robot, *, noise: ArrayLike, memory: float | None = None, friction=(), armature: bool = False
    ):
        """Start from a model.

        Args:
            robot: prior of all parameters.
            noise: (nv,) standard deviations of the torques, N m or N, or one for all.
            memory: samples after which data counts 1/e; None never forgets.
            friction: terms that are identified, too, as of `accumulate`.
            armature: whether it is identified, too.

        Raises:
            OptionError: noise or memory is not positive.
        """
        require_type(Robot, robot=robot)
        self.noise = _positive(noise, robot.nv)
        if memory is not None and not memory >= 1:
            raise OptionError(f"memory={memory!r}: expected 1 sample or more, or None to never forget.")
        self.robot = robot
        self.memory = memory
        self.columns = {"friction": tuple(friction), "armature": armature}
        self.information: Information | None = None

    def update(self, q: ArrayLike, v: ArrayLike, a: ArrayLike, tau: ArrayLike) -> Estimate:
        """The estimate with further samples.

        Args:
            q: (nq,) positions, rad or m, or (n, nq) of a chunk.
            v: (nv,) or (n, nv) velocities.
            a: (nv,) or (n, nv) accelerations.
            tau: (nv,) or (n, nv) torques, N m or N.

        Returns:
            The Estimate; its status says how well the samples so far excite the robot.

        Raises:
            SteelyardError: samples of other widths, or that are not finite; they leave the sums as they were.
        """
        q, v, a, tau = (np.atleast_2d(np.asarray(x, dtype=float)) for x in (q, v, a, tau))
        log = Log(t=np.arange(len(q), dtype=float), q=q, v=v, a=a, tau=tau, name="update")
        new = accumulate(self.robot, log, **self.columns).as_gram()
        if self.information is not None:
            past = self.information
            new = (past if self.memory is None else past.discounted(float(np.exp(-len(q) / self.memory)))) + new
        estimate = consistent(new, prior=self.robot, noise=self.noise)
        self.information = new
        return estimate


def _positive(noise: ArrayLike, count: int):
    found = np.broadcast_to(np.asarray(noise, dtype=float), (count,)) if np.size(noise) in (1, count) else None
    if found is None or not (np.isfinite(found) & (found > 0)).all():
        raise OptionError(f"noise is a positive standard deviation, or one for each of {count} torques; got {noise!r}.")
    return found
