"""Logs: read them, check them, filter them, split them, write them."""

from typing import TYPE_CHECKING

from steelyard.lazy import lazy
from steelyard.log import checks, filters
from steelyard.log.automatic_cutoff import (
    acceleration_noise,
    bandwidth,
    cutoff_for,
    highest_cutoff,
    quantum,
    torque_cutoff_for,
)
from steelyard.log.channels import DRIVE, WORDS, factor, held
from steelyard.log.checks import USUAL
from steelyard.log.false_samples import believable
from steelyard.log.findings import Finding, accepted, fatal, warning
from steelyard.log.free_base import convention_of, from_convention
from steelyard.log.kalman_kernel import (
    ACCELERATION_SPREAD,
    RATE_SPREAD,
    covariances,
    filter_rotation,
    filter_vector,
    track,
)
from steelyard.log.log import Log, independence_of
from steelyard.log.masks import clipped_sides, masked, saturated
from steelyard.log.motion_checks import full_turns
from steelyard.log.read import READERS, read_log
from steelyard.log.smoothers import BUTTERWORTH, derivatives, order_of
from steelyard.log.split import folds, joined, split_blocks
from steelyard.log.stamps import GAP, even_stamps, gaps, segments

if TYPE_CHECKING:
    from steelyard.log.csv import decoded, numbers
    from steelyard.log.csv_header import Head
    from steelyard.log.npz import members
    from steelyard.log.parquet import length
    from steelyard.log.table_columns import split_unit
    from steelyard.log.write import write_csv, write_npz

# Loaded on first use, as all readers and writers are.
__getattr__ = lazy(
    __name__,
    {
        **dict.fromkeys(("decoded", "numbers"), "csv"),
        "Head": "csv_header",
        "members": "npz",
        "length": "parquet",
        "split_unit": "table_columns",
        **dict.fromkeys(("write_csv", "write_npz"), "write"),
    },
)

__all__ = [
    "ACCELERATION_SPREAD",
    "BUTTERWORTH",
    "DRIVE",
    "GAP",
    "RATE_SPREAD",
    "READERS",
    "USUAL",
    "WORDS",
    "Finding",
    "Head",
    "Log",
    "acceleration_noise",
    "accepted",
    "bandwidth",
    "believable",
    "checks",
    "clipped_sides",
    "convention_of",
    "covariances",
    "cutoff_for",
    "decoded",
    "derivatives",
    "even_stamps",
    "factor",
    "fatal",
    "filter_rotation",
    "filter_vector",
    "filters",
    "folds",
    "from_convention",
    "full_turns",
    "gaps",
    "held",
    "highest_cutoff",
    "independence_of",
    "joined",
    "length",
    "masked",
    "members",
    "numbers",
    "order_of",
    "quantum",
    "read_log",
    "saturated",
    "segments",
    "split_blocks",
    "split_unit",
    "torque_cutoff_for",
    "track",
    "warning",
    "write_csv",
    "write_npz",
]
