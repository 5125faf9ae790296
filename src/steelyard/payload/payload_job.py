"""`steelyard payload`: files in, a `Payload` with its signals out. The command line adds nothing but its options."""

from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np

from steelyard.cards import Card
from steelyard.dynamics import inverse_dynamics
from steelyard.dynamics.effects import friction_torque
from steelyard.errors import OptionError
from steelyard.log import Log, filters
from steelyard.model import Robot
from steelyard.payload.carried import joint_torques, predicted_wrench
from steelyard.payload.controller_formats import flange_of, in_axes_of
from steelyard.payload.from_torques import identify_from_torques
from steelyard.payload.from_wrenches import identify, prepared_log
from steelyard.payload.payload_estimate import Payload
from steelyard.payload.solid_shape import solid_of
from steelyard.payload.tool_calibration import calibrate
from steelyard.payload.wrench_log import WrenchLog
from steelyard.payload.wrench_reader import read_wrench_log
from steelyard.payload.wrench_sums import CHANNELS, DRIFT, UNITS
from steelyard.payload_request import Request
from steelyard.prepare.reading import read_logs
from steelyard.prepare.undo import corrected
from steelyard.report.known_model import Unstated, known_model
from steelyard.spatial import rotation_from_rpy


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


@dataclass(frozen=True, eq=False, repr=False)
class PayloadOutcome(Card):
    """What was found, what was measured beside what that explains, and the payload in the axes of the flange, in which
    controllers want it; the same where there is no arm."""

    payload: Payload
    signals: Signals
    at_flange: Payload


def identify_files(request: Request) -> PayloadOutcome:
    """Read the files of a request and identify the payload. Raises SteelyardError for what cannot be used."""
    for option, given in (("--frame", request.frame), ("--flange", request.flange)):
        if given is not None and request.arm is None:
            raise OptionError(f"{option} names a link of the arm: give --arm MODEL too")
    arm = None if request.arm is None else _known_arm(request)
    if request.torques:
        return _from_torques(request, arm)
    robot = None if arm is None else arm[0]
    tool = None if request.hand is None else calibrate(_read(request, request.hand, robot))
    log = _read(request, request.log, robot)
    found = identify(
        log,
        request.method,
        shape=_shape(request),
        tool=tool,
        bias=DRIFT if request.drift else request.bias,
        elsewhere=request.elsewhere,
        noise=request.noise,
    )
    fitted = prepared_log(log, request.method, tool=tool)
    return _outcome(request, robot, found, wrench_signals(fitted, found))


def _known_arm(request: Request):
    """The arm, what its file cannot state of its joints, and what it leaves without payload (`known_model`)."""
    job = request.job
    options = {"folders": job.folders, "arguments": job.arguments, "lock": job.lock}
    return known_model(request.arm, gravity=request.gravity, **options)


def _read(request: Request, path: str | Path, robot: Robot | None):
    return read_wrench_log(
        path,
        robot,
        frame=request.frame,
        axes=request.axes,
        gravity=None if robot is not None else request.gravity,
        negate=request.negate,
        channels=request.channels,
        corrections=request.job.corrections,
    )


def _shape(request: Request):
    if request.shape is None:
        return None
    pose = None
    if request.shape_pose is not None:
        placed = np.array(request.shape_pose)
        pose = rotation_from_rpy(placed[3:]), placed[:3]
    return solid_of(
        request.shape,
        scale=request.scale,
        pose=pose,
        pose_std=request.shape_pose_std,
        scale_std=request.scale_std,
        unseen=request.unseen,
    )


def _from_torques(request: Request, known) -> PayloadOutcome:
    if known is None:
        raise OptionError("--torques needs --arm, the model of the arm without payload or the folder of its result")
    if request.method != "auto":
        raise OptionError("--torques chooses its method by the shape alone; leave --method out")
    arm, unstated, error = known
    sources = [each for each in (request.log, request.hand) if each is not None]
    options = {"channels": request.channels, "corrections": request.job.corrections}
    arm, logs = read_logs(sources, arm, **options)
    logs = [corrected(arm, each, request.job.corrections) for each in logs]
    filtered, *empty = (_less(filters.differentiate(each, cutoff=request.cutoff), arm, unstated) for each in logs)
    found = identify_from_torques(
        arm,
        filtered,
        without=empty[0] if empty else None,
        frame=request.frame,
        shape=_shape(request),
        arm_error=error if error is None or len(error) == arm.nv else None,
    )
    found = replace(found, notes=(*filtered.notes, *found.notes))
    return _outcome(request, arm, found, torque_signals(arm, filtered, found, frame=request.frame))


def _less(log: Log, arm: Robot, unstated: Unstated) -> Log:
    """A log without the torques that a model file has no place for, such as offsets."""
    if not unstated:
        return log
    (tau,) = log.require("tau")
    less = log.replace(tau=tau - unstated.torques(arm, log))
    return less.noted(f"{', '.join(unstated.names)} of the result taken off")


def _outcome(request: Request, robot: Robot | None, found: Payload, signals: Signals) -> PayloadOutcome:
    """The result with its axes named, and the same in those of the flange."""
    if robot is None:
        found = replace(found, frame="the sensor")
        return PayloadOutcome(found, signals, found)
    frame = request.frame or robot.body_names[-1]
    found = replace(found, frame=frame)
    flange = request.flange or flange_of(robot, frame)
    return PayloadOutcome(found, signals, in_axes_of(found, robot, frame, flange))
