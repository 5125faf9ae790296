"""Blocks of a log add up to the whole."""

import numpy as np
import pytest

from steelyard.errors import OptionError
from steelyard.information import accumulate, accumulate_blocks
from steelyard.log import Log
from steelyard.model import library


def random_arm_log(robot, samples, seed=0):
    rng = np.random.default_rng(seed)
    q, v, a, tau = rng.normal(size=(4, samples, robot.nv))
    return Log(t=np.arange(samples) * 0.01, q=q, v=v, a=a, tau=tau, joint_names=robot.joint_names)


@pytest.mark.parametrize("samples, count, expected", [(200, 8, 8), (201, 8, 8), (5, 8, 5)])
def test_blocks_add_up(samples, count, expected):
    robot = library.scara()
    log = random_arm_log(robot, samples)
    log = log.replace(bandwidth=0.25 * log.rate)
    blocks = accumulate_blocks(robot, log, count=count, armature=True)
    whole, total = accumulate(robot, log, armature=True), sum(blocks)
    assert len(blocks) == expected and max(b.n for b in blocks) - min(b.n for b in blocks) <= 1
    np.testing.assert_allclose(total.gram, whole.gram, rtol=1e-10, atol=1e-10)
    np.testing.assert_allclose(total.moment, whole.moment, rtol=1e-10, atol=1e-10)
    assert total.n == samples and total.independence == pytest.approx(0.5)


def test_blocks_never_cross_logs():
    robot = library.scara()
    logs = [random_arm_log(robot, 50, seed=1), random_arm_log(robot, 70, seed=2)]
    blocks = accumulate_blocks(robot, iter(logs), count=4)
    first, second = (accumulate(robot, log) for log in logs)
    np.testing.assert_allclose(sum(blocks[:4]).moment, first.moment, atol=1e-10)
    np.testing.assert_allclose(sum(blocks[4:]).moment, second.moment, atol=1e-10)


def test_a_single_block_is_refused():
    robot = library.scara()
    with pytest.raises(OptionError, match="at least 2"):
        accumulate_blocks(robot, random_arm_log(robot, 50), count=1)
