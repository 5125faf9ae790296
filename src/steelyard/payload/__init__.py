"""What a robot holds: mass, centre of mass and inertia of an object from a wrist force-torque sensor (paper E)."""

from typing import TYPE_CHECKING

from steelyard.lazy import lazy
from steelyard.payload import command
from steelyard.payload.batch import EntropicFits, entropic_fits
from steelyard.payload.carried import carried_log
from steelyard.payload.command import Outcome, Request
from steelyard.payload.diagnose import diagnose
from steelyard.payload.estimate import Payload, Status
from steelyard.payload.identify import METHODS, identify
from steelyard.payload.metrics import Errors, errors
from steelyard.payload.motion import MotionNoise, filter_motion, tune
from steelyard.payload.observability import Observability, observability
from steelyard.payload.online import Change, OnlineEstimator
from steelyard.payload.online_motion import PoseTracker
from steelyard.payload.read import read_wrench_log
from steelyard.payload.shape import Solid, solid_of
from steelyard.payload.signals import Signals
from steelyard.payload.tool import Tool, calibrate, compensate
from steelyard.payload.torques import carried_information, identify_from_torques
from steelyard.payload.vendors import export, in_frame
from steelyard.payload.wrench_log import WrenchLog

if TYPE_CHECKING:
    from steelyard.payload.report import write_payload
    from steelyard.payload.report_view import payload_view, unexplained, wrench

# Loaded on first use: they bring the whole of reports.
__getattr__ = lazy(
    __name__,
    {
        "payload_view": "report_view",
        "unexplained": "report_view",
        "wrench": "report_view",
        "write_payload": "report",
    },
)

__all__ = [
    "METHODS",
    "Change",
    "EntropicFits",
    "Errors",
    "MotionNoise",
    "Observability",
    "OnlineEstimator",
    "Outcome",
    "Payload",
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
    "command",
    "compensate",
    "diagnose",
    "entropic_fits",
    "errors",
    "export",
    "filter_motion",
    "identify",
    "identify_from_torques",
    "in_frame",
    "observability",
    "payload_view",
    "read_wrench_log",
    "solid_of",
    "tune",
    "unexplained",
    "wrench",
    "write_payload",
]
