"""Steelyard: the inertial parameters of robots and of what they carry, from a model and recorded motion.

model + log -> information -> identifiability -> fit -> validated model + report
"""
