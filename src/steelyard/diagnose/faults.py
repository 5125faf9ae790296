"""The catalogue of faults: every code that a finding of a robot's log can have, each once.

Severity and remedy of what a diagnosis finds, the choices of `--accept`, and `docs/troubleshooting.md`
(`python -m tools.troubleshooting`) come from these records. A new fault is one record here, and a test that finds it.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal

Severity = Literal["fatal", "warning"]
Origin = Literal["diagnosis", "log", "inspection"]


@dataclass(frozen=True)
class FaultRecord:
    """What is known of a kind of fault.

    code: as findings have it. origin: what finds it: the diagnosis of a fit, the checks of a log, or its inspection.
    severity: `fatal` where masses identified in spite of it would be meaningless; checks of logs are milder where they
    are not sure. meaning: one sentence. remedy: what to do; `{joint}` stands for the joint that it concerns. option: of
    the command line, that undoes it; empty where none does. acceptable: whether `--accept CODE` goes on in spite of it.
    biases: whether parameters identified in spite of it are other than the robot's.
    """

    code: str
    origin: Origin
    severity: Severity
    meaning: str
    remedy: str
    option: str = ""
    acceptable: bool = False
    biases: bool = False


def _diagnosis(
    code: str, severity: Severity, meaning: str, remedy: str, option: str = "", biases: bool = True
) -> FaultRecord:
    return FaultRecord(code, "diagnosis", severity, meaning, remedy, option, severity == "fatal", biases)


def _of_log(code: str, meaning: str, remedy: str, *more) -> FaultRecord:
    """A warning about a log."""
    return FaultRecord(code, "log", "warning", meaning, remedy, *more)


RECORDS = (
    _diagnosis(
        "degrees",
        "fatal",
        "Joint angles are in degrees.",
        'Convert q (and v) to radians, or read the log with units={{"q": "deg"}}.',
        "--unit q=deg",
    ),
    _diagnosis(
        "gravity",
        "fatal",
        "Gravity points another way in the model than at the robot.",
        "Correct the pose of the robot's base, or gravity.",
        "--gravity X Y Z",
    ),
    _diagnosis(
        "gravity_compensated",
        "fatal",
        "Torques hold no gravity, or part of it, because a controller took it off.",
        "Log torques before gravity compensation, or give the model that the controller takes gravity from "
        "(--gravity-model MODEL).",
        "--gravity-compensated, --gravity-model MODEL or --gravity 0 0 0",
    ),
    _diagnosis(
        "torque_sign",
        "fatal",
        "The torque of one joint has the opposite sign.",
        "Negate tau of {joint} in the log.",
        "--scale tau:JOINT=-1",
    ),
    _diagnosis(
        "torque_sign_all",
        "fatal",
        "Every torque has the opposite sign, as of a load that the joint feels.",
        "Negate tau in the log.",
        "--scale tau:all=-1",
    ),
    _diagnosis(
        "position_sign",
        "fatal",
        "The position of one joint has the opposite sign.",
        "Negate q (and v, a) of {joint} in the log, or turn the joint's axis around in the model.",
        "--scale q:JOINT=-1",
    ),
    _diagnosis(
        "joint_direction",
        "fatal",
        "One joint turns the other way in the log than in the model: its position and torque are both negated.",
        "Negate q (and v, a) and tau of {joint} in the log, or turn the joint's axis around in the model.",
        "--scale JOINT=-1",
    ),
    _diagnosis(
        "joint_order",
        "fatal",
        "Columns of the log belong to other joints: of positions, of torques or of both.",
        "Name the columns rightly.",
        "--order JOINT,JOINT,...",
    ),
    _diagnosis(
        "motor_current",
        "fatal",
        "Each joint's torque is in a unit of its own, as motor currents and motor-side torques are.",
        "Multiply by torque constant and gear ratio of each drive (--scale tau:JOINT=FACTOR), or have the gains found, "
        "best with a further log that carries a known load (--load LINK=KG:LOG); without, the nominal model's masses "
        "decide.",
        "--drive-gains",
    ),
    _diagnosis(
        "torque_unit",
        "fatal",
        "Every torque is off the nominal model's by one common factor.",
        "Check the unit of tau (N mm, per cent of the rated torque, motor current, motor side of the gear).",
        "--unit tau=mNm or --scale tau:all=FACTOR",
    ),
    _diagnosis(
        "torque_scale",
        "warning",
        "The torque of one joint disagrees with the other joints about the links that it moves, by a factor.",
        "Check gear ratio, torque constant and unit of {joint}.",
        "--scale tau:JOINT=FACTOR",
    ),
    _diagnosis(
        "delay",
        "warning",
        "Torques come later or earlier than the motion.",
        "Shift tau against q before identification, or record both with one clock.",
        "--delay JOINT=S or --delay auto",
    ),
    _diagnosis(
        "position_offset",
        "warning",
        "The zero of a joint's encoder is elsewhere than in the model.",
        "Check the encoder's zero, or add it to q.",
        "--offset JOINT=RAD",
    ),
    _diagnosis(
        "gravity_tilt",
        "warning",
        "The base leans by half a degree or more.",
        "Level the base, or say where gravity points.",
        "--gravity X Y Z",
    ),
    _diagnosis(
        "coupled_joints",
        "warning",
        "Two joints feel each other's speed, as joints that share a motor or a gear do.",
        "Identify the motor that they share.",
        "--coupling JOINT+JOINT",
    ),
    _diagnosis(
        "joint_spring",
        "warning",
        "A spring, a compensator or a stiff cable pulls a joint to a rest position.",
        "Estimate it beside the links: in Python accumulate(robot, log, springs=['{joint}']).",
    ),
    _diagnosis(
        "payload",
        "warning",
        "One link alone is heavier than in the model.",
        "Is something mounted on it? Add it to the model, or identify without it.",
    ),
    _diagnosis(
        "missing_mass",
        "warning",
        "One link alone is lighter than in the model.",
        "Is a part missing that the model has? Remove it from the model.",
    ),
    _diagnosis(
        "reversal_friction",
        "warning",
        "The torque error of a joint is larger at standstill and reversals than elsewhere.",
        "Leave slow samples out (identify --reversal-weight 0), or record a motion that turns less often.",
        "--reversal-weight 0",
        biases=False,
    ),
    _diagnosis(
        "record_longer",
        "warning",
        "Torques are clipped or samples few, so that the log does not show what a longer one would.",
        "Record so many times as long as the finding says, at 500 Hz, or at a speed that reaches no limit.",
        biases=False,
    ),
    _diagnosis(
        "model_class",
        "warning",
        "Rigid links with this friction leave much of the torque, and the residual is no noise.",
        "Look for what the model lacks (gravity compensator, coupled joints, elastic gears, other kinematics) or "
        "for a mistake in the log that has no name here.",
        biases=False,
    ),
    _diagnosis(
        "not_physical",
        "warning",
        "A fit without physical consistency is far better, for no reason that has a name.",
        "Check signs, frames and kinematics of the model against the robot; the named tests found none of the "
        "common mistakes.",
    ),
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
CATALOGUE: Mapping[str, FaultRecord] = {each.code: each for each in RECORDS}
FATAL = frozenset(each.code for each in RECORDS if each.origin == "diagnosis" and each.severity == "fatal")
"""Codes of faults of a diagnosis that make the identified masses meaningless."""
ACCEPTABLE = frozenset(each.code for each in RECORDS if each.acceptable)
"""Codes of fatal findings that `--accept` goes on in spite of."""
