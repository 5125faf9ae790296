"""Defaults of a run, kept apart from what uses them: the command line shows them without loading it."""

FRICTION = ("viscous", "coulomb", "offset")
SMOOTHER = "butterworth"
VALIDATION = 0.3  # share of every log held out
WEIGHT = 1.0  # of the given model as prior
REGULARIZER = "pullback"
REVERSAL_WEIGHT = 0.1  # of a sample at standstill
WITHIN = "geometry"
