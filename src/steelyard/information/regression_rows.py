"""Rows of a robot's regression, chunk by chunk: kept columns of each degree and the torque that is left to explain.

Rotors are bodies of a larger tree, some of them averaged: `TreeColumns` says which columns are summed and what they
become.
"""

from dataclasses import dataclass, replace

import numpy as np

from steelyard.dynamics.armature import felt_acceleration
from steelyard.dynamics.effects import effect_column, extra_rows, given_rows, shared_directions
from steelyard.dynamics.kinematics import tree
from steelyard.dynamics.newton_euler import row_blocks
from steelyard.dynamics.rotors import with_rotor_bodies
from steelyard.errors import LogError, OptionError, choices
from steelyard.information.gram import Squares, factors_of_rows
from steelyard.log import Log
from steelyard.log.checks import require_finite, require_joints
from steelyard.model import Robot
from steelyard.namespaces import array_namespace
from steelyard.terms import ParameterLayout, motor_of, stated_values


@dataclass(frozen=True, eq=False)
class Row:
    """Nonzero columns of one degree's row: where in its bodies' block, terms, extras (which, and which of its degrees),
    places among the kept columns."""

    in_block: np.ndarray
    terms: tuple[str, ...]
    extras: tuple[tuple[int, int], ...]
    places: np.ndarray


def rows_of(robot: Robot, layout: ParameterLayout, kept) -> list[Row]:
    """Nonzero columns of each degree's row, among the kept ones (k,)."""
    place = {int(column): i for i, column in enumerate(kept)}
    rows = []
    for dof, bodies in enumerate(tree(robot).row_bodies):
        own = [c for c in range(10 * bodies.start, 10 * bodies.stop) if c in place]
        effects = [(t, c) for t, c in zip(layout.terms, layout.effects_of(dof), strict=False) if c in place]
        extras = [
            (i, extra.dofs.index(dof))
            for i, extra in enumerate(layout.extras)
            if dof in extra.dofs and layout.extra.start + i in place
        ]
        columns = [*own, *(c for _, c in effects), *(layout.extra.start + i for i, _ in extras)]
        rows.append(
            Row(
                in_block=np.array(own, dtype=int) - 10 * bodies.start,
                terms=tuple(term for term, _ in effects),
                extras=tuple(extras),
                places=np.array([place[c] for c in columns], dtype=int),
            )
        )
    return rows


def chunk_rows(robot: Robot, layout: ParameterLayout, coulomb_width: float, rows: list[Row], chunk, given=None):
    """Columns (k, n) and torque (n,) of each degree's row, one degree after the other.

    rows: of `rows_of`; chunk: q, v, a, tau, direction (see `direction_of`), samples last; given: rows of extras that
    are known already, by their index. NumPy in, NumPy out; JAX in, JAX out, if the user's columns are given.
    """
    xp = array_namespace(*chunk)
    q, v, a, tau, direction = chunk
    tau = tau - known_torque(robot, layout, v, a, direction)
    effects = effect_values(robot, layout, coulomb_width, rows, q, v, a, direction, given)
    for dof, (row, block) in enumerate(zip(rows, row_blocks(robot, q, v, a), strict=True)):
        yield xp.concat([block[row.in_block], *(e[None] for e in effects[dof])]), tau[dof]


def effect_values(
    robot: Robot, layout: ParameterLayout, coulomb_width: float, rows: list[Row], q, v, a, direction, given=None
):
    """Columns (n,) of each degree beside those of bodies, in the order of its row's places."""
    shared = shared_directions(layout, direction, robot.nv)
    given = given_rows(robot, layout, q, v, a) if given is None else given
    extras = [
        given[i]
        if i in given
        else extra_rows(robot, extra, q, v, a, direction=shared.get(i), coulomb_width=coulomb_width)
        for i, extra in enumerate(layout.extras)
    ]
    return [
        [
            *(effect_column(term, v[dof], a[dof], direction=direction[dof]) for term in row.terms),
            *(extras[i][k] for i, k in row.extras),
        ]
        for dof, row in enumerate(rows)
    ]


def direction_of(log: Log, coulomb_width: float, layout: ParameterLayout) -> np.ndarray:
    """Shape of Coulomb friction: the filtered direction of motion if the log has it for this width; (n, nv), or (n, nv
    + s) with the s motors that joints of the layout share behind the degrees."""
    (v,) = log.require("v")
    recorded = recorded_direction(log, coulomb_width, layout)
    return np.tanh(v / coulomb_width) if recorded is None else recorded


def recorded_direction(log: Log, coulomb_width: float, layout: ParameterLayout) -> np.ndarray | None:
    """The filtered direction of motion of `direction_of`, if the log has it at this width.

    A motor whose joints the filter was not told of has the smoothed sign of its filtered speed.
    """
    if log.direction is None or log.direction_width != coulomb_width:
        return None
    (v,) = log.require("v")
    columns = [log.direction]
    for i in layout.coupled_directions:
        extra = layout.extras[i]
        names = [layout.dof_names[layout.dofs.index(dof)] for dof in extra.dofs]
        motor = motor_of(dict(zip(names, extra.ratios, strict=True)))
        if motor in log.shared and log.shared_direction is not None:
            columns.append(log.shared_direction[:, log.shared.index(motor)])
        else:
            columns.append(np.tanh(v[:, list(extra.dofs)] @ np.array(extra.ratios) / coulomb_width))
    return np.column_stack(columns)


