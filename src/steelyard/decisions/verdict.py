"""Whether a result may be used: what its reasons for doubt allow. Each has a name; reports print them.

`good`: nothing was found. `care`: there are reasons to look at first. `keep`: one of them forbids the use.
"""

from collections.abc import Iterable
from dataclasses import dataclass

from steelyard.diagnose import Fault
from steelyard.log import Finding
from steelyard.numbers import plural

GOOD, USE = "good", "use"  # what a reason forbids
ADVICE = {
    "good": "{} may be used: {}.",
    "care": "{} may be used with care: look at these first.",
    "keep": "{} is not to be used until you know why: look at these first.",
}
PRAISE = {
    "The written model": "every link is physically consistent and nothing suspicious was found",
    "The model with its drives": "it moves as the robot did in motion it had not seen",
    "This motion": "what it shows is worth its time",
    "This log": "nothing is wrong with it",
    "This estimate": "it is of a body that can exist, and nothing suspicious was found",
}
MODEL, DRIVES, MOTION, LOG, ESTIMATE = PRAISE


@dataclass(frozen=True)
class Reason:
    """Something to look at. code: its name; words: for people; forbids: `good`, `use`, or nothing where it is empty."""

    code: str
    words: str
    forbids: str = GOOD


@dataclass(frozen=True)
class Verdict:
    """reasons: for doubt, in their order. of: what is judged, a key of `PRAISE`."""

    reasons: tuple[Reason, ...]
    of: str = MODEL

    @property
    def level(self) -> str:
        """`good`, `care` or `keep`."""
        forbidden = {each.forbids for each in self.reasons}
        return "keep" if USE in forbidden else "care" if GOOD in forbidden else "good"

    @property
    def advice(self) -> str:
        """What the level means, in a sentence."""
        return ADVICE[self.level].format(self.of, PRAISE[self.of])

    @property
    def words(self) -> tuple[str, ...]:
        """Those of the reasons."""
        return tuple(each.words for each in self.reasons)

    @property
    def forbidding(self) -> frozenset[str]:
        """Codes of the reasons that forbid the use."""
        return frozenset(each.code for each in self.reasons if each.forbids == USE)


def of_findings(findings: Iterable[Finding]) -> list[Reason]:
    """Reasons of findings, those of faults before others, one for all joints that have the same fault."""
    groups: dict[str, list[Finding]] = {}
    for finding in sorted(findings, key=lambda each: not isinstance(each, Fault)):
        groups.setdefault(finding.code, []).append(finding)
    return [Reason(code, _together(*group)) for code, group in groups.items()]


def _together(first: Finding, *others: Finding) -> str:
    joints = [each.joint for each in others if isinstance(each, Fault) and each.joint]
    if not others:
        return first.message
    if len(joints) < len(others):
        return f"{first.message} ({plural(len(others), 'finding')} more of this kind)"
    return f"{first.message} The same of {', '.join(joints)}."
