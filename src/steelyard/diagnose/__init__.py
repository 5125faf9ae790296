"""What is wrong, by name: torque contributions, residuals and tests for the common mistakes of models and logs."""

from steelyard.diagnose.contributions import Contributions, contributions
from steelyard.diagnose.delay import Delays, delays
from steelyard.diagnose.finding import Fault
from steelyard.diagnose.residuals import JointResidual, residuals
from steelyard.diagnose.run import Diagnosis, diagnose
from steelyard.diagnose.zeros import Zeros, zeros

__all__ = [
    "Contributions",
    "Delays",
    "Diagnosis",
    "Fault",
    "JointResidual",
    "Zeros",
    "contributions",
    "delays",
    "diagnose",
    "residuals",
    "zeros",
]