def known_torque(robot, layout, v, a, direction):
    """(nv, n) torque of the effects that are no columns, at the model's values. direction: (nv + s, n)."""
    known, a = array_namespace(v).zeros_like(v), felt_acceleration(robot, v, a)  # armature alone multiplies it
    for term, value in stated_values(robot).items():
        if term in layout.terms:  # what is no column of its own stays known: passive joints of closed loops
            value = np.where(np.isin(np.arange(robot.nv), layout.dofs), 0.0, value)
        if np.any(value):
            known = known + value[:, None] * effect_column(term, v, a, direction=direction[: len(v)])
    return known


def require_tree(robot: Robot | None, what: str):
    """Raise OptionError for a robot with closed loops, whose rows are not those of its open tree. what: that needs a
    tree."""
    if robot is not None and robot.loops:
        raise OptionError(
            f"{what}: robot '{robot.name}' has closed loops ({choices(robot.loop_names)}), which this does not cover. "
            "accumulate, fit.least_squares, fit.consistent and validate do."
        )


def channels_of(robot: Robot, log: Log, names: tuple[str, ...]):
    """Channels of joints by name, (n, nq) or (n, nv), checked against the robot. Raises LogError for a channel that is
    missing or not finite, and for joints of another robot or in another order."""
    channels = log.require(*names)
    if log.nq != robot.nq or log.nv != robot.nv:
        raise LogError(
            f"Log '{log.name}' has {log.nq} positions and {log.nv} velocities; robot '{robot.name}' "
            f"has {robot.nq} and {robot.nv} ({choices(robot.joint_names)}). read_log(path, robot) matches by name."
        )
    require_joints(log, robot)
    for name, values in zip(names, channels, strict=True):
        require_finite(log, name, values)
    return channels


def wrench_of(log: Log, link: str):
    """(n, 6) measured wrench of a link, or of the base."""
    if link not in log.wrenches:
        raise LogError(
            f"Log '{log.name}' has no wrench of '{link}'; it has {choices(log.wrenches) or 'none'}. Give it as "
            f'log.replace(wrenches={{"{link}": array of [f; n], one row a sample}}).'
        )
    require_finite(log, f"wrench of {link}", log.wrenches[link])
    return log.wrenches[link]


def weights_of(sample_weights, log: Log) -> np.ndarray | None:
    """(n, nv) sample weights of a log, times its own; None for equal ones. sample_weights: None, an array (n,) or (n,
    nv), or a function of the log that returns one. Raises OptionError for other shapes and negative weights."""
    if sample_weights is None:
        return log.weights
    weights = np.asarray(sample_weights(log) if callable(sample_weights) else sample_weights, dtype=float)
    weights = weights[:, None] if weights.ndim == 1 else weights
    shape = (len(log), log.nv)
    if weights.shape not in (shape, (len(log), 1)) or not (np.isfinite(weights).all() and (weights >= 0).all()):
        raise OptionError(
            f"sample_weights of log '{log.name}' are finite, non-negative numbers of shape {shape[:1]} or {shape}; "
            f"got shape {weights.shape}."
        )
    return np.broadcast_to(weights if log.weights is None else weights * log.weights, shape)


@dataclass(frozen=True, eq=False)
class TreeColumns:
    """Columns to sum over samples: robot and layout of the tree that has them, columns (k',) of it.

    mixing (k', k): the wanted columns are `raw columns @ mixing`, None where they are the same.
    """

    robot: Robot
    layout: ParameterLayout
    columns: np.ndarray
    mixing: np.ndarray | None = None

    def values(self, wanted):
        """(k',) parameters of the raw columns from those of the wanted ones (k,)."""
        return wanted if self.mixing is None else self.mixing @ wanted

    def mixed(self, squares: Squares, moment):
        """Squares and moments (g, k) of the wanted columns from those of the raw ones."""
        if self.mixing is None:
            return squares, moment
        return squares.mixed(self.mixing), moment @ self.mixing

    def mixed_rows(self, places, rows):
        """Places (m',) and rows (n, m') in the wanted columns, from those of the raw ones: (m,) and (n, m)."""
        if self.mixing is None:
            return places, rows
        among = self.mixing[places]
        wanted = np.flatnonzero(among.any(axis=0))
        return wanted, rows @ among[:, wanted]

    def mixed_factors(self, triangles):
        """Triangular factors (g, k + 1, k + 1) of the wanted columns and the torque, from those of the raw ones."""
        if self.mixing is None:
            return triangles
        rows = np.concatenate([triangles[..., :-1] @ self.mixing, triangles[..., -1:]], axis=-1)
        return factors_of_rows(np.swapaxes(rows, 0, 1))


def raw_columns(robot: Robot, layout: ParameterLayout, kept) -> TreeColumns:
    """What to sum for the kept columns (k,) of a layout."""
    if not layout.rotor_names or robot.loops:  # rows of loops are made in the columns of the layout
        return TreeColumns(robot, layout, kept)
    whole = with_rotor_bodies(robot)
    everything = np.eye(layout.size)
    everything[layout.inertial, layout.inertial] = whole.mixing
    needed = np.flatnonzero(everything[:, kept].any(axis=1))
    larger = replace(layout, body_names=whole.robot.body_names, rotor_names=())
    return TreeColumns(whole.robot, larger, needed, everything[np.ix_(needed, kept)])
