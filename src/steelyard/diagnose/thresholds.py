"""Thresholds that several tests of a diagnosis share (docs/diagnosis.md has the measurements)."""

EVIDENCE = 9.0  # nats in all: noise alone wins that much in 2e-5 of all tests of one number (chi-square)
CERTAIN = 4.25  # standard deviations: the same 9 nats, of one figure
MOST = 0.5  # share of the unexplained energy that a cause leaves, at most, to be one
NEARLY_ALL = 0.1  # the same where much of the torque stays unexplained
NOISE = 1.5  # times as long as noise that a residual may stay alike to be called noise
UNPHYSICAL = 1.0  # nats a sample by which a fit free of physics is better, above which something is wrong
RANK = 1e-7  # of the largest singular value at unit columns: what is smaller no sample shows
POOR = 0.1  # share of the torque that a posterior leaves, above which gross mistakes are looked for
ALL = 0.05  # share of the torque that the given links alone may leave where they explain it, by noise of positions
OTHER = 1.0  # lambda of a link, below which its second moments differ from the file's by their own size
