"""Faults that checks of logs and their inspection find; part of the catalogue in `faults`."""

from functools import partial

from steelyard.diagnose.fault_record import FaultRecord


def _of_log(code: str, meaning: str, remedy: str, option: str = "", *, biases: bool = False) -> FaultRecord:
    """A warning about a log."""
    return FaultRecord(code, "log", "warning", meaning, remedy, option, biases=biases)


def _unusable(code: str, meaning: str, remedy: str, option: str = "", *, acceptable: bool = False) -> FaultRecord:
    """What a log cannot have."""
    return FaultRecord(code, "log", "fatal", meaning, remedy, option, acceptable)


_doubted = partial(_unusable, acceptable=True)  # as far as checks can tell: they may be wrong


def _of_inspection(code: str, meaning: str, remedy: str, option: str = "") -> FaultRecord:
    return FaultRecord(code, "inspection", "warning", meaning, remedy, option)


OF_LOGS = (
    _unusable("few_samples", "The log has fewer than 20 samples.", "Record a longer log."),
    _unusable(
        "not_finite",
        "A channel holds NaN or infinity.",
        "Leave these samples out: delete the lines, or select finite samples in Python.",
    ),
    _unusable("time_order", "Time goes back.", "Sort the samples, or split the file at each restart."),
    _unusable(
        "time_duplicate",
        "Time stands still.",
        "Keep one sample of each time stamp. Stamps in whole seconds or float32 were stored too coarsely: space "
        "samples evenly.",
        "--even-stamps",
    ),
    _unusable(
        "no_torque",
        "The log has no torque channel.",
        "Name the columns tau_JOINT, or say which they are; motor currents will do, with --drive-gains.",
        "--channels MAP",
    ),
    _unusable(
        "zero_torque",
        "Torque is zero in every sample of every joint.",
        "Check which columns hold the torque.",
        "--channels MAP",
    ),
    _doubted(
        "counts",
        "Positions are whole numbers that an encoder counts.",
        "Say how many rad a count is, and where zero lies.",
        "--unit q=VALUE",
    ),
    _doubted(
        "copied_torque",
        "Two joints that move differently have the same torques digit by digit.",
        "Say which column is whose, or record again.",
        "--channels MAP",
    ),
    _of_log(
        "computed_torque",
        "The torque was computed or asked for by a controller, not measured.",
        "Record measured torques, or motor currents; say which columns hold them.",
        "--channels MAP",
        biases=True,
    ),
    _of_log(
        "torque_register",
        "Torques are counts of servo registers, not N m.",
        "State N m per count of each joint, or let a fit find them up to a common factor.",
        "--drive-gains",
        biases=True,
    ),
    _of_log(
        "packed_sign",
        "Torques are whole numbers, never negative, as of registers that hold the direction in a bit.",
        "If they are, say which: bit10, bit15, int16 or int32.",
        "--unit tau=bit10",
        biases=True,
    ),
    _of_log(
        "zero_torque_joint",
        "Torque of one joint is zero in every sample.",
        "If the joint stood still, make it a fixed joint of the model.",
    ),
    _of_log(
        "coarse_torque",
        "Torque of one joint is told in steps as large as itself.",
        "None is needed for the other joints: it is left out. Record it finer if the drive can.",
    ),
    _of_log(
        "hanging_torque",
        "Torque of one joint stands still while the joint moves.",
        "None is needed for the other joints: it is left out. Look for what no longer refreshes it.",
    ),
    _doubted(
        "time_unit",
        "Time stamps are in ms, us or ns; a warning where only long steps suggest it.",
        "Say the unit of the stamps.",
        "--unit t=ms",
    ),
    _unusable(
        "no_velocity",
        "Positions hold quaternions, and there are no velocities.",
        "Record the twist [v; w] of a free base in its own axes, and the angular velocity of ball joints.",
    ),
    _doubted(
        "base_convention",
        "Pose and twist of a free base are in another convention.",
        "Say the convention that the finding names.",
        "--base CONVENTION",
    ),
    _unusable(
        "base_quaternion",
        "Columns 4 to 7 of q are no quaternion of the base.",
        "Write q as position in the world, quaternion x y z w, then the joints.",
    ),
    _of_log(
        "base_velocity",
        "The twist of a free base follows its pose in no convention.",
        "Check columns and clocks; v holds the twist [v; w] of the base in its own axes.",
    ),
    _doubted(
        "contact_late",
        "Flags of contact come too late or too early for the motion of the feet.",
        "Shift the flags by the samples that the finding names, or find contacts from the motion.",
        "--contacts auto",
    ),
    _doubted(
        "contact_in_flight",
        "Flags of contact are set while the foot flies.",
        "Check which foot the flags are of, and whether 0 means contact; or find contacts from the motion.",
        "--contacts auto",
    ),
    _doubted(
        "contact_never",
        "A foot carries the robot and its flag of contact is never set.",
        "Look at its sensor, or find contacts from the motion.",
        "--contacts auto",
    ),
    _doubted(
        "contact_missing",
        "A foot carries the robot and has no flags of contact, though others have.",
        "Add its column, or find contacts from the motion.",
        "--contacts auto",
    ),
    _doubted(
        "contact_unflagged",
        "Torques tell that feet carry the robot where they are taken to be free.",
        "Look at the flags. On soft ground, and where feet slip, motion does not show contacts: record flags.",
        "--contacts auto",
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
    _of_log(
        "contact_always",
        "Feet that never lift keep a mass at them, and the total mass, from sight.",
        "Lift each foot in some samples, measure its force, or weigh the robot.",
        "--mass all=KG",
    ),
    _doubted(
        "imu_gravity",
        "Accelerations of the inertial sensor are not in m/s^2, or without gravity.",
        "Correct its columns, or leave them out.",
    ),
    _doubted(
        "imu_axes",
        "The inertial sensor and the base's pose tell different motions.",
        "Give its columns in the axes of its frame, rates in rad/s; or leave them out.",
    ),
    _of_log(
        "imu_bias",
        "The inertial sensor is off the motion of the base by a constant, which is taken out.",
        "Calibrate it, and check its place in the model.",
    ),
    _of_log(
        "base_late",
        "The inertial sensor, or the recorded pose of a base, comes late against the encoders.",
        "Shift its columns, or stamp all channels by one clock.",
    ),
    _of_log(
        "imu_missing",
        "Accelerations of the base are derivatives of an estimated velocity, whose noise makes masses too small.",
        "Record an inertial sensor, or weigh the robot.",
        "--mass all=KG",
    ),
    _of_log(
        "imu_unused",
        "Inertial sensors that are not on the base are not used.",
        "None is needed.",
    ),
    _doubted(
        "wrapped_angle",
        "An angle jumps by a full turn.",
        "Unwrap it.",
        "--unwrap JOINT",
    ),
    _of_log(
        "degrees_suspected",
        "Most joints turn more than twice around, and nothing says that they do not.",
        "If q is in degrees, say so.",
        "--unit q=deg",
    ),
    _of_log("velocity_degrees", "Velocities are in degrees.", "Say so.", "--unit v=deg/s"),
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
        "frozen_stretch",
        "Everything repeats for a while although the robot moves.",
        "None is needed: these samples are cut out. Look for lost messages in driver and recorder.",
    ),
    _of_log(
        "zero_dropout",
        "Positions or torques are zero for up to three samples between values far from it.",
        "None is needed: these values are interpolated. Look for lost messages in driver and recorder.",
    ),
    _of_log(
        "spike",
        "Single torques are far from those on either side.",
        "None is needed: these values are interpolated. Look at the sensor and its wiring.",
    ),
    _of_log(
        "missing_torque",
        "Torques are no numbers (NaN).",
        "None is needed: they do not count. Look for lost messages in driver and recorder.",
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
    _unusable(
        "percent",
        "Positions of a gripper are in per cent of its travel.",
        "Convert them to rad or m, or lock the joint where it stood still.",
        "--scale q:JOINT=FACTOR",
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
    _of_inspection(
        "coarse_position",
        "At the usual cutoff, accelerations are over 4 % encoder steps.",
        "Log the motor's encoder rather than rounded values, or move faster.",
    ),
    _of_inspection(
        "noisy_position",
        "At the usual cutoff, accelerations are over 4 % noise.",
        "Log the motor's encoder, or move faster.",
    ),
    _of_inspection("idle_start", "No joint moves at the start of the log.", "Cut these samples off."),
    _of_inspection(
        "idle_end",
        "No joint moves at the end of the log, which is held out for validation.",
        "Cut these samples off, or hold out a smaller share.",
        "--validation SHARE",
    ),
)
