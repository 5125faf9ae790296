"""What a robot holds: mass, centre of mass and inertia of an object from a wrist force-torque sensor (paper E)."""

from steelyard.payload.carried import carried_log, joint_torques, predicted_wrench
from steelyard.payload.controller_formats import export
from steelyard.payload.entropic import entropic_fits
from steelyard.payload.from_torques import identify_from_torques
from steelyard.payload.from_wrenches import identify
from steelyard.payload.grasps import GraspRanking, rank_grasps
from steelyard.payload.methods import METHODS
from steelyard.payload.motion_signals import MotionNoise, PoseTracker, filter_motion, tune
from steelyard.payload.object_pose import Placement, locate
from steelyard.payload.online import Change, OnlineEstimator
from steelyard.payload.payload_estimate import Errors, Payload, Status, errors
from steelyard.payload.solid_shape import Solid, solid_of
from steelyard.payload.tool_calibration import Tool, calibrate, compensate
from steelyard.payload.wrench_faults import diagnose
from steelyard.payload.wrench_log import WrenchLog
from steelyard.payload.wrench_reader import read_wrench_log
from steelyard.payload.wrench_sums import Observability, observability

__all__ = [
    "METHODS",
    "Change",
    "Errors",
    "GraspRanking",
    "MotionNoise",
    "Observability",
    "OnlineEstimator",
    "Payload",
    "Placement",
    "PoseTracker",
    "Solid",
    "Status",
    "Tool",
    "WrenchLog",
    "calibrate",
    "carried_log",
    "compensate",
    "diagnose",
    "entropic_fits",
    "errors",
    "export",
    "filter_motion",
    "identify",
    "identify_from_torques",
    "joint_torques",
    "locate",
    "observability",
    "predicted_wrench",
    "rank_grasps",
    "read_wrench_log",
    "solid_of",
    "tune",
]
