"""Words that files use for the channels of a log. The first word of each is Steelyard's own."""

WORDS = {
    "t": ("t", "time", "times", "timestamp", "timestamps", "time_stamp", "stamp", "stamps", "__time"),
    "q": ("q", "pos", "position", "positions", "joint_position", "joint_positions", "angle", "angles", "joint_angle"),
    "v": ("v", "qd", "dq", "qdot", "vel", "velocity", "velocities", "joint_velocity", "joint_velocities"),
    "a": ("a", "qdd", "ddq", "qddot", "acc", "accel", "acceleration", "accelerations", "joint_acceleration"),
    "tau": ("tau", "torque", "torques", "trq", "effort", "efforts", "joint_torque", "joint_torques", "joint_effort"),
}
WRENCH_WORD = "wrench_"  # in front of the name of a link, or of "base"
NAME_WORDS = ("joint_names", "names", "name", "joints", "joint_name", "joint")

#: word -> channel, longest words first, so that `joint_position_x` is not read as something shorter.
CHANNEL_OF = dict(sorted(((w, c) for c, words in WORDS.items() for w in words), key=lambda pair: -len(pair[0])))
