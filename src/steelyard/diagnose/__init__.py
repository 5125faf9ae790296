"""What is wrong, by name: torque contributions, residuals and tests for the common mistakes of models and logs."""

from steelyard.diagnose.added_columns import lasting
from steelyard.diagnose.case import Case, case_of, thinned, thinning
from steelyard.diagnose.diagnosis import Diagnosis, diagnose
from steelyard.diagnose.fault_record import FaultRecord, Severity
from steelyard.diagnose.faults import ACCEPTABLE, CATALOGUE, FATAL, Fault, fault
from steelyard.diagnose.fisher_information import expected_error, information_loss
from steelyard.diagnose.hypotheses.delay import Delays, delays
from steelyard.diagnose.hypotheses.position_offset import PositionOffsets, position_offsets
from steelyard.diagnose.joint_residuals import JointResidual, residuals
from steelyard.diagnose.regression import Regression
from steelyard.diagnose.torque_contributions import EFFECTS, Contributions, contributions
from steelyard.diagnose.torque_curves import Curves

__all__ = [
    "ACCEPTABLE",
    "CATALOGUE",
    "EFFECTS",
    "FATAL",
    "Case",
    "Contributions",
    "Curves",
    "Delays",
    "Diagnosis",
    "Fault",
    "FaultRecord",
    "JointResidual",
    "PositionOffsets",
    "Regression",
    "Severity",
    "case_of",
    "contributions",
    "delays",
    "diagnose",
    "expected_error",
    "fault",
    "information_loss",
    "lasting",
    "position_offsets",
    "residuals",
    "thinned",
    "thinning",
]
