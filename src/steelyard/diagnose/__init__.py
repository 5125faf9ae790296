"""What is wrong, by name: torque contributions, residuals and tests for the common mistakes of models and logs."""

from steelyard.diagnose.diagnosis import Diagnosis, diagnose
from steelyard.diagnose.faults import Fault
from steelyard.diagnose.hypotheses.delay import delays
from steelyard.diagnose.hypotheses.position_offset import position_offsets
from steelyard.diagnose.joint_residuals import residuals
from steelyard.diagnose.torque_contributions import contributions

__all__ = [
    "Diagnosis",
    "Fault",
    "contributions",
    "delays",
    "diagnose",
    "position_offsets",
    "residuals",
]
