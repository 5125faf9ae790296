"""The `Goal` of a robot that follows from an `Aim`: what an experiment is to show and how it will be measured."""

from typing import Protocol

import numpy as np

from steelyard.dynamics.balances import sensor_frame
from steelyard.errors import FitError, OptionError, choices
from steelyard.excite.measured_axes import JOINTS, measured_kinds, measured_slice
from steelyard.excite.measured_rows import regression_of
from steelyard.excite.optimality import Goal, unit_columns
from steelyard.excite.thresholds import THRESHOLDS
from steelyard.fit import weigh_by_noise
from steelyard.fit.prior import EFFECT_SPREAD, congruence, consistent_prior
from steelyard.identifiable import regression_basis
from steelyard.identifiable.basis import Basis
from steelyard.inertia import transform_matrix
from steelyard.information import Information
from steelyard.information.row_kinds import BASE, WRENCH, groups_of, link_of, sensors_of
from steelyard.model import Robot
from steelyard.motion_options import Aim
from steelyard.terms import COULOMB_WIDTH, ParameterLayout, layout_of


class Held(Protocol):
    """A payload that was identified, as `sy.payload` has it. covariance: (10, 10) in the frame of its sensor; noise:
    (2,) standard deviations of force [N] and torque [N m], or (nv,) of the joints."""

    @property
    def covariance(self) -> np.ndarray: ...

    @property
    def noise(self) -> np.ndarray: ...


def goal_of(robot: Robot, states, aim: Aim) -> Goal:
    """Goal for a robot. states: random allowed q (nq, n), v, a (nv, n) and their torques (nv, n)."""
    kinds = measured_kinds(robot, aim.rows)
    layout = _layout_of(robot, aim)
    basis = regression_basis(robot, layout, sensors_of(robot, kinds))
    q, v, a, tau = states
    plan = regression_of(robot, layout, basis, COULOMB_WIDTH, kinds)
    rows = plan.at(q, v, a)
    typical = np.sqrt(np.mean(tau**2, axis=1))
    typical = np.maximum(typical, 1e-3 * max(typical.max(initial=0.0), 1e-9))
    focus = "payload" if aim.of_payload else aim.focus
    after, noise, held = aim.after, aim.noise, None
    if isinstance(after, Information):
        after, noise = _weighted_information(robot, layout, kinds, after, noise)
    elif after is not None:
        held = _held(robot, layout, kinds, focus, after)
        if noise is None:  # that with which the payload was identified
            noise = np.repeat(after.noise, 3) if kinds[0].startswith(WRENCH) else after.noise
    typical_rows = np.concatenate([typical, _typical_wrench(rows.forces[robot.nv :])])
    noise = _noise(robot, kinds, typical_rows, noise)
    earlier = after.base.G if isinstance(after, Information) else np.zeros((basis.count, basis.count))
    columns, wanted = _unknowns(robot, layout, basis, focus)
    units = _prior_units(robot, layout, typical, aim.weight)[:, columns][columns]
    if held is not None:
        body, units = held
        columns = wanted = np.arange(layout.size)[layout.body(body)]
    open_before = basis.regrouping[:, columns] @ units
    spread, directions = _visible_factor(open_before)
    places = np.searchsorted(columns, wanted)
    selection = directions[places]
    unit_selection = units[places] / np.linalg.norm(units[places], axis=1)[:, None] @ directions
    predicted = slice(0, robot.nv) if JOINTS in kinds else slice(robot.nv, None)
    deviations = _in_motions(plan, q, v, a, typical_rows, predicted)
    scale = np.sqrt(deviations.shape[1])
    reference = np.linalg.qr(deviations.T, mode="r") @ open_before[:, places] @ selection / scale
    gram = rows.gram(np.ones(len(noise)))
    rank = np.linalg.matrix_rank(unit_columns(gram + earlier)[0], tol=1e-10)
    return Goal(
        robot=robot,
        layout=layout,
        basis=basis,
        noise=noise,
        rate=aim.rate,
        criterion=aim.criterion,
        spread=spread,
        precision=np.eye(spread.shape[1]) + spread.T @ earlier @ spread,
        wanted=wanted,
        selection=selection,
        unit_selection=unit_selection,
        rank=int(rank),
        earlier=earlier,
        reference=reference,
        noise_share=float(aim.noise_share),
        kinds=kinds,
    )


