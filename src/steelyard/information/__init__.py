"""Information: all that a fit needs from data, and it adds."""

from steelyard.information.accumulation import Columns, accumulate
from steelyard.information.blocks import accumulate_blocks
from steelyard.information.contact_rows import without_forces
from steelyard.information.engines import CHUNK
from steelyard.information.files import (
    is_information,
    load_information,
    npz_bytes,
    packed,
    read_npz,
    require_shape,
    save_information,
    unpacked,
)
from steelyard.information.gram import Squares
from steelyard.information.model_discrepancy import DRIFT, NAMES
from steelyard.information.regression_rows import (
    Row,
    channels_of,
    chunk_rows,
    direction_of,
    known_torque,
    raw_columns,
    require_tree,
    rows_of,
    weights_of,
)
from steelyard.information.row_kinds import BASE, WRENCH, groups_of, kinds_of, link_of, sensors_of
from steelyard.information.samples import products, require_same_samples, residuals, reversal_weights
from steelyard.information.sums import Information

__all__ = [
    "BASE",
    "CHUNK",
    "DRIFT",
    "NAMES",
    "WRENCH",
    "Columns",
    "Information",
    "Row",
    "Squares",
    "accumulate",
    "accumulate_blocks",
    "channels_of",
    "chunk_rows",
    "direction_of",
    "groups_of",
    "is_information",
    "kinds_of",
    "known_torque",
    "link_of",
    "load_information",
    "npz_bytes",
    "packed",
    "products",
    "raw_columns",
    "read_npz",
    "require_same_samples",
    "require_shape",
    "require_tree",
    "residuals",
    "reversal_weights",
    "rows_of",
    "save_information",
    "sensors_of",
    "unpacked",
    "weights_of",
    "without_forces",
]
