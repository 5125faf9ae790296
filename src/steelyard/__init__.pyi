# Types of the public names, which `__init__.py` loads on first use. `identify` is written by tools/option_tables.py.

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from mujoco import MjModel, MjSpec

from steelyard import check, diagnose, errors, excite, fit, fleet, inertia, payload, plot, simulate
from steelyard.app.model_variants import variants
from steelyard.calibration import calibrate
from steelyard.codegen import configuration, controller_code
from steelyard.corrections import NOTHING, Corrections
from steelyard.diagnose import Diagnosis
from steelyard.drives import Rollout, rollout
from steelyard.dynamics import (
    base_wrench_regressor,
    bias_acceleration,
    body_regressor,
    closed_loop,
    energy_regressor,
    frame_velocity,
    inverse_dynamics,
    inverse_dynamics_derivatives,
    jacobian,
    momentum_drift_regressor,
    momentum_observer,
    momentum_regressor,
    power_regressor,
    regressor,
    slotine_li_regressor,
    wrench_regressor,
)
from steelyard.errors import SteelyardError
from steelyard.excite import Design
from steelyard.fit import Estimate, Tied, Uncertainty, Validation
from steelyard.identifiable import Identifiability, identifiability, identifiable_wrench
from steelyard.information import (
    Information,
    load_information,
    reversal_weights,
    save_information,
)
from steelyard.log import Log, filters, read_log, split_blocks, write_csv, write_npz
from steelyard.model import Robot, library, load, save
from steelyard.payload import Payload, WrenchLog
from steelyard.pipeline import Progress, Result
from steelyard.pipeline.identification import decide
from steelyard.pipeline.sums_of_logs import accumulate, accumulate_blocks
from steelyard.report.model_validation import validate
from steelyard.terms import UserColumn
from steelyard.viewer import view

__version__: str
__all__ = [
    "Design",
    "Diagnosis",
    "Estimate",
    "Identifiability",
    "Information",
    "Log",
    "Payload",
    "Result",
    "Robot",
    "Rollout",
    "SteelyardError",
    "Uncertainty",
    "UserColumn",
    "Validation",
    "WrenchLog",
    "accumulate",
    "accumulate_blocks",
    "base_wrench_regressor",
    "bias_acceleration",
    "body_regressor",
    "calibrate",
    "check",
    "closed_loop",
    "configuration",
    "controller_code",
    "decide",
    "diagnose",
    "energy_regressor",
    "errors",
    "excite",
    "filters",
    "fit",
    "fleet",
    "frame_velocity",
    "identifiability",
    "identifiable_wrench",
    "identify",
    "inertia",
    "inverse_dynamics",
    "inverse_dynamics_derivatives",
    "jacobian",
    "library",
    "load",
    "load_information",
    "momentum_drift_regressor",
    "momentum_observer",
    "momentum_regressor",
    "payload",
    "plot",
    "power_regressor",
    "read_log",
    "regressor",
    "reversal_weights",
    "rollout",
    "save",
    "save_information",
    "simulate",
    "slotine_li_regressor",
    "split_blocks",
    "validate",
    "variants",
    "view",
    "wrench_regressor",
    "write_csv",
    "write_npz",
]

