"""The sums by the compiled core: one pass over the samples, one set of sums a thread."""

import numpy as np

from steelyard import native
from steelyard.dynamics import fixed_poses
from steelyard.information.gram import Grams
from steelyard.information.regression_rows import effect_values, known_torque

TASK = 2048  # samples a task of the core, which has smaller blocks of its own


class Native:
    """Sums of the core, one set a share of the samples. Shares depend on their number alone, so that sums have
    the same bits on any number of threads."""

    def __init__(self, joints, grams: Grams):
        self.core, self.joints, self.grams = native.require_core(), joints, grams
        self.shares: list[np.ndarray] = []

    def add(self, *channels):
        channels = (*(np.asarray(x, dtype=float) for x in channels[:4]), *channels[4:])
        n = len(channels[0])
        count = min(native.MOST_THREADS, -(-n // TASK))
        self.shares += [np.zeros(self.joints.plan.gram_start[-1]) for _ in range(count - len(self.shares))]
        edges = np.linspace(0, n, count + 1).astype(int)
        jobs = list(zip(self.shares, edges[:-1], edges[1:], strict=False))
        if count == 1:
            self._share(channels, *jobs[0])
            return
        native.for_each(lambda job: self._share(channels, *job), jobs)

    def _share(self, channels, gram, begin, end):
        for start in range(begin, end, TASK):
            self._chunk(gram, *self.joints.part(channels, start, min(start + TASK, end)))

    def _chunk(self, gram, q, v, a, tau, direction, roots):
        joints = self.joints
        robot, layout, plan = joints.robot, joints.layout, joints.plan
        tau = tau - known_torque(robot, layout, v.T, a.T, direction.T).T
        values = effect_values(robot, layout, joints.coulomb_width, joints.rows, q.T, v.T, a.T, direction.T)
        rows = [row for each in values for row in each]
        effects = np.stack(rows) if rows else np.zeros((0, len(q)))
        poses = fixed_poses(robot, q)
        q, v, a, tau, roots = (None if x is None else np.ascontiguousarray(x) for x in (q, v, a, tau, roots))
        self.core.add_samples(plan.tree, plan.rows, q, poses, v, a, tau, effects, roots, gram)

    def unload(self):
        """What the core has in lower triangles, in an order and with a padding of its own."""
        if not self.shares:
            return
        flat, joints, plan = np.sum(self.shares, axis=0), self.joints, self.joints.plan
        place = np.full(joints.layout.size, -1)
        place[joints.kept] = np.arange(len(joints.kept))
        for dof, (own, row) in enumerate(zip(plan.own, joints.rows, strict=True)):
            size = plan.padded[dof]
            lower = np.tril(flat[plan.gram_start[dof] : plan.gram_start[dof + 1]].reshape(size, size))
            square = lower + np.tril(lower, -1).T
            bodies, whole = len(row.in_block), len(row.places)
            at = np.r_[np.searchsorted(row.places[:bodies], place[own]), bodies:whole]
            k, gram, moment = len(at), np.zeros((whole, whole)), np.zeros(whole)
            gram[np.ix_(at, at)], moment[at] = square[:k, :k], square[k, :k]
            self.grams.add_sums(dof, row.places, gram, moment, square[k, k])
        self.shares = []
