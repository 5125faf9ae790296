"""A log with a bit of everything, and with names that are markup, quotes and other scripts."""

import numpy as np

from steelyard.log import Log

ODD_NAMES = ("<script>alert(1)</script>", "\"'&lt;<b>ü–✓ ", "肘[red]x[/red]")


def odd_log() -> Log:
    """Three joints at 200 Hz with noise, steps, jitter, a gap and an idle end."""
    rng = np.random.default_rng(0)
    t = np.cumsum(np.full(3000, 5e-3) * (1 + 0.02 * rng.normal(size=3000)))
    t[1800:] += 0.4
    swing = np.sin(2 * np.pi * t[:, None] * [0.4, 0.7, 0.3]) * np.where(t < 13, 1.0, 0.0)[:, None]
    q = np.round((swing + 1e-4 * rng.normal(size=swing.shape)) / [1e-9, 2e-3, 1e-9]) * [1e-9, 2e-3, 1e-9]
    return Log(t=t, q=q, tau=3 * swing + 0.01 * rng.normal(size=q.shape), joint_names=ODD_NAMES, name="a <i>log</i>")
