"""Thresholds of fits and of what is said of them: every number by which something is decided, and where it comes from.

Constants of one numerical loop (steps, tolerances of a solver) stand where that loop is.
"""

from dataclasses import dataclass


@dataclass(frozen=True)
class Thresholds:
    """Numbers by which fits decide. Ratios have no unit."""

    # Constraints and proofs
    eigenvalue: float = 1e-5
    """Smallest eigenvalue of a pseudo-inertia, relative to the prior's, of a body that can exist."""
    gives_way: float = 0.5e-5
    """How far a constraint gives way, relative to its size, to be named in a conflict: a mass that must vanish does."""
    accurate: float = 1e-6  # relative duality gap: parameters are then right to far below their standard deviations
    active: float = 1e-6  # depth of a constraint, in units of what it bounds, below which it is active

    # Noise and prior
    noise_floor: float = 1e-6
    """Noise over torque of a row: no sensor is better, and noise-free simulated logs would weigh infinitely."""
    few_equations: float = 2.0
    """Independent equations an identifiable combination: below, least squares follows the noise of some joints."""
    untold_noise: float = 0.01  # noise over RMS torque that is then assumed first; a fit with a prior finds what it is
    overfitted: float = 1.3
    """Factor between residuals and assumed noise: least squares had fitted what the constraints do not."""
    effect_spread: float = 10.0
    """Prior deviation of friction and armature, in RMS torques of the joint at unit speed or acceleration: wide enough
    to leave alone what the data shows, finite so that a joint that never moved keeps the model's values."""
    euclidean_pullback: float = 1e-8
    """Weight of a pullback prior beside a Euclidean one. To that a body of a gram weighs nothing: where data does not
    see it either, a fit would let it grow to tons for the smallest gain elsewhere."""
    thinnest: float = 1e-3  # smallest second moment of a prior, relative to the largest: thinner than any real link
    weak: float = 1e-8
    """Eigenvalue of the unit-diagonal Gram matrix of a weakly excited direction: a condition of 1e4 of the regressor,
    where noise drowns the direction."""

    # Rows without torque
    silent: float = 0.01
    """RMS torque over what the bodies make where they do not cancel, below which it is zero as far as a motion can
    tell: accelerations from encoders err by about a hundredth of their RMS."""
    ratio_bias: float = 2.5
    """Bias of ratios over the square of what homogeneous rows leave, in the same measure: it does not average out.
    Measured on flights of a leg whose motion errs by 0.1 to 5 %."""
    unmet: float = 0.2
    """What they leave in the same measure where that bias is a tenth: their torque was there, or motion is lost."""
    silent_residual: float = 1e-4
    """Residual in the same measure that the best of motions leave: rows without torque are never exact."""
    near_reference: float = 0.1
    """Change of the parameters in the same measure, below which the reference is good enough to judge by."""
    settled_reference: float = 1e-3  # change of the parameters in the same measure that needs no further reference
    lost_scale: float = 9.0
    """Weighted cost of taking the bodies away; below it their common factor is uncertain by more than a third."""

    # Uncertainty
    fewest_blocks: int = 4  # blocks of a log: fewer have next to no degrees of freedom
    correlated: float = 0.05
    """Correlation of neighbouring blocks that may stay: variances are then at most a tenth too small."""
    blocks_left: int = 12
    """Blocks that merging leaves: with fewer, lost degrees of freedom cost more than the correlation that is left."""
    by_chance: float = 0.05
    """Probability that a model that lacks nothing is doubted, and of naming a parameter that differs between runs
    although nothing changed."""
    alike: float = 0.01
    """Share of a column that the fitted ones leave, below which the data cannot tell it from them."""
    prior_share: float = 0.05
    """Largest share of a data-determined combination's variance that stems from the prior. A model that is wrong by as
    much as the prior allows for (140 % of a second moment) then moves the estimate by a fifth of its deviation."""
    model_share: float = 0.09
    """Largest square of what a discrepancy of the model shifts, over the variance: intervals of 95 % then hold 94 %."""
    gone_share: float = 0.3
    """Largest share of a variance that is gone once the model has what it lacks: intervals of 95 % hold 98 % then."""
    unmoved: float = 0.98  # share of the prior's variance that is left when data says nothing

    # Choices among models
    outlier: float = 0.3  # robust weight below which a sample is counted as an outlier
    weak_instrument: float = 0.1  # share of a column's energy that its instruments must explain
    links_share: float = 0.7
    """Share of a joint's current beside friction that the given links must explain to find its gain."""
    fixes_scale: float = 1e-6
    """Share of what is known that must lie outside of what is not, to fix the scale of drive gains."""


THRESHOLDS = Thresholds()
