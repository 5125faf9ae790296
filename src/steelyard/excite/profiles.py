"""What makers say their robots can do beyond what model files hold: accelerations, jerks and a pose to rest in.

Each number has its source beside it. Where a maker states none, the profile has none, and `Limits` its usual default.
"""

import re
from dataclasses import dataclass, replace

import numpy as np

from steelyard.errors import OptionError
from steelyard.excite.limits import Limits
from steelyard.model import Robot

QUARTER = np.pi / 2
HAND = re.compile("finger|gripper|hand|knuckle")  # in names of joints that no arm has


@dataclass(frozen=True, eq=False)
class Profile:
    """Limits and home of one make of robot, a number each for its `joints`, rad and s.

    name, title: as of `--profile`, and in words. velocity, acceleration, jerk: limits, None where the maker states
    none. position: (lower, upper) where the limits hold that the model's need not be.
    """

    name: str
    title: str
    model: str  # regular expression of the names of models, for robots whose joints are called alike
    joints: tuple[str, ...]  # regular expressions of the ends of the joints' names, in order
    velocity: tuple[float, ...]
    home: tuple[float, ...]  # pose to rest in
    source: str  # where the numbers come from
    acceleration: tuple[float, ...] | None = None
    jerk: tuple[float, ...] | None = None
    position: tuple[tuple[float, ...], tuple[float, ...]] | None = None

    def dofs(self, robot: Robot) -> list[int]:
        """Coordinates of v that are the profile's joints, in its order; empty where one has no or several."""
        arm = [i for i in robot.scalar_positions if not HAND.search(robot.dof_names[i])]
        found = [[i for i in arm if re.search(rf"(^|[\W_]){end}$", robot.dof_names[i])] for end in self.joints]
        return [one[0] for one in found] if all(len(one) == 1 for one in found) else []

    def recognises(self, robot: Robot) -> bool:
        """Whether a model's name and joints are those of this robot."""
        names = " ".join([robot.name, *robot.dof_names]).lower()
        return bool(re.search(self.model, names)) and bool(self.dofs(robot))

    def fill(self, robot: Robot, limits: Limits) -> Limits:
        """Limits with those of the profile where they say nothing themselves."""
        spread: dict = {
            name: self._spread(robot, getattr(self, name), np.inf) for name in ("velocity", "acceleration", "jerk")
        }
        if self.position is not None:
            spread["position"] = tuple(
                self._spread(robot, each, end) for each, end in zip(self.position, (-np.inf, np.inf), strict=True)
            )
        known = {name: each for name, each in spread.items() if each is not None and getattr(limits, name) is None}
        return replace(limits, **known)

    def others(self, robot: Robot) -> list[str]:
        """Joints that are not the profile's, such as a gripper's."""
        own = set(self.dofs(robot))
        return [
            j.name
            for j, at in zip(robot.joints, robot.v_slices, strict=True)
            if j.mimics is None and at.start not in own and j.nv
        ]

    def pose(self, robot: Robot, rest) -> np.ndarray:
        """(nv,) the home pose, other joints where `rest` (nv,) has them."""
        found = np.array(rest, dtype=float)
        found[self.dofs(robot)] = self.home
        return found

    def _spread(self, robot: Robot, values, others: float) -> np.ndarray | None:
        """(nv,) of one number a joint of the profile."""
        if values is None:
            return None
        found = np.full(robot.nv, others)
        found[self.dofs(robot)] = values
        return found


def _numbered(count: int) -> tuple[str, ...]:
    """Ends of joint names such as joint1, joint_1, J1 and A1."""
    return tuple(f"([Jj]oint_?|[JA]){k}" for k in range(1, count + 1))


def _degrees(*each: float) -> tuple[float, ...]:
    return tuple(np.radians(each).tolist())


FRANKA_HOME = (0.0, -QUARTER / 2, 0.0, -1.5 * QUARTER, 0.0, QUARTER, QUARTER / 2)  # libfranka, examples
UR_JOINTS = ("shoulder_pan", "shoulder_lift", "elbow", "wrist_1", "wrist_2", "wrist_3")
UR_JOINTS = tuple(f"{name}(_joint)?" for name in UR_JOINTS)
UR_HOME = (0.0, -QUARTER, 0.0, -QUARTER, 0.0, 0.0)  # "home" of a new installation
UR_SOURCE = (
    "speeds: UR user manuals, as in ur_description/config/*/joint_limits.yaml; accelerations: not published, those of "
    "ur_moveit_config/config/joint_limits.yaml"
)
IIWA_SOURCE = (
    "speeds: KUKA brochure 'Sensitive robotics LBR iiwa', p. 30; accelerations: Drake, iiwa_description/README.md "
    "(iiwa 14: measured by Larsen, Gothenburg 2019, table 4; iiwa 7: scaled by mass matrices)"
)


