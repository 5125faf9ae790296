"""Thresholds of the analysis of identifiability, in one record."""

from dataclasses import dataclass


@dataclass(frozen=True)
class Thresholds:
    """Numbers that decide. Sizes are those of unit vectors in a mechanism's units unless stated otherwise."""

    # A direction sticks out of a span: geometry is exact to rounding, so this is far below anything real.
    rank: float = 1e-10
    # The same, relative, where conditions are sampled: they mix sizes and gears, so rounding shows at 1e-12.
    sampled_rank: float = 1e-9
    # Relative singular value of a random regression with unit columns. Dependence shows at 1e-14; bent axes of files
    # that write pi as 3.1416 show at 1e-10, which no experiment could tell from dependence.
    numeric_rank: float = 1e-8
    # Share of an extra column that other columns must leave over for it to count as independent.
    independent_extra: float = 1e-8
    # Angles [rad], or offsets in characteristic lengths, taken as zero: below what can be built, above file rounding.
    axis_rounding: float = 1e-4
    # Change of an axis that is rounding of the arithmetic itself.
    unchanged_axis: float = 1e-14
    # A direction that sticks out less counts, but may be the rounding of a file: then nearly special relations of axes
    # are made exact and the analysis is done again. Small angles that are meant survive that.
    suspicious: float = 2e-4
    # Share of a unit null vector that a column must carry to count as dependent on the columns before it.
    dependent_share: float = 1e-5
    # Growth of parameters by the choice of base columns: Gram matrices square it, and have sixteen digits.
    largest_growth: float = 1e4
    # Share of a null vector that a column then carries at least to be expressed by the others.
    stable_share: float = 0.1
    # Coefficient of a unit vector that is what rounding leaves of zero.
    negligible: float = 1e-9
    # Coefficient below which a column takes no part in a shared motor.
    negligible_in_motor: float = 1e-6
    # Columns of a dense random regression; above, a decomposition takes minutes and gigabytes.
    most_dense_columns: int = 2500
    # Relative singular value of a regressor with unit columns. A Gram matrix keeps half the digits: zero is 1e-8.
    excited: float = 3e-8
    # Below, a hundredth of a percent of noise drowns the direction.
    weakly_excited: float = 1e-4


THRESHOLDS = Thresholds()
