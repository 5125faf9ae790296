"""What is known of a kind of fault."""

from dataclasses import dataclass
from typing import Literal

Severity = Literal["fatal", "warning"]
Origin = Literal["diagnosis", "log", "inspection", "payload"]


@dataclass(frozen=True)
class FaultRecord:
    """What is known of a kind of fault.

    code: as findings have it. origin: what finds it: the diagnosis of a fit, the checks of a log, its inspection, or
    the identification of a payload.
    severity: `fatal` where masses identified in spite of it would be meaningless; checks of logs are milder where they
    are not sure. meaning: one sentence. remedy: what to do; `{joint}` stands for the joint that it concerns. option: of
    the command line, that undoes it; empty where none does. acceptable: whether `--accept CODE` goes on in spite of it.
    biases: whether parameters identified in spite of it are other than the robot's.
    """

    code: str
    origin: Origin
    severity: Severity
    meaning: str
    remedy: str
    option: str = ""
    acceptable: bool = False
    biases: bool = False
