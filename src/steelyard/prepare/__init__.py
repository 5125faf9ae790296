"""Log and robot to data that fits can use: mistakes undone, checked, filtered, cleared, completed, in one order."""

from steelyard.corrections import NOTHING, Corrections, corrections_from
from steelyard.prepare.contact_checks import contact_faults, standing_faults
from steelyard.prepare.contact_flags import in_steady_contact, with_contacts
from steelyard.prepare.mistakes_by_fit import Clipped, load_word, settled, unclipped
from steelyard.prepare.prepared import (
    Prepared,
    filterable,
    prepare,
    spectral_cutoff,
    with_motion,
)
from steelyard.prepare.reading import (
    LogSide,
    lock_words,
    locks_of,
    log_side,
    log_side_path,
    read_logs,
    read_undone,
    write_log_side,
)
from steelyard.prepare.undo import corrected, left_out

__all__ = [
    "NOTHING",
    "Clipped",
    "Corrections",
    "LogSide",
    "Prepared",
    "contact_faults",
    "corrected",
    "corrections_from",
    "filterable",
    "in_steady_contact",
    "left_out",
    "load_word",
    "lock_words",
    "locks_of",
    "log_side",
    "log_side_path",
    "prepare",
    "read_logs",
    "read_undone",
    "settled",
    "spectral_cutoff",
    "standing_faults",
    "unclipped",
    "with_contacts",
    "with_motion",
    "write_log_side",
]
