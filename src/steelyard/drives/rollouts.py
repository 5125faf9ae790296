"""How a model moves when it is told what the robot was told, beside how the robot moved."""

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from steelyard.arguments import require_type
from steelyard.cards import Card
from steelyard.drives.arrays import arrays_of
from steelyard.drives.drive import Drive
from steelyard.drives.free_base import moved
from steelyard.drives.simulation import Simulation
from steelyard.drives.window_errors import errors_of, levelled
from steelyard.drives.windows import stretches, windows_of
from steelyard.errors import OptionError
from steelyard.log import Log
from steelyard.log.walk_states import BaseStates
from steelyard.model import STEP, Robot
from steelyard.spatial import TWIST


@dataclass(frozen=True, eq=False, repr=False)
class Rollout(Card):
    """Motion of a model that was given the commands of a log.

    Attributes:
        t: (n,) times, s; those of the log but for rests that are shorter than a window.
        q: (n, nq) simulated positions, rad or m.
        error: (n, nv) simulated minus measured positions; of a free base in its own axes.
        commanded: (n, nv) error of a robot that is where it is told to be, None where commands are no positions.
        stays: (n, nv) error of a robot that stays where each window begins; free bases move on as they did there.
        joint_names: (nv,).
        window: s after which the simulation began anew; None: at gaps alone.
    """

    t: np.ndarray
    q: np.ndarray
    error: np.ndarray
    commanded: np.ndarray | None
    stays: np.ndarray
    joint_names: tuple[str, ...]
    window: float | None

    @cached_property
    def rmse(self) -> np.ndarray:
        """(nv,) root of the mean square error, rad or m."""
        return rms(self.error)

    def _title(self) -> str:
        pieces = "in one piece" if self.window is None else f"in windows of {self.window:g} s"
        return f"Rollout of {len(self.t)} samples {pieces}"

    def _rows(self):
        told = {name: f"{value:.4g}" for name, value in zip(self.joint_names, self.rmse, strict=True)}
        others = {"goes where commanded": self.commanded, "stays": self.stays}
        return told | {name: f"{np.sqrt(np.mean(e**2)):.4g}" for name, e in others.items() if e is not None}


def as_recorded(log: Log) -> BaseStates:
    """The state of a free base as it is in a log. Raises LogError: there is no v."""
    q, v = log.require("q", "v")
    size = np.repeat([1e-3, 5e-4, 1e-2, 3e-3], 3)  # m, rad, m/s, rad/s
    covariance = np.broadcast_to(np.diag(size**2), (len(log), 2 * TWIST, 2 * TWIST))
    return BaseStates(t=log.t, q=q, v=v, covariance=covariance, ground=np.zeros(len(log)), slope=np.zeros(2))


def rms(error) -> np.ndarray:
    """(nv,) of errors (n, nv)."""
    return np.sqrt(np.mean(np.square(error), axis=0))


def rollout(
    robot: Robot, log: Log, *, drives: Mapping[str, Drive] | None = None, window: float | None = None
) -> Rollout:
    """Simulate a robot in MuJoCo with the commands of a log.

    Args:
        robot: the model, with friction and armature.
        log: with q and what the drives take, one column a joint; of a robot on a free base with its pose and v, too.
        drives: by joint; None takes those of the model's actuators and side file.
        window: s after which the simulation starts anew from the measured state, as it does after gaps; None: never.

    Returns:
        The Rollout.

    Raises:
        LogError: the log lacks what a drive takes.
        ModelError: a robot whose joints cannot have one motor each.
        OptionError: joints whose drive is not known; a window that is not positive, or longer than the log.
    """
    require_type(Robot, robot=robot)
    require_type(Log, log=log)
    if window is not None and not 0 < window <= log.duration:
        raise OptionError(
            f"window={window}: a length in s, positive and no longer than the log ({log.duration:.3g} s)."
        )
    drives = robot.drives if drives is None else drives
    simulation, arrays = Simulation(robot, STEP), arrays_of(robot, drives)
    bases = [as_recorded(log)] if robot.floating else None
    windows = windows_of(stretches(robot, [log], drives, bases), simulation.step, window)
    arrays = levelled(simulation, windows, arrays)
    (error,) = errors_of(simulation, [windows], [arrays])
    return Rollout(
        t=windows.times,
        q=moved(windows.measured, error),
        error=error,
        commanded=windows.goes if arrays.follows_q[windows.base :].all() else None,
        stays=windows.idle,
        joint_names=robot.dof_names,
        window=window,
    )