def _layout_of(robot: Robot, aim: Aim) -> ParameterLayout:
    """Parameters that are unknown: those of the earlier Information, unless others are asked for."""
    friction, armature = aim.friction, aim.armature
    if isinstance(aim.after, Information) and (friction, armature) == (Aim.friction, Aim.armature):
        terms = aim.after.layout.terms
        friction, armature = tuple(term for term in terms if term != "armature"), "armature" in terms
    return layout_of(robot, friction=friction, armature=armature)


def _unknowns(robot: Robot, layout: ParameterLayout, basis: Basis, focus) -> tuple[np.ndarray, np.ndarray]:
    everything = np.arange(layout.size)
    if focus is None:
        return everything, everything
    if focus == "payload":
        last = everything[layout.body(robot.nb - 1)]
        return last, last
    wanted: list[int] = []
    for name in (focus,) if isinstance(focus, str) else focus:
        if name == "friction":
            wanted += range(layout.inertial.stop, layout.size)
        elif name in layout.body_names:
            wanted += range(*layout.body(layout.body_names.index(name)).indices(layout.size))
        elif name in layout.names:
            wanted.append(_require_visible(layout, basis, name))
        else:
            raise OptionError(
                f"focus: '{name}' is neither 'payload', 'friction', a body ({choices(layout.body_names)}) nor one of "
                "their parameters, such as link2.Ixx."
            )
    if not wanted:
        raise OptionError("focus: nothing is left to be known; name bodies, parameters, 'friction' or 'payload'.")
    return everything, np.unique(wanted)


def _held(robot: Robot, layout: ParameterLayout, kinds: tuple[str, ...], focus, held: Held) -> tuple[int, np.ndarray]:
    """The body that carries a payload, and (10, 10) columns of its parameters that the payload leaves open by one
    standard deviation."""
    sensors = [kind for kind in kinds if kind.startswith(WRENCH)]
    if focus != "payload" or len(kinds) != 1 or BASE in kinds:
        raise OptionError(
            "after= of a payload is for focus='payload', and for rows of the sensor that it was identified with: "
            "'wrench:LINK', or 'joints' where there was none."
        )
    frame = sensor_frame(robot, link_of(sensors[0])) if sensors else sensor_frame(robot, robot.body_names[-1])
    squares, axes = np.linalg.eigh(np.asarray(held.covariance, dtype=float))
    return frame.body, transform_matrix(frame.rotation, frame.position) @ (axes * np.sqrt(np.maximum(squares, 0.0)))


def _require_visible(layout: ParameterLayout, basis: Basis, name: str) -> int:
    column = layout.names.index(name)
    if not np.any(np.abs(basis.regrouping[:, column]) > 1e-9):
        raise OptionError(
            f"focus: joint torques can never show {name}, whatever the motion. Leave it out, or measure more: "
            "`steelyard analyze MODEL --explain all` says which sensor would show it."
        )
    if np.abs(basis.null_space[column]).max(initial=0.0) > 1e-9:
        raise OptionError(
            f"focus: joint torques never show {name} on its own, only in combinations, so its value is more than the "
            f"sensors can see. Name the whole body, or see `steelyard analyze MODEL --explain {name.split('.')[0]}`."
        )
    return column


