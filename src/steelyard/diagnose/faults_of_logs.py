"""Faults that checks of logs and their inspection find; part of the catalogue in `faults`."""

from steelyard.diagnose.fault_record import FaultRecord


def _of_log(code: str, meaning: str, remedy: str, *more) -> FaultRecord:
    """A warning about a log."""
    return FaultRecord(code, "log", "warning", meaning, remedy, *more)


OF_LOGS = (
    FaultRecord("few_samples", "log", "fatal", "The log has fewer than 20 samples.", "Record a longer log."),
    FaultRecord(
        "not_finite",
        "log",
        "fatal",
        "A channel holds NaN or infinity.",
        "Leave these samples out: delete the lines, or select finite samples in Python.",
    ),
    FaultRecord(
        "time_order", "log", "fatal", "Time goes back.", "Sort the samples, or split the file at each restart."
    ),
    FaultRecord("time_duplicate", "log", "fatal", "Time stands still.", "Keep one sample of each time stamp."),
    FaultRecord(
        "no_torque",
        "log",
        "fatal",
        "The log has no torque channel.",
        "Name the columns tau_JOINT, or say which they are; motor currents will do, with --drive-gains.",
        "--channels MAP",
    ),
    FaultRecord(
        "zero_torque",
        "log",
        "fatal",
        "Torque is zero in every sample of every joint.",
        "Check which columns hold the torque.",
        "--channels MAP",
    ),
    _of_log(
        "zero_torque_joint",
        "Torque of one joint is zero in every sample.",
        "If the joint stood still, make it a fixed joint of the model.",
    ),
    FaultRecord(
        "time_unit",
        "log",
        "fatal",
        "Time stamps are in ms, us or ns; a warning where only long steps suggest it.",
        "Say the unit of the stamps.",
        "--unit t=ms",
        acceptable=True,
    ),
    FaultRecord(
        "no_velocity",
        "log",
        "fatal",
        "Positions hold quaternions, and there are no velocities.",
        "Record the twist [v; w] of a free base in its own axes, and the angular velocity of ball joints.",
    ),
    FaultRecord(
        "base_convention",
        "log",
        "fatal",
        "Pose and twist of a free base are in another convention.",
        "Say the convention that the finding names.",
        "--base CONVENTION",
        acceptable=True,
    ),
    FaultRecord(
        "base_quaternion",
        "log",
        "fatal",
        "Columns 4 to 7 of q are no quaternion of the base.",
        "Write q as position in the world, quaternion x y z w, then the joints.",
    ),
    _of_log(
        "base_velocity",
        "The twist of a free base follows its pose in no convention.",
        "Check columns and clocks; v holds the twist [v; w] of the base in its own axes.",
    ),
    FaultRecord(
        "contact_late",
        "log",
        "fatal",
        "Flags of contact come too late or too early for the motion of the feet.",
        "Shift the flags by the samples that the finding names, or find contacts from the motion.",
        "--contacts auto",
        acceptable=True,
    ),
    FaultRecord(
        "contact_in_flight",
        "log",
        "fatal",
        "Flags of contact are set while the foot flies.",
        "Check which foot the flags are of, and whether 0 means contact; or find contacts from the motion.",
        "--contacts auto",
        acceptable=True,
    ),
    FaultRecord(
        "contact_never",
        "log",
        "fatal",
        "A foot carries the robot and its flag of contact is never set.",
        "Look at its sensor, or find contacts from the motion.",
        "--contacts auto",
        acceptable=True,
    ),
    FaultRecord(
        "contact_missing",
        "log",
        "fatal",
        "A foot carries the robot and has no flags of contact, though others have.",
        "Add its column, or find contacts from the motion.",
        "--contacts auto",
        acceptable=True,
    ),
    FaultRecord(
        "contact_unflagged",
        "log",
        "fatal",
        "Torques tell that feet carry the robot where they are taken to be free.",
        "Look at the flags. On soft ground, and where feet slip, motion does not show contacts: record flags.",
        "--contacts auto",
        acceptable=True,
    ),
    _of_log(
        "contact_slip",
        "Feet move while they stand: they slip. These samples are left out.",
        "Walk on ground that holds.",
    ),
    _of_log(
        "contact_soft",
        "Standing feet rise and sink: the ground is soft or uneven.",
        "Record flags of contact, and walk on hard, even ground.",
    ),
    FaultRecord(
        "wrapped_angle",
        "log",
        "fatal",
        "An angle jumps by a full turn.",
        "Unwrap it.",
        "--unwrap JOINT",
        acceptable=True,
    ),
    _of_log(
        "degrees_suspected",
        "Most joints turn more than twice around, and nothing says that they do not.",
        "If q is in degrees, say so.",
        "--unit q=deg",
    ),
    FaultRecord("velocity_degrees", "log", "warning", "Velocities are in degrees.", "Say so.", "--unit v=deg/s"),
    _of_log(
        "velocity_sign",
        "The velocity of a joint has the opposite sign of the rate of its position.",
        "Negate v of the joint.",
        "--scale v:JOINT=-1",
    ),
    _of_log(
        "velocity_scale",
        "The velocity of a joint is the rate of its position times a factor.",
        "Scale v of the joint.",
        "--scale v:JOINT=FACTOR",
    ),
    _of_log(
        "velocity_mismatch",
        "The velocity of a joint is not the rate of its position.",
        "Check that both columns are of one joint and one clock.",
    ),
    _of_log(
        "repeated_sample",
        "Samples repeat the one before while the robot moves, because the log was resampled.",
        "None is needed: identify drops the repeats and spaces the rest evenly (in Python filters.restamp).",
    ),
    _of_log(
        "clock_drift",
        "The clock of a recording's topic drifts against the recorder's.",
        'Read the stamps corrected: channels={{"t": "corrected"}}.',
        "--channels MAP",
    ),
    _of_log(
        "stamp_jitter",
        "Positions are smoother at even times than at their stamps.",
        "Take the stamps as even.",
        "--even-stamps",
    ),
    _of_log(
        "jitter",
        "Time steps spread by more than 5 % of their median.",
        "Stamp samples when they are taken, if the recorder can.",
    ),
    _of_log(
        "gap",
        "Some steps are longer than 5 median steps; nothing is interpolated across them.",
        "Look for lost messages in the recorder.",
    ),
    _of_log(
        "slow_logging",
        "Fewer than 25 samples a second: fast motion and reversals are aliased.",
        "Record at 500 Hz, or move slowly and for longer.",
    ),
    _of_log(
        "saturation",
        "Over 1 % of a joint's torques are exactly its extreme value: they look clipped.",
        "Leave these torques out, or drive the joint less hard.",
        "--saturation",
    ),
    _of_log(
        "limits",
        "Positions are outside the model's limits.",
        "Check the order of the joints and the zeros of their encoders.",
    ),
    _of_log(
        "still_joint",
        "A joint never moves (less than 0.001 rad or m): what only its motion shows cannot be identified.",
        "Record a motion in which it moves.",
    ),
    _of_log(
        "unsigned_current",
        "Currents are magnitudes: they never change their sign though joints move to and fro.",
        "Record signed currents, or identify from commands.",
        "--drive position",
    ),
    _of_log(
        "command_is_measured",
        "Commands are the measured positions, at once or a few samples later.",
        "Record the goals that were sent to the drives.",
    ),
    _of_log(
        "command_constant",
        "The command of a joint never changes.",
        "Record a motion that the joint takes part in.",
    ),
    _of_log(
        "sleeping_joint",
        "A joint was told to move and did not.",
        "Switch its drive on, or lock the joint where it stood still.",
        "--lock JOINT=VALUE",
    ),
    _of_log(
        "staggered_readout",
        "Joints are read one after another, and stamped alike.",
        "Stamp each joint when it is read, or shift its positions.",
    ),
    _of_log(
        "hit_end_stop",
        "A joint stands at one position again and again while its command goes on beyond it.",
        "Leave these samples out, or command less.",
    ),
    _of_log(
        "disabled_stretch",
        "A drive is switched off in a part of the log.",
        "Leave that part out; without torque it shows friction and gravity alone.",
    ),
    FaultRecord(
        "coarse_position",
        "inspection",
        "warning",
        "At the usual cutoff, accelerations are over 4 % encoder steps.",
        "Log the motor's encoder rather than rounded values, or move faster.",
    ),
    FaultRecord(
        "noisy_position",
        "inspection",
        "warning",
        "At the usual cutoff, accelerations are over 4 % noise.",
        "Log the motor's encoder, or move faster.",
    ),
    FaultRecord(
        "idle_start", "inspection", "warning", "No joint moves at the start of the log.", "Cut these samples off."
    ),
    FaultRecord(
        "idle_end",
        "inspection",
        "warning",
        "No joint moves at the end of the log, which is held out for validation.",
        "Cut these samples off, or hold out a smaller share.",
        "--validation SHARE",
    ),
)
