"""Fine mistakes that may have been made, one a file: each undoes its mistake in a `Case`, and a fit judges the outcome.

A new one is a file here whose `hypotheses` are those of a case that are believed, if none wins more, in `MISTAKES`.
"""

from steelyard.diagnose.hypotheses import coupled_joints, delay, passing_force

MISTAKES = (delay.hypotheses, coupled_joints.hypotheses)

__all__ = ["MISTAKES", "passing_force"]
