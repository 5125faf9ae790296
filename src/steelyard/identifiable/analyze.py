"""The public function: what an experiment with a robot can reveal about its inertial parameters."""

from collections.abc import Iterable
from functools import cache, partial

import numpy as np

from steelyard.dynamics import closed_loop
from steelyard.errors import ModelError, OptionError, choices
from steelyard.identifiable import regroup, sampled
from steelyard.identifiable.basis import Basis, from_null_space, rescaled
from steelyard.identifiable.build import build
from steelyard.identifiable.closed import METHOD, closed_basis
from steelyard.identifiable.result import Identifiability, Setup
from steelyard.identifiable.sensors import sensors_of
from steelyard.identifiable.snapping import TOLERANCE
from steelyard.identifiable.solve import solve
from steelyard.identifiable.spans import Decisions
from steelyard.identifiable.transfer import Experiment
from steelyard.model import Robot
from steelyard.terms import friction_terms, layout_of

MOTIONS = ("dynamic", "static")


def identifiability(
    robot: Robot,
    *,
    base=None,
    motion: str = "dynamic",
    sensors: str | Iterable[str] = "joints",
    motors: bool = False,
    locked=(),
    friction=(),
    armature: bool = False,
    tolerance: float = TOLERANCE,
) -> Identifiability:
    """Which combinations of inertial parameters any motion can reveal, from the kinematics alone (paper C).

    base: None (as the robot stands), "fixed", "floating" (free, its external wrench known), "planar" (on a horizontal
    plane) or (6, k) twists `[v; w]` in the base body's frame that it may make. motion: "dynamic" or "static" (poses
    held at rest). sensors: "joints" (torque of every joint, and the external wrench on a free base), "base" (a six-axis
    sensor under the robot), or a list of joint names, of link names with such a sensor in front, "joints" and "base".
    motors: whether `robot.rotors` are bodies with parameters of their own. locked: joints that never move (their torque
    is not measured), or {name: coordinate}. friction, armature: terms of the regression, as in `accumulate`. tolerance:
    smallest angle between axes [rad], or offset over the robot's characteristic length, that is taken as real.

    Robots with closed loops have the torques of their independent joints (`robot.actuated`) measured and stand as they
    are; their answer is numeric, and its `method` says so.

    Raises OptionError and ModelError that list valid names.
    """
    _check(robot, motion, motors)
    terms = layout_of(robot, friction=friction, armature=armature).terms
    shown = tuple(term for term in terms if term in friction_terms())
    setup = Setup(
        base,
        motion,
        _names(sensors),
        motors,
        locked,
        shown,
        armature,
        tolerance,
    )
    options = {"base": base, "locked": locked, "motors": motors, "terms": terms}
    if robot.loops:
        return _of_loops(closed_loop.with_motors(robot), setup, terms)
    made = cache(partial(build, robot, **options))
    mechanism = made(tolerance=0.0)
    measured = sensors_of(mechanism, robot, setup.sensors)
    experiment = Experiment(motion == "dynamic", bool(measured.rows), measured.wrenches)
    if not measured.rows or measured.complete:
        solution = solve(lambda allowed: made(tolerance=allowed), experiment, tolerance)
        if solution is not None:
            found = solution.recursion
            method = "recursive" if not found.coupled else "recursive, coupled joints sampled"
            parts = solution.mechanism, experiment, method, found.decisions, solution.blocks, None, found
            return Identifiability(robot, setup, *parts)
    mechanism = build(robot, **options, reduce=False, tolerance=tolerance)
    basis, decisions = _numeric(mechanism, experiment, measured.rows)
    return Identifiability(robot, setup, mechanism, experiment, "numeric", decisions, (), basis, None)


def _check(robot: Robot, motion: str, motors: bool):
    if motion not in MOTIONS:
        raise OptionError(f"motion is one of {', '.join(MOTIONS)}; got '{motion}'.")
    if motors and not robot.rotors:
        raise ModelError(
            f"Robot '{robot.name}' has no rotors. Describe them in its side file *.steelyard.toml, or leave motors out."
        )


def _of_loops(robot: Robot, setup: Setup, terms) -> Identifiability:
    refused = [name for name in ("base", "motors", "locked") if getattr(setup, name)]
    if refused:
        raise OptionError(
            f"{refused[0]}: robot '{robot.name}' has closed loops ({choices(robot.loop_names)}), which are analysed as "
            f"they stand. Leave {choices(refused)} out, or analyse the open tree: dataclasses.replace(robot, loops=())."
        )
    mechanism = build(robot, terms=terms)
    experiment = Experiment(setup.motion == "dynamic", True, ())
    basis, decisions = closed_basis(
        robot,
        mechanism.layout,
        mechanism.scale,
        regroup.preference(mechanism),
        dynamic=experiment.dynamic,
        sensors=setup.sensors,
    )
    return Identifiability(robot, setup, mechanism, experiment, METHOD, decisions, (), basis, None)


def _names(sensors) -> tuple[str, ...]:
    return (sensors,) if isinstance(sensors, str) else tuple(sensors)


def _numeric(mechanism, experiment: Experiment, rows) -> tuple[Basis, Decisions]:
    """Basis by the rank of a stacked random regression: for sensors that the recursion does not cover."""
    stacked = sampled.regression(mechanism, dynamic=experiment.dynamic, rows=rows, wrenches=experiment.wrenches)
    null, relative = sampled.null_space(stacked)
    basis = rescaled(from_null_space(null, order=regroup.preference(mechanism)), mechanism.scale)
    smallest = float(relative[basis.count - 1]) if basis.count else np.inf
    return basis, Decisions(smallest, float(relative[basis.count :].max(initial=0.0)))
