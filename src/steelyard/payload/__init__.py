"""What a robot holds: mass, centre of mass and inertia of an object from a wrist force-torque sensor (paper E)."""

from typing import TYPE_CHECKING

from steelyard.lazy import lazy
from steelyard.payload.carried import carried_log, joint_torques, predicted_wrench
from steelyard.payload.controller_formats import export, exports, in_frame, require_formats
from steelyard.payload.entropic import EntropicFits, entropic_fits
from steelyard.payload.from_torques import carried_information, identify_from_torques
from steelyard.payload.from_wrenches import identify
from steelyard.payload.methods import METHODS
from steelyard.payload.motion_signals import MotionNoise, PoseTracker, filter_motion, tune
from steelyard.payload.object_pose import Placement, locate
from steelyard.payload.online import Change, OnlineEstimator
from steelyard.payload.payload_estimate import Errors, Payload, Status, errors
from steelyard.payload.solid_shape import Solid, solid_of
from steelyard.payload.tool_calibration import Tool, calibrate, compensate
from steelyard.payload.wrench_faults import FINDINGS, diagnose
from steelyard.payload.wrench_log import WrenchLog
from steelyard.payload.wrench_reader import read_wrench_log
from steelyard.payload.wrench_sums import Observability, observability
from steelyard.payload_request import Request

if TYPE_CHECKING:
    from steelyard.payload.payload_job import Outcome, Signals, identify_files
    from steelyard.payload.payload_report import payload_view, unexplained, wrench, write_payload

# Loaded on first use: they bring the whole of reports.
__getattr__ = lazy(
    __name__,
    {
        **dict.fromkeys(("payload_view", "unexplained", "wrench", "write_payload"), "payload_report"),
        **dict.fromkeys(("Outcome", "Signals", "identify_files"), "payload_job"),
    },
)

__all__ = [
    "FINDINGS",
    "METHODS",
    "Change",
    "EntropicFits",
    "Errors",
    "MotionNoise",
    "Observability",
    "OnlineEstimator",
    "Outcome",
    "Payload",
    "Placement",
    "PoseTracker",
    "Request",
    "Signals",
    "Solid",
    "Status",
    "Tool",
    "WrenchLog",
    "calibrate",
    "carried_information",
    "carried_log",
    "compensate",
    "diagnose",
    "entropic_fits",
    "errors",
    "export",
    "exports",
    "filter_motion",
    "identify",
    "identify_files",
    "identify_from_torques",
    "in_frame",
    "joint_torques",
    "locate",
    "observability",
    "payload_view",
    "predicted_wrench",
    "read_wrench_log",
    "require_formats",
    "solid_of",
    "tune",
    "unexplained",
    "wrench",
    "write_payload",
]
