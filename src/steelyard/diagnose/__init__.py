"""What is wrong, by name: torque contributions, residuals and tests for the common mistakes of models and logs."""

from steelyard.diagnose.case import Case, case_of, thinned, thinning
from steelyard.diagnose.contributions import EFFECTS, Contributions, contributions
from steelyard.diagnose.curves import Curves
from steelyard.diagnose.delay import Delays, delays
from steelyard.diagnose.finding import FATAL, Fault, fault
from steelyard.diagnose.hypothesis import lasting
from steelyard.diagnose.regression import Regression
from steelyard.diagnose.residuals import JointResidual, residuals
from steelyard.diagnose.run import Diagnosis, diagnose
from steelyard.diagnose.worth import expected_error, worth
from steelyard.diagnose.zeros import Zeros, zeros

__all__ = [
    "EFFECTS",
    "FATAL",
    "Case",
    "Contributions",
    "Curves",
    "Delays",
    "Diagnosis",
    "Fault",
    "JointResidual",
    "Regression",
    "Zeros",
    "case_of",
    "contributions",
    "delays",
    "diagnose",
    "expected_error",
    "fault",
    "lasting",
    "residuals",
    "thinned",
    "thinning",
    "worth",
    "zeros",
]
