"""Held-out error of every joint."""

from steelyard.report.figures.pairs import pairs
from steelyard.report.record import record_of


def errors(run):
    """Held-out error of every joint over its torque, before and after, in percent. run: as of `torque`."""
    joints = record_of(run).summary["held_out"]["joints"]
    names = [joint["name"] for joint in joints]
    before, after = ([_percent(joint[f"relative_{key}"]) for joint in joints] for key in ("before", "after"))
    return pairs("Held-out error of each joint", "RMS error over RMS torque [%]", "%", names, before, after)


def _percent(share):
    return None if share is None else 100 * share
