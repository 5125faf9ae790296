"""What a stage of the suite says of a robot."""

from dataclasses import dataclass, field

PASS, FAIL, GIVEN, REFUSED, LATE = STATUSES = ("pass", "FAIL", "as given", "refused", "too slow")


@dataclass(frozen=True)
class Outcome:
    """status: pass, FAIL (a number or an engine disagrees), as given (a fault of the model file, shown by the same
    failure without us), refused (by a message of ours), too slow.

    figures: what the table shows, by column. reason: of anything but a pass. seconds: processor time.
    """

    status: str
    figures: dict[str, str] = field(default_factory=dict)
    reason: str = ""
    seconds: float = 0.0


def judged(holds: bool, reason: str, **figures: str) -> Outcome:
    """A pass, or a failure for a reason."""
    return Outcome(PASS, figures) if holds else Outcome(FAIL, figures, reason)
