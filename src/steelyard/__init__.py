"""Steelyard: the inertial parameters of robots and of what they carry, from a model and recorded motion."""
