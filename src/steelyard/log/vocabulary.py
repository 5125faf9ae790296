"""Words that files use for the channels of a log. The first word of each is Steelyard's own."""

_WRITTEN = {
    "t": "t time times timestamp timestamps time_stamp stamp stamps __time zeit",
    "q": "q pos position positions joint_position joint_positions angle angles joint_angle winkel",
    "v": "v qd dq qdot vel velocity velocities joint_velocity joint_velocities speed speeds geschwindigkeit",
    "a": "a qdd ddq qddot acc accel acceleration accelerations joint_acceleration beschleunigung",
    "tau": "tau torque torques trq effort efforts joint_torque joint_torques joint_effort drehmoment",
}
WORDS = {channel: tuple(words.split()) for channel, words in _WRITTEN.items()}
#: Words that say that a signal was measured, which no name of a joint needs.
MEASURED = ("actual", "act", "measured", "meas", "feedback", "ist")
#: Ends of a column's name that are its unit.
UNIT_ENDS = {"deg": "deg", "rad": "rad", "deg_s": "deg/s", "degs": "deg/s", "dps": "dps", "rpm": "rpm"}
UNIT_ENDS |= {"rad_s": "rad/s", "rads": "rad/s", "radps": "rad/s", "nm": "Nm", "mnm": "mNm"}
WRENCH_WORD = "wrench_"  # in front of the name of a link, or of "base"
NAME_WORDS = ("joint_names", "names", "name", "joints", "joint_name", "joint")

#: word -> channel, longest words first, so that `joint_position_x` is not read as something shorter.
CHANNEL_OF = dict(sorted(((w, c) for c, words in WORDS.items() for w in words), key=lambda pair: -len(pair[0])))
