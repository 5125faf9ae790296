"""Design a motion, record it, identify, and design the next one for what is still weak.

    python examples/50_excitation.py              # the PUMA 560
    python examples/50_excitation.py robot.urdf   # your robot

The robot is simulated in MuJoCo with perfect sensors; white noise is added to its torques.
"""

import argparse
from dataclasses import replace

import numpy as np

import steelyard as sy

DURATION, RATE = 6.0, 1000.0


def main(arguments=None):
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("model", nargs="?", help="a URDF or MJCF file")
    options = parser.parse_args(arguments)
    robot = sy.load(options.model) if options.model else sy.library.puma560()
    rng = np.random.default_rng(0)

    def recorded(design):
        log = sy.simulate.record(robot, design, sensors=sy.simulate.PERFECT).truth
        return sy.accumulate(robot, replace(log, tau=log.tau + design.goal.noise * rng.normal(size=log.tau.shape)))

    first = sy.excite.design(robot, DURATION, rate=RATE)
    print(first.explain())
    info = recorded(first)
    second = sy.excite.design(robot, DURATION, rate=RATE, after=info, noise=first.goal.noise)
    print(f"\nCondition number {first.condition:.3g}, with a second motion {second.condition:.3g}.")
    for name, made, sums in (("first", first, info), ("both", second, info + recorded(second))):
        promised = np.sqrt(np.mean(np.diag(made.data_covariance)))
        found = np.sqrt(np.mean(np.diag(sy.fit.least_squares(sums).covariance)))
        print(f"{name}: RMS deviation of the base parameters, promised {promised:.4g}, found {found:.4g}")


if __name__ == "__main__":
    main()
