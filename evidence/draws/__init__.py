"""Random robots, bodies, logs and fits of the suites that draw their cases."""
