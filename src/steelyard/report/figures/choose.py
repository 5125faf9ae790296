"""Which joint a figure is of."""

from steelyard.errors import OptionError, choices
from steelyard.report.record import Record


def joint_place(record: Record, joint: str | int) -> tuple[int, dict]:
    """Index of a joint, and what the summary says of its held-out error. Raises OptionError."""
    joints = record.summary["held_out"]["joints"]
    names = [each["name"] for each in joints]
    if isinstance(joint, str) and joint in names:
        joint = names.index(joint)
    if not isinstance(joint, int) or not -len(names) <= joint < len(names):
        raise OptionError(f"There is no joint {joint!r}. Choose from {choices(names)}, or an index below {len(names)}.")
    joint %= len(names)
    if ("torque", joint, "measured") not in record.curves:
        raise OptionError(
            "This result has no curves.npz, so torques cannot be drawn. Run the identification again with --out."
        )
    return joint, joints[joint]
