"""The catalogue of faults: every code that a finding of a robot's log can have, each once.

Severity and remedy of what a diagnosis finds, the choices of `--accept`, and `docs/troubleshooting.md`
(`python -m tools.troubleshooting`) come from these records. A new fault is one record here, and a test that finds it.
"""

import shlex
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

from steelyard.diagnose.fault_record import FaultRecord, Severity
from steelyard.diagnose.faults_of_logs import OF_LOGS
from steelyard.log import Finding


def _diagnosis(
    code: str, severity: Severity, meaning: str, remedy: str, option: str = "", biases: bool = True
) -> FaultRecord:
    return FaultRecord(code, "diagnosis", severity, meaning, remedy, option, severity == "fatal", biases)


_OF_FITS = (
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
        "gravity_law",
        "fatal",
        "Torques follow gravity alone, as a gravity compensation commands them while someone moves the robot by hand.",
        "Record a motion that the robot's own drives make, with torques measured or commanded for it.",
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
        "joint_coordinates",
        "fatal",
        "Positions are not those of joints: in revolutions, to the horizontal, of parallel drives or of motors of a "
        "differential.",
        "Write positions, and torques with them, as joints have them.",
        "--unit q:JOINT=rev",
    ),
    _diagnosis(
        "joint_gear",
        "fatal",
        "One joint has a gear or belt that its position and torque leave out, or has it no more.",
        "Correct the gear ratio in the driver, or q, v and tau of {joint} in the log.",
        "--scale q:JOINT=0.5 --scale tau:JOINT=2",
    ),
    _diagnosis(
        "clock",
        "fatal",
        "Time stamps run slower or faster than the robot moved, as of a replay.",
        "Record while the robot moves, or multiply stamps by the exact speed of the replay: torques tell it to 5 %.",
        "--scale t:all=FACTOR",
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
        "--unit tau=mNm, --drive-gains or --scale tau:all=FACTOR",
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
        "coupled_joints",
        "warning",
        "Two joints feel each other's speed, as joints that share a motor or a gear do.",
        "`identify` takes their motor in where held-out samples are predicted better with it.",
        "--coupling JOINT+JOINT",
    ),
    _diagnosis(
        "model_torque",
        "warning",
        "Torques are those of the given links, without friction in any joint: computed or simulated, not measured.",
        "Log measured torques. Of a simulation with this model nothing else is to be expected.",
        biases=False,
    ),
    _diagnosis(
        "passing_load",
        "warning",
        "A link carries something for part of the log.",
        "Identify without that stretch, or without the load; `steelyard payload` finds what was carried.",
        "--leave-out FROM:TO",
    ),
    _diagnosis(
        "passing_force",
        "warning",
        "A force acts on a link for part of the log, as of a contact or of a hand.",
        "Identify without that stretch, or record the motion in free space.",
        "--leave-out FROM:TO",
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
)
RECORDS = (*_OF_FITS, *OF_LOGS)
CATALOGUE: Mapping[str, FaultRecord] = {each.code: each for each in RECORDS}
FATAL = frozenset(each.code for each in RECORDS if each.origin == "diagnosis" and each.severity == "fatal")
"""Codes of faults of a diagnosis that make the identified masses meaningless."""
ACCEPTABLE = frozenset(each.code for each in RECORDS if each.acceptable)
"""Codes of fatal findings that `--accept` goes on in spite of."""


@dataclass(frozen=True)
class Fault(Finding):
    """A fault of model or log that a diagnosis found.

    joint: the degree of freedom it concerns, None for all. evidence: the figures behind it, by name, with the unit in
    the name. remedy: what to do; the message ends with it.
    """

    joint: str | None = None
    evidence: Mapping[str, float] = field(default_factory=dict)
    remedy: str = ""


def fault(
    code: str,
    found: str,
    remedy: str = "",
    *,
    joint: str | None = None,
    options: Iterable[str] = (),
    **evidence: float,
) -> Fault:
    """A fault of the catalogue.

    Args:
        code: of its record, which says how severe it is.
        found: what the data says, in a sentence with figures.
        remedy: where it depends on what was found; by default that of the record.
        joint: the degree of freedom it concerns.
        options: of the command line, that undo it.
        evidence: the figures behind it, by name, with the unit in the name.
    """
    record, words = CATALOGUE[code], tuple(options)
    remedy = remedy or record.remedy.format(joint=joint)
    remedy = f"{remedy} Option: {shlex.join(words)}" if words else remedy
    return Fault(
        code=code,
        severity=record.severity,
        message=f"{found} {remedy}",
        options=words,
        joint=joint,
        evidence={name: float(value) for name, value in evidence.items()},
        remedy=remedy,
    )
