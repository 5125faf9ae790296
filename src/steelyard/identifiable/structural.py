"""Structural identifiability: what an experiment can reveal of a robot's parameters, from its kinematics alone."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from functools import cache, partial

from steelyard.arguments import require_type
from steelyard.drives.drive import drives_of
from steelyard.dynamics import closed_loop
from steelyard.errors import ModelError, OptionError, choices
from steelyard.identifiable.analysis import Analysis, Setup
from steelyard.identifiable.contacts import (
    CONTACTS_METHOD,
    Contacts,
    Stances,
    contact_states,
    hidden_behind,
    stances_of,
)
from steelyard.identifiable.drive_scales import scales_of
from steelyard.identifiable.explanation import explain, expressions
from steelyard.identifiable.from_robot import mechanism_of
from steelyard.identifiable.mechanism import Experiment, sensors_of
from steelyard.identifiable.null_space import find_null_space, preference
from steelyard.identifiable.numeric_rank import LOOPS_METHOD, closed_basis, numeric_basis, random_regression
from steelyard.identifiable.status_table import render
from steelyard.identifiable.thresholds import THRESHOLDS
from steelyard.job import FRICTION
from steelyard.model import Robot
from steelyard.terms import friction_terms, layout_of

MOTIONS = ("dynamic", "static")


class Identifiability(Analysis):
    """An `Analysis` with its tables and sentences."""

    def table(self, format: str = "text") -> str:
        """Parameters against bodies with the paper's legend; format: text, markdown, html or latex."""
        return render(self, format)

    def explain(self, link: str) -> str:
        """What can be known of one link, in words, and which change of the experiment would reveal more."""
        return explain(self, link, identifiability)

    def expressions(self) -> tuple[str, ...]:
        """(r,) each base parameter with what is regrouped into it: `link1.Izz + x_joint2^2 link2.m`."""
        return expressions(self)


def identifiability(
    robot: Robot,
    *,
    base=None,
    motion: str = "dynamic",
    sensors: str | Iterable[str] = "joints",
    motors: bool = False,
    locked=(),
    friction=None,
    armature: bool | None = None,
    tolerance: float = THRESHOLDS.axis_rounding,
    drive: str | Mapping[str, str] | Sequence[str] | None = None,
    masses: Iterable = (),
    fixed: Mapping | None = None,
    contacts: Contacts | Stances | None = None,
) -> Identifiability:
    """Which combinations of inertial parameters any motion can reveal, from the kinematics alone (paper C).

    Robots with closed loops have the torques of their independent joints (`robot.actuated`) measured and stand as they
    are; their answer is numeric, and its `method` says so.

    Args:
        robot: model; its inertias do not matter.
        base: None (as the robot stands), "fixed", "floating" (free, its external wrench known), "planar" (on a
            horizontal plane) or (6, k) twists `[v; w]` in the base body's frame that it may make.
        motion: "dynamic" or "static" (poses held at rest).
        sensors: "joints" (torque of every joint, and the external wrench on a free base), "base" (a six-axis sensor
            under the robot), or a list of joint names, of link names with such a sensor in front, "joints" and "base".
        motors: whether `robot.rotors` are bodies with parameters of their own.
        locked: joints that never move (their torque is not measured), or {name: coordinate}.
        friction: terms of the regression, as in `accumulate`; None: none, with `drive` those of `identify`.
        armature: whether armature is a term of the regression; None: with `drive`, as in `identify`.
        tolerance: smallest angle between axes [rad], or offset over the robot's characteristic length, that is taken
            as real.
        drive: what drives the joints, as of `identify`: their logs have commands instead of torques. `scales` of the
            result then says which joints share a common factor of masses, friction and gains that motion does not
            show, what fixes it and what would.
        masses: with `drive`: links, tuples of links or "all" whose mass is known.
        fixed: with `drive`: {link: parts} that are as in the model, as `fit.consistent` takes them.
        contacts: frames that stand still on something while the robot moves, with forces that nobody measures: names
            (points), or {frame: kind} as of `accumulate`; several such sets, `(("FL", "FR"), ("RL", "RR"), ())`, for
            logs with samples of each, () in flight. None: all forces from outside are known. `hidden` of the result
            says what does not show, and what would reveal it; it is numeric, and verified.

    Returns:
        Base parameters, null space and status of every parameter, with tables and sentences.

    Raises:
        OptionError, ModelError: with the valid names.

    Example:
        >>> import steelyard as sy
        >>> idn = sy.identifiability(sy.library.puma560())
        >>> idn.count, idn.size, idn.base_names[0]
        (36, 60, 'link1.Izz')
        >>> [scale.fixed for scale in sy.identifiability(sy.library.puma560(), drive="position").scales]
        [False]
    """
    require_type(Robot, robot=robot)
    _check(robot, motion, motors)
    masses, fixed = tuple(masses), dict(fixed or {})
    if (masses or fixed) and not drive:
        raise OptionError("Known masses and parts that stay decide about scales of drives: give drive, too.")
    friction = (FRICTION if drive else ()) if friction is None else friction
    armature = bool(drive) if armature is None else armature
    terms = layout_of(robot, friction=friction, armature=armature).terms
    shown = tuple(term for term in terms if term in friction_terms())
    setup = Setup(
        base,
        motion,
        (sensors,) if isinstance(sensors, str) else tuple(sensors),
        motors,
        locked,
        shown,
        armature,
        tolerance,
        drives_of(robot, _words(drive)) if drive else {},
    )
    if contacts is not None:
        return _in_contact(robot, replace(setup, contacts=stances_of(robot, contacts)), terms)
    found = _analysed(robot, setup, terms)
    return replace(found, scales=scales_of(found, masses=masses, fixed=fixed)) if setup.drives else found