def identify(
    model: str | Path | Robot | MjModel | MjSpec,
    logs: Any,
    *,
    out: str | Path | None = None,
    progress: Progress | None = None,
    floating: bool | None = None,
    gravity: tuple[float, float, float] | None = None,
    cutoff: float | None = None,
    torque_cutoff: float | None = None,
    smoother: str = "butterworth",
    friction: str | Sequence[str] | None = None,
    armature: bool = True,
    coupling: str | Mapping[str, float] | Sequence[str | Mapping[str, float] | Sequence[str]] = (),
    springs: str | Sequence[str] = (),
    drive: str | Mapping[str, str] | Sequence[str] = (),
    start: str | Path | None = None,
    contacts: str | Sequence[str] = (),
    rotors: bool = False,
    side: str | Path | None = None,
    lock: str | Sequence[str] = (),
    folders: Sequence[str | Path] = (),
    arguments: Mapping[str, object] | Sequence[str] = (),
    validation: float = 0.3,
    within: str = "consistent",
    masses: Mapping | Sequence[str] = (),
    fixed: Mapping | Sequence[str] = (),
    tied: Sequence[Tied | str] = (),
    channels: Mapping | None = None,
    corrections: Corrections | Mapping = NOTHING,
    drive_gains: bool = False,
    loads: str | Sequence[str] = (),
    accept: str | Sequence[str] = (),
) -> Result:
    """Identify a robot from recorded motion; the same as `steelyard identify`.

    Args:
        model: path of a model file (URDF, MJCF, SDF, USD, xacro), an MjModel or MjSpec, or a Robot; none of them is
            changed.
        logs: one or several, each a path, a Log, arrays by name or a data frame, as `read_log` takes them.
        out: folder for the identified model (the model's file name with `_identified`), `summary.json`, `report.html`,
            `report.md`, `draws.npz` (samples of the posterior), `curves.npz` and `job.toml`, together or not at all;
            None writes nothing.
        progress: called with a stage and the share done, 0 to 1.
        floating: Free or fixed base. None means as the model says.
        gravity [m/s^2]: In the world, m/s^2. None means the model's, or 0 0 -9.81.
        cutoff [Hz]: Low-pass cutoff; None: from each log's spectrum; 0: v and a as recorded. Of positions and torques;
            None chooses that of positions (filters).
        torque_cutoff [Hz]: Cutoff of torques. Without it, at most a sixth of the rate. None means cutoff; without it,
            10.
        smoother: Filter and differentiator: butterworth, kalman or savgol.
        friction: Of viscous,coulomb,offset,curve,load; () for none. `curve` is friction of any shape over speed, such
            as sticking, `load` friction that grows with what a joint carries; evidence decides how much of them there
            is. None means all; in contact the first two.
        armature: Identify the motors' inertia too.
        coupling: Joints that share a motor, such as joint5+joint6. By names with signs, also `joint5-0.5*joint6`. The
            motor's inertia and friction act on that combination of speeds.
        springs: Joint with a spring. Stiffness and rest position are identified, of a compensator, a torsion bar or a
            stiff cable.
        drive: Drive kind of all joints: position, velocity, voltage, current, torque; JOINT=KIND. Their commands are in
            the logs instead of torques. `model`: as its actuators and its side file say.
        start: Earlier result of drives to start from. Its folder, such as that of a robot on a stand, or the model file
            in it: drives, friction and bodies of the same names.
        contacts: Frames that touch the ground, with commas; auto, none. Their flags are columns `contact_FRAME`, all of
            which are used by default. `auto` finds contacts from the speed of feet and their height above the ground,
            whose height and slope are found, too.
        rotors: Rotors of the side file are bodies. With parameters of their own (side file).
        side: Side file with rotors, loops and known facts. `MODEL.steelyard.toml` is read when it is there: rotors for
            `rotors`, closed loops, and what is known of links. None means beside the model.
        lock: Joint that stands still, such as that of a gripper: finger=0.02. Its position in rad or m; without one it
            is at zero, or at the limit nearest to it. Joints at the ends of the robot that no log has are locked there
            by themselves, and a note says so.
        folders: Folder outside the model's own whose files it may name. See other files.
        arguments: Argument of a xacro model, such as ur_type=ur5e; model=NAME of an SDF with several robots. One with a
            default may be left out.
        validation: Share of every log held out. At its end, in blocks; the first moments of it, which share a filter or
            slow errors with what was fitted, are in neither part.
        within: Volume of the mass: consistent (anywhere), or geometry of the link. `geometry` holds the mass of every
            link in an ellipsoid around its collision and visual geometry (volumes).
        masses [kg]: Known mass; LINK1+LINK2=KG of several, all=KG. `all` is all moving links.
        fixed: Keep the model's mass,com,inertia of a link, or all.
        tied: Links that are equal, or mirror images. In their frames, or mirrored along an axis: `LEFT=RIGHT:y`.
        channels: Columns of the signals: by name.
        corrections: Mistakes of the logs to undo: Corrections, or a table of the same words.
        drive_gains: Torques are motor currents: find each drive's gain, too.
        loads: Log with a known load, for drive_gains. It fixes the scale of the gains.
        accept: Go on in spite of this fatal finding.

    Returns:
        The verified estimate with its intervals, its prediction error on held-out samples, and the diagnosis; of logs
        of commands (`drive`) a robot with drives, judged by motion.

    Raises:
        SteelyardError: for what cannot be used, with a remedy.

    Example:
        >>> import steelyard as sy
        >>> robot = sy.library.scara()
        >>> _ = sy.write_csv(sy.simulate.record(robot, duration=3.0).log, "run.csv")
        >>> _ = sy.save(robot.with_inertias(1.3 * robot.inertias), "heavy.urdf")
        >>> result = sy.identify("heavy.urdf", "run.csv", friction=("viscous", "coulomb"))
        >>> result.after.relative_error < 0.1 * result.before.relative_error
        True
    """
