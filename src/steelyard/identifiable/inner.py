"""Armature, offsets and spins of a joint: unknowns of its momentum condition beside the ten of its body."""

import numpy as np

from steelyard.identifiable.mechanism import NO_COLUMN, Mechanism
from steelyard.identifiable.transfer import Experiment


class Inner:
    """Armature, spins and offsets of one joint as unknowns beside its body's ten.

    columns (e,): theirs. lumps (10, e): what the carrier holds of each spin. acts (e,): which coordinate of the joint
    each acts on; armatures (e,): which are armatures. felt (e, 7): coefficient on the parent's V; own (e,): on the
    joint's own motion.
    """

    def __init__(self, mechanism: Mechanism, experiment: Experiment, node, spins):
        entries, none = [], np.zeros(10)
        for place, k in enumerate(node.coordinates):
            armature, offset = mechanism.term_columns["armature"][k], mechanism.term_columns["offset"][k]
            if armature != NO_COLUMN and experiment.joints and experiment.dynamic:
                entries.append((armature, none, place, np.zeros(7), 1.0))
            if offset != NO_COLUMN and experiment.joints:
                entries.append((offset, none, place, np.eye(7)[6], 0.0))
            for spin in spins:
                if spin.coordinate == k:
                    felt = np.concatenate([np.zeros(3), spin.axis / spin.ratio, [0.0]])
                    entries.append((spin.columns[3], spin.lump[:, 3], place, felt, 1.0))
        self.count = len(entries)
        self.columns = np.array([e[0] for e in entries], dtype=int)
        self.lumps = np.array([e[1] for e in entries]).reshape(-1, 10).T
        self.acts = np.array([e[2] for e in entries], dtype=int)
        self.felt = np.array([e[3] for e in entries]).reshape(-1, 7)
        self.own = np.array([e[4] for e in entries])
        self.armatures = np.isin(self.columns, mechanism.term_columns["armature"])

    def rows(self, momentum_rows, V, place):
        """Momentum rows (r, 10) of coordinate `place`, with the unknowns' coefficients (r, e) of extended columns V."""
        return np.concatenate([momentum_rows, V[7:].T * (self.acts == place)], axis=1)
