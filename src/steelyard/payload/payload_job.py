"""`steelyard payload`: files in, a `Payload` with its signals out. The command line adds nothing but its options."""

from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np

from steelyard.cards import Card
from steelyard.dynamics import friction_torque, inverse_dynamics
from steelyard.errors import OptionError
from steelyard.log import Log, filters
from steelyard.model import Robot, load
from steelyard.payload.carried_effort import joint_torques, predicted_wrench
from steelyard.payload.from_torques import identify_from_torques
from steelyard.payload.from_wrenches import identify, prepared_log
from steelyard.payload.payload_estimate import Payload
from steelyard.payload.solid_shape import solid_of
from steelyard.payload.tool_calibration import calibrate
from steelyard.payload.wrench_log import WrenchLog
from steelyard.payload.wrench_reader import read_wrench_log
from steelyard.payload.wrench_sums import DRIFT
from steelyard.prepare import read_undone
from steelyard.spatial import rotation_from_rpy

CHANNELS = ("fx", "fy", "fz", "nx", "ny", "nz")
UNITS = ("N", "N", "N", "N m", "N m", "N m")


@dataclass(frozen=True, eq=False, repr=False)
class Signals(Card):
    """t: (n,) s. measured, explained: (n, k) of the channels, what is not the payload's taken off."""

    t: np.ndarray
    names: tuple[str, ...]
    units: tuple[str, ...]
    measured: np.ndarray
    explained: np.ndarray

    @property
    def error(self) -> np.ndarray:
        """(n, k) measured less explained."""
        return self.measured - self.explained


def wrench_signals(log: WrenchLog, payload: Payload) -> Signals:
    """Forces and torques of a wrist sensor. log: as it was fitted, the tool taken off."""
    bias = np.zeros(6) if payload.bias is None else payload.bias
    bias = bias if payload.drift is None else bias + np.outer(log.t - log.t[0], payload.drift)
    return Signals(log.t, CHANNELS, UNITS, np.asarray(log.wrench), predicted_wrench(payload, log) + bias)


def torque_signals(arm: Robot, log: Log, payload: Payload, *, frame: str | None = None) -> Signals:
    """Joint torques beyond the arm's own. log: with q, v, a and tau, as it was fitted; frame: of the payload."""
    q, v, a, tau = log.require("q", "v", "a", "tau")
    direction = log.direction if log.direction is None else log.direction[:, : arm.nv]
    measured = tau - inverse_dynamics(arm, q, v, a) - friction_torque(arm, v, direction=direction)
    explained = joint_torques(arm, payload, q, v, a, frame=frame)
    units = tuple("N m" if np.any(c[3:]) else "N" for joint in arm.free_joints for c in joint.subspace.T)
    return Signals(log.t, arm.dof_names, units, measured, explained)


@dataclass(frozen=True)
class Request:
    """Options of one run; see `docs/command_line.md`."""

    log: Path
    method: str = "auto"
    shape: Path | None = None
    scale: float = 1.0
    shape_pose: tuple[float, float, float, float, float, float] | None = None
    shape_pose_std: tuple[float, float] | None = None
    arm: Path | None = None
    frame: str | None = None
    torques: bool = False
    cutoff: float = 10.0
    hand: Path | None = None
    bias: bool = False
    drift: bool = False
    axes: str = "sensor"
    negate: bool = False
    gravity: tuple[float, float, float] | None = None
    noise: tuple[float, float] | None = None
    elsewhere: bool = False
    folder: tuple[Path, ...] = ()


@dataclass(frozen=True, eq=False, repr=False)
class Outcome(Card):
    """What was found, and what was measured beside what that explains."""

    payload: Payload
    signals: Signals


def identify_files(request: Request) -> Outcome:
    """Read the files of a request and identify the payload.

    Args:
        request: files and options.

    Returns:
        The Outcome.

    Raises:
        SteelyardError: what cannot be used.
    """
    if request.torques:
        return _from_torques(request)
    if request.frame is not None and request.arm is None:
        raise OptionError("--frame names a link of the arm: give --arm MODEL too")
    tool = None if request.hand is None else calibrate(_read(request, request.hand))
    log = prepared_log(_read(request, request.log), request.method, tool=tool)
    found = identify(
        log,
        request.method,
        shape=_shape(request),
        bias=DRIFT if request.drift else request.bias,
        elsewhere=request.elsewhere,
        noise=request.noise,
        smooth=False,
    )
    return Outcome(found, wrench_signals(log, found))


def _read(request: Request, path: Path):
    robot = None if request.arm is None else load(request.arm, gravity=request.gravity, folders=request.folder)
    gravity = None if robot is not None else request.gravity
    return read_wrench_log(path, robot, frame=request.frame, axes=request.axes, gravity=gravity, negate=request.negate)


def _shape(request: Request):
    if request.shape is None:
        return None
    pose = None
    if request.shape_pose is not None:
        placed = np.array(request.shape_pose)
        pose = rotation_from_rpy(placed[3:]), placed[:3]
    return solid_of(request.shape, scale=request.scale, pose=pose, pose_std=request.shape_pose_std)


def _from_torques(request: Request) -> Outcome:
    if request.arm is None:
        raise OptionError("--torques needs --arm MODEL, the identified model of the arm without payload")
    if request.method != "auto":
        raise OptionError("--torques chooses its method by the shape alone; leave --method out")
    arm = load(request.arm, gravity=request.gravity, folders=request.folder)
    log = read_undone(request.log, arm)
    filtered = filters.differentiate(log, cutoff=request.cutoff)
    empty = None
    if request.hand is not None:
        empty = filters.differentiate(read_undone(request.hand, arm), cutoff=request.cutoff)
    found = identify_from_torques(
        arm,
        filtered,
        without=empty,
        frame=request.frame,
        shape=_shape(request),
    )
    found = replace(found, notes=(*filtered.notes, *found.notes))
    return Outcome(found, torque_signals(arm, filtered, found, frame=request.frame))