def _noise(robot: Robot, kinds: tuple[str, ...], typical_rows, noise) -> np.ndarray:
    """(rows,) deviation of each row: as given, one or one a measured row, or one percent of what is typical."""
    found = np.concatenate([_default_noise(robot, typical_rows[: robot.nv]), 0.01 * typical_rows[robot.nv :]])
    measured = found[measured_slice(robot, kinds)]
    if noise is not None:
        if np.shape(noise) not in ((), measured.shape):
            raise OptionError(
                f"noise is one number or one a measured row ({len(measured)},); got shape {np.shape(noise)}."
            )
        measured[:] = noise
    if not (np.isfinite(found).all() and (found > 0).all()):
        raise OptionError(f"noise is a positive standard deviation in N m, one or ({len(measured)},); got {noise}.")
    return found


def _default_noise(robot: Robot, typical) -> np.ndarray:
    """(nv,) one percent of what each motor can, or of the joint's typical torque where the model does not say."""
    limited = np.isfinite(robot.effort_limits) & (robot.effort_limits > 0)
    return 0.01 * np.where(limited, np.where(limited, robot.effort_limits, 1.0), typical)


def _typical_wrench(wrenches) -> np.ndarray:
    """(6 a sensor,) RMS of the largest component of force and of moment. wrenches: (6 a sensor, n)."""
    return np.repeat(np.sqrt(np.mean(wrenches**2, axis=1).reshape(-1, 3).max(axis=1)), 3)


def _weighted_information(robot: Robot, layout: ParameterLayout, kinds: tuple[str, ...], after: Information, noise):
    """Earlier logs weighed by their residuals (or by a noise that is given), and that noise, one a measured row."""
    after = after.plain
    if after.layout != layout or after.base.basis.count != len(after.base.columns):
        raise FitError(
            "The earlier Information has other columns than this design; accumulate it and design with the same "
            "friction and armature options."
        )
    names = tuple(name for kind in kinds for name in groups_of(robot, kind))
    if tuple(after.group_names) != names:
        raise FitError(
            f"The earlier Information holds other rows than this design, in their order: {choices(names)}. Accumulate "
            f"it with rows={kinds}."
        )
    if noise is None:
        return weigh_by_noise(after)
    noise = np.broadcast_to(noise, (len(names),)).astype(float)
    return after.weighted(after.independence / noise**2), noise


def _prior_units(robot: Robot, layout: ParameterLayout, typical, weight: float) -> np.ndarray:
    """(p, p) columns of regression parameters that the prior leaves open by one: the pullback metric of
    `fit.consistent` for bodies, a share of the typical torques (nv,) for friction and armature."""
    theta = consistent_prior(None, robot, robot.nb)[0]
    unit = np.zeros((layout.size, layout.size))
    for i, each in enumerate(theta):
        unit[layout.body(i), layout.body(i)] = congruence(each) * np.sqrt(2 / weight)
    effects = np.arange(layout.inertial.stop, layout.size)
    unit[effects, effects] = EFFECT_SPREAD * np.tile(typical[list(layout.dofs)], len(layout.terms)) / np.sqrt(weight)
    return unit


def _visible_factor(spread) -> tuple[np.ndarray, np.ndarray]:
    """Spread (r, c) of c <= p unknowns with unit prior that make up all that shows of p, and these in units of the p
    (p, c), orthonormal columns. spread: (r, p)."""
    size = np.linalg.norm(spread, axis=1)
    _, singular, Vt = np.linalg.svd(spread / np.where(size > 0, size, 1.0)[:, None], full_matrices=False)
    directions = Vt[singular > THRESHOLDS.visible * singular[0]].T
    return spread @ directions, directions


def _in_motions(plan, q, v, a, typical_rows, predicted: slice) -> np.ndarray:
    """(r, n rows) what one unit of each base parameter makes in the predicted rows of motions at all speeds, from
    standing still to the limits, over what is typical (rows,) there."""
    tempo = np.linspace(0, 1, q.shape[1])
    paced = plan.at(q, tempo * v, tempo**2 * a).dense()[:, predicted]
    return (paced / typical_rows[predicted, None]).reshape(len(paced), -1)