def _words(drive) -> tuple[str, ...]:
    if isinstance(drive, Mapping):
        return tuple(f"{joint}={kind}" for joint, kind in drive.items())
    return (drive,) if isinstance(drive, str) else tuple(drive)


def _analysed(robot: Robot, setup: Setup, terms) -> Identifiability:
    base, locked, motors, tolerance = setup.base, setup.locked, setup.motors, setup.tolerance
    options = {"base": base, "locked": locked, "motors": motors, "terms": terms}
    if robot.loops:
        return _with_loops(closed_loop.with_motors(robot), setup, terms)
    made = cache(partial(mechanism_of, robot, **options))
    mechanism = made(tolerance=0.0)
    measured = sensors_of(mechanism, robot, setup.sensors)
    experiment = Experiment(setup.motion == "dynamic", bool(measured.rows), measured.wrenches)
    if not measured.rows or measured.complete:
        solution = find_null_space(lambda allowed: made(tolerance=allowed), experiment, tolerance)
        if solution is not None:
            found = solution.recursion
            method = "recursive" if not found.coupled else "recursive, coupled joints sampled"
            parts = solution.mechanism, experiment, method, found.decisions, solution.blocks, None, found
            return Identifiability(robot, setup, *parts)
    mechanism = mechanism_of(robot, **options, reduce=False, tolerance=tolerance)
    stacked = random_regression(mechanism, dynamic=experiment.dynamic, rows=measured.rows, wrenches=experiment.wrenches)
    basis, decisions = numeric_basis(stacked, mechanism.scale, preference(mechanism))
    return Identifiability(robot, setup, mechanism, experiment, "numeric", decisions, (), basis, None)


def _check(robot: Robot, motion: str, motors: bool):
    if motion not in MOTIONS:
        raise OptionError(f"motion is one of {', '.join(MOTIONS)}; got '{motion}'.")
    if motors and not robot.rotors:
        raise ModelError(
            f"Robot '{robot.name}' has no rotors. Describe them in its side file *.steelyard.toml, or leave motors out."
        )


def _in_contact(robot: Robot, setup: Setup, terms) -> Identifiability:
    assert setup.contacts is not None
    free = isinstance(setup.base, str) and setup.base == "floating" and robot.floating
    others = {"base": setup.base is not None and not free, "motors": setup.motors, "locked": setup.locked}
    others |= {"drive": setup.drives, "loops": robot.loops, "sensors": setup.sensors != ("joints",)}
    refused = [name for name, value in others.items() if value]
    if refused:
        raise OptionError(
            f"contacts go with torques of all joints, of a robot as it stands; leave {choices(refused)} "
            "out. A robot is free with load(path, floating=True)."
        )
    mechanism = mechanism_of(robot, terms=terms)
    experiment = Experiment(setup.motion == "dynamic", True, ())
    rows = contact_states(robot, mechanism.layout, setup.contacts, dynamic=experiment.dynamic)
    basis, decisions = numeric_basis(rows * mechanism.scale, mechanism.scale, preference(mechanism))
    known = _analysed(robot, replace(setup, contacts=None), terms)
    hidden = hidden_behind(robot, setup.contacts, rows, known.null_space, basis.null_space)
    parts = mechanism, experiment, CONTACTS_METHOD, decisions, (), basis, None
    return Identifiability(robot, setup, *parts, hidden=hidden)


def _with_loops(robot: Robot, setup: Setup, terms) -> Identifiability:
    refused = [name for name in ("base", "locked") if getattr(setup, name)]
    if refused:
        raise OptionError(
            f"{refused[0]}: robot '{robot.name}' has closed loops ({choices(robot.loop_names)}), which are analysed as "
            f"they stand. Leave {choices(refused)} out, or analyse the open tree: dataclasses.replace(robot, loops=())."
        )
    mechanism = mechanism_of(robot, motors=setup.motors, reduce=False, terms=terms)
    experiment = Experiment(setup.motion == "dynamic", True, ())
    rotors = tuple(rotor.name for rotor in robot.rotors) if setup.motors else ()
    basis, decisions = closed_basis(
        robot,
        replace(mechanism.layout, rotor_names=rotors),
        mechanism.scale,
        preference(mechanism),
        dynamic=experiment.dynamic,
        sensors=setup.sensors,
    )
    return Identifiability(robot, setup, mechanism, experiment, LOOPS_METHOD, decisions, (), basis, None)
