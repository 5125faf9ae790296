"""What can be known of a robot's inertial parameters: the table, the base parameters, and one link in words.

    python examples/20_identifiability.py                     # the MIT Cheetah 3 leg, with its motors
    python examples/20_identifiability.py robot.urdf LINK     # your robot, and one of its links

It needs no log: the answer follows from the kinematics and holds for every motion.
"""

import argparse

from steelyard.identifiable import identifiability
from steelyard.model import library, load


def main(arguments=None):
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("model", nargs="?", help="a URDF or MJCF file")
    parser.add_argument("link", nargs="?", help="the link to explain, the first by default")
    parser.add_argument("--floating", action="store_true", help="let the base move freely")
    options = parser.parse_args(arguments)
    robot = load(options.model) if options.model else library.cheetah3_leg()
    base = "floating" if options.floating else None
    idn = identifiability(robot, base=base, motors=bool(robot.rotors))

    print(idn.table())
    print("\nBase parameters:")
    for expression in idn.expressions():
        print(f"  {expression}")
    print()
    print(idn.explain(options.link or robot.body_names[0]))

    print("\nThe same joints in other experiments:")
    for words, changed in (
        ("standing still", {"motion": "static"}),
        ("a wrench sensor under the robot and no torque sensors", {"sensors": "base"}),
        ("both", {"sensors": ("joints", "base")}),
        ("a base that moves freely", {"base": "floating"}),
    ):
        other = identifiability(robot, **({"base": base} | changed))
        print(f"  {words}: {other.count} combinations of {other.size}")


if __name__ == "__main__":
    main()
