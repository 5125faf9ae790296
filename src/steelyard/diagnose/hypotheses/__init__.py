"""Fine mistakes that may have been made, one a file: each undoes its mistake in a `Case`, and a fit judges the outcome.

A new one is a file here with its `Mistake`, and its place in `MISTAKES`.
"""

from steelyard.diagnose.hypotheses import coupled_joints, delay, passing_force

MISTAKES = (delay.MISTAKE, coupled_joints.MISTAKE)

__all__ = ["MISTAKES", "passing_force"]
