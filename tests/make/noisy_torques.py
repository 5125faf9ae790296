"""One motion of a robot, recorded again and again with other torque noise: only the moments of its blocks change."""

from dataclasses import replace
from functools import cached_property
from itertools import pairwise

import numpy as np
from scipy.signal import lfilter

from steelyard import simulate
from steelyard.fit import model_parameters, predict
from steelyard.information import accumulate_blocks, chunk_rows, rows_of
from steelyard.information.model_discrepancy import shapes
from steelyard.log import Log

SETTLING = 500  # samples before the recording, in which filtered noise becomes stationary


class Repetitions:
    """Noisy repetitions of a motion of the robot `truth`, seen with the wrong model `prior`.

    level: noise over RMS torque of each joint.
    """

    def __init__(self, truth, prior, *, duration=20.0, rate=250.0, level=0.02, count=64, seed=0):
        t = np.arange(0.0, duration, 1 / rate)
        q, v, a = simulate.rich_motion(truth, duration=duration, seed=seed).evaluate(t)
        tau = predict(truth, q, v, a)
        self.log = Log(t=t, q=q, v=v, a=a, tau=tau, joint_names=truth.joint_names)
        blocks = accumulate_blocks(truth, self.log, count=count, armature=True)
        self.blocks = tuple(replace(block, robot=prior) for block in blocks)
        self.edges = np.cumsum([0, *(block.n for block in blocks)])
        self.robot, self.prior = truth, prior
        self.noise = level * np.sqrt(np.mean(tau**2, axis=0))
        self.parameters = model_parameters(truth, blocks[0].layout)
        self.base = blocks[0].basis.regroup(self.parameters)

    @cached_property
    def rows(self):
        """(g, n, r) base columns of every sample."""
        info, log = self.blocks[0], self.log
        rows = rows_of(self.robot, info.layout, info.columns)
        state = (log.q, log.v, log.a, log.tau, np.tanh(log.v / info.coulomb_width))
        Y = np.zeros((log.nv, len(log), info.basis.count))
        pairs = chunk_rows(self.robot, info.layout, info.coulomb_width, rows, [x.T for x in state])
        for dof, (y, _) in enumerate(pairs):
            Y[dof][:, rows[dof].places] = y.T
        return Y

    @cached_property
    def shapes(self):
        """(m, g, n) columns of what the model may lack."""
        return shapes(self.log, self.blocks[0].coulomb_width)

    def errors(self, rng, correlation=0.0):
        """(n, g) torque noise; correlation: of neighbouring samples."""
        white = rng.normal(size=(len(self.log) + SETTLING, self.log.nv))
        coloured = lfilter([np.sqrt(1 - correlation**2)], [1.0, -correlation], white, axis=0)
        return self.noise * coloured[SETTLING:]

    def with_errors(self, errors):
        """Informations of the blocks of one repetition."""
        return tuple(
            replace(
                block,
                moment=block.moment + np.einsum("gni,ng->gi", self.rows[:, i:j], errors[i:j]),
                energy=block.energy + np.sum(errors[i:j] * (2 * self.log.tau[i:j] + errors[i:j]), axis=0),
                discrepancy=replace(
                    block.discrepancy,
                    moment=block.discrepancy.moment + np.einsum("mgn,ng->gm", self.shapes[..., i:j], errors[i:j]),
                ),
            )
            for block, (i, j) in zip(self.blocks, pairwise(self.edges), strict=True)
        )