def _universal(name: str, title: str, velocity) -> Profile:
    """A UR of the e or the CB series: their joints have the same speeds."""
    model = rf"\b{name.removesuffix('e')}e?(\b|_)"
    return Profile(name, title, model, UR_JOINTS, velocity, UR_HOME, UR_SOURCE, (5.0,) * 6)


PROFILES = (
    Profile(
        "panda",
        "Franka Emika Panda",
        "panda",
        _numbered(7),
        velocity=(2.175, 2.175, 2.175, 2.175, 2.61, 2.61, 2.61),
        home=FRANKA_HOME,
        source="libfranka 0.9, include/franka/rate_limiting.h",
        acceleration=(15.0, 7.5, 10.0, 12.5, 15.0, 20.0, 20.0),
        jerk=(7500.0, 3750.0, 5000.0, 6250.0, 7500.0, 10000.0, 10000.0),
    ),
    Profile(
        "fr3",
        "Franka Research 3",
        "fr3",
        _numbered(7),
        # its speed limits fall towards the ends of each joint; these hold all over the range below
        velocity=(2.0, 1.0, 1.5, 1.25, 3.0, 1.5, 3.0),
        home=FRANKA_HOME,
        source="Franka control interface documentation, rectangular bounds of the FR3; libfranka, rate_limiting.h",
        acceleration=(10.0,) * 7,
        jerk=(5000.0,) * 7,
        position=(
            (-2.3093, -1.5133, -2.4937, -2.7478, -2.48, 0.8521, -2.6895),
            (2.3093, 1.5133, 2.4937, -0.4461, 2.48, 4.2094, 2.6895),
        ),
    ),
    _universal("ur3e", "UR3e", _degrees(180, 180, 180, 360, 360, 360)),
    _universal("ur5e", "UR5e", _degrees(180, 180, 180, 180, 180, 180)),
    _universal("ur10e", "UR10e", _degrees(120, 120, 180, 180, 180, 180)),
    _universal("ur16e", "UR16e", _degrees(120, 120, 180, 180, 180, 180)),
    *(
        Profile(
            f"xarm{count}",
            f"UFACTORY xArm {count}",
            model,
            _numbered(count),
            velocity=_degrees(*[180] * count),  # data sheet
            home=(0.0,) * count,  # move_gohome of the SDK
            source="speeds: UFACTORY data sheet; accelerations: xarm_ros2, xarm_moveit_config joint_limits.yaml",
            acceleration=(20.0,) * count,
        )
        for count, model in ((6, "xarm_?6"), (7, "xarm_?7|uf_robot"))
    ),
    Profile(
        "iiwa7",
        "KUKA LBR iiwa 7 R800",
        r"(iiwa|lbr|med)[ _-]*7\b|r800",
        _numbered(7),
        velocity=_degrees(98, 98, 100, 130, 140, 180, 180),
        home=(0.0,) * 7,  # the mechanical zero
        source=IIWA_SOURCE,
        acceleration=(8.65, 5.44, 5.69, 11.01, 11.78, 13.76, 13.17),
    ),
    Profile(
        "iiwa14",
        "KUKA LBR iiwa 14 R820",
        r"(iiwa|lbr|med)[ _-]*14|r820",
        _numbered(7),
        velocity=_degrees(85, 85, 100, 75, 130, 135, 135),
        home=(0.0,) * 7,
        source=IIWA_SOURCE,
        acceleration=(8.57, 8.57, 8.74, 11.36, 12.23, 15.72, 15.72),
    ),
)
NONE = "none"


def profile_for(robot: Robot, name: str | None = None) -> Profile | None:
    """Profile of a robot.

    Args:
        robot: read from a model file.
        name: of `PROFILES`, or "none"; by default the one that recognises the model's name and joints.

    Returns:
        The profile, None where none is known.

    Raises:
        OptionError: an unknown name, or one of a robot with other joints.
    """
    if name is None:
        return next((each for each in PROFILES if each.recognises(robot)), None)
    if name == NONE:
        return None
    found = next((each for each in PROFILES if each.name == name.lower()), None)
    if found is None:
        raise OptionError(f"No profile '{name}'; there are {', '.join(each.name for each in PROFILES)} and {NONE}.")
    if not found.dofs(robot):
        raise OptionError(
            f"Profile '{found.name}' is of a robot with {len(found.joints)} joints whose names end in "
            f"{', '.join(found.joints)}; '{robot.name}' has {', '.join(robot.dof_names)}. State the limits instead "
            "(--velocity, --acceleration, --jerk)."
        )
    return found
