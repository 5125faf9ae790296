"""Samples that judge: the end of every log, which no fit sees, and the torque errors of models on them."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from steelyard.fit import Estimate, validate
from steelyard.log import Log, joined, split_blocks
from steelyard.model import Robot


@dataclass(frozen=True)
class HeldOut:
    """Which samples of logs are fitted, and which judge.

    share: of each log, at its end, that judges.
    """

    share: float

    def parts(self, log: Log, gap: float = 0.0) -> tuple[Log, Log]:
        """The part of a log that is fitted and the one that judges. gap: s between them, over which filters and slow
        errors have a memory. Raises LogError where one would be empty."""
        return split_blocks(log, validation=self.share, gap=gap)

    def fitted(self, logs: Iterable[Log]) -> list[Log]:
        """The parts of logs that are fitted."""
        return [self.parts(log)[0] for log in logs]

    def judging(self, logs: Sequence[Log], gaps: Sequence[float] = ()) -> list[Log]:
        """The parts of logs that judge. gaps: of each log, as of `parts`."""
        return [self.parts(log, gap)[1] for log, gap in zip(logs, gaps or [0.0] * len(logs), strict=True)]

    def error(self, model: Estimate | Robot, logs: Sequence[Log]) -> float:
        """Torque error of a model over torque, on the parts of logs that judge."""
        return validate(model, together(self.judging(logs))).relative_error


def together(judging: Sequence[Log]) -> Log:
    """Samples that judge, as one log."""
    return joined(judging, name="held-out samples")
