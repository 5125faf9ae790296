"""Torques of the independent joints of robots with closed loops (paper D, section 3).

The loops are cut, so the tree's torques are known; virtual work projects them: `tau = Gamma^T tau_tree` (13).
"""

from functools import lru_cache

import numpy as np

from steelyard.arguments import as_array
from steelyard.dynamics.closed_loop.assembly import choose_independent
from steelyard.dynamics.closed_loop.states import State, gamma_rate, named, state
from steelyard.dynamics.effects import effect_column, extra_rows, shared_directions
from steelyard.dynamics.external_wrenches import external_rows
from steelyard.dynamics.newton_euler import inverse_dynamics as tree_inverse_dynamics
from steelyard.dynamics.newton_euler import regressor as tree_regressor
from steelyard.dynamics.newton_euler import regressor_rows, regressor_rows_with_rotors
from steelyard.dynamics.newton_euler import slotine_li_regressor as tree_slotine_li_regressor
from steelyard.errors import OptionError
from steelyard.model import Robot
from steelyard.terms import COULOMB_WIDTH, ParameterLayout


def inverse_dynamics(robot: Robot, q, v, a, *, external=None, rotors: bool = False, actuated=None, start=None):
    """Torques of the independent joints that produce a motion of a robot with closed loops, without friction.

    q: (..., nq), where entries of passive joints are guesses for closing the loops, or (..., ni), the independent
    joints only, in the order of the robot's joints. v, a: (..., nv), of which only independent entries count, or
    (..., ni). actuated: names of the independent joints; by default the robot's motors (`robot.actuated`), or a choice
    that suits its loops (`closed_loop.independent`). start: (nq,) configuration on the branch of assembly that motions
    without passive joints are on; the model's own by default. external: wrenches by frame, as of `inverse_dynamics` of
    the open tree. rotors: whether motor rotors are bodies, too, as there.

    Returns (..., ni) in N m or N, armature of all joints included (paper D, (13)). Raises LoopError for loops that
    cannot be closed and wrong choices of joints, SingularConfigurationError where passive joints are not determined.
    """
    at = state(robot, q, v, a, actuated=actuated, start=start)
    tau = tree_torque(robot, at, external, rotors=rotors)
    return tau.reshape(*at.batch, tau.shape[1])


def tree_torque(robot: Robot, at: State, external=None, *, rotors: bool = False):
    """Torques (n, ni) of the independent joints at a state."""
    tau = tree_inverse_dynamics(robot, at.q, at.v, at.a, external=flat_external(robot, at, external), rotors=rotors)
    return on_independent_joints(at, tau[..., None])[..., 0]


def flat_external(robot: Robot, at: State, external) -> dict:
    """Wrenches (n, 6) by frame."""
    return {name: wrench.T for name, wrench in external_rows(robot, at.batch, external, at.q.T).items()}


def regressor(robot: Robot, q, v, a, *, actuated=None, start=None):
    """Regressor of the independent joints' torques, `Gamma^T Y_tree`; arguments as of `closed_loop.inverse_dynamics`.

    Returns (..., ni, 10 nb), in torque per unit of each parameter of `robot.inertias.ravel()`.
    """
    at = state(robot, q, v, a, actuated=actuated, start=start)
    Y = on_independent_joints(at, tree_regressor(robot, at.q, at.v, at.a))
    return Y.reshape(*at.batch, *Y.shape[1:])


def slotine_li_regressor(robot: Robot, q, v, vr, ar, *, actuated=None, start=None):
    """`slotine_li_regressor` of the independent joints: `Y theta = M ar + C vr + g`, where `dM/dt - 2 C` is skew.

    With `v = Gamma v_independent`, `M = Gamma^T M_tree Gamma` and `C = Gamma^T (M_tree dGamma/dt + C_tree Gamma)`: the
    tree follows the references `Gamma vr` and `Gamma ar + dGamma/dt vr`.

    Args:
        robot: with closed loops.
        q: (..., nq), or (..., ni) of the independent joints, as of `closed_loop.inverse_dynamics`; v (..., nv) or
            (..., ni) likewise.
        v: velocities, rad/s or m/s.
        vr: (..., ni) reference velocities of the independent joints, rad/s or m/s.
        ar: (..., ni) reference accelerations, rad/s^2 or m/s^2.
        actuated: names of the independent joints, as of `closed_loop.inverse_dynamics`.
        start: (nq,) configuration on the branch of assembly, as there.

    Returns:
        (..., ni, 10 nb) in N m or N per unit of each parameter; armature is left aside.

    Raises:
        LoopError, OptionError: as `closed_loop.inverse_dynamics`.
    """
    names, vr, ar = independent(robot, actuated=actuated), as_array("vr", vr), as_array("ar", ar)
    if {x.shape[-1:] for x in (vr, ar)} != {(len(names),)}:
        raise OptionError(f"vr and ar need (..., {len(names)}) of {', '.join(names)}; got {vr.shape} and {ar.shape}.")
    vr, ar = np.broadcast_arrays(vr, ar)
    at = state(robot, q, v, ar, actuated=actuated, start=start)
    vr, ar = (np.broadcast_to(x, (*at.batch, len(names))).reshape(-1, len(names), 1) for x in (vr, ar))
    gamma = at.transmission.gamma
    vr, ar = (gamma @ vr)[..., 0], (gamma @ ar + gamma_rate(robot, at) @ vr)[..., 0]
    Y = on_independent_joints(at, tree_slotine_li_regressor(robot, at.q, at.v, vr, ar))
    return Y.reshape(*at.batch, *Y.shape[1:])


def on_independent_joints(at: State, rows):
    """Rows (n, ni, k) of the independent joints from the tree's (n, nv, k): virtual work."""
    return np.swapaxes(at.transmission.gamma, 1, 2) @ rows


def gamma(robot: Robot, q, *, actuated=None, start=None):
    """Gamma (..., nv, ni): `v = Gamma v_independent`, with q as in `closed_loop.inverse_dynamics`."""
    still = np.zeros(robot.nv)
    at = state(robot, q, still, still, actuated=actuated, start=start)
    return at.transmission.gamma.reshape(*at.batch, *at.transmission.gamma.shape[1:])


def tree_state(robot: Robot, q, v, a, *, actuated=None, start=None):
    """q (..., nq), v, a (..., nv) of all joints of the tree; arguments as of `closed_loop.inverse_dynamics`.

    The accelerations hold the rate of Gamma: `a = Gamma a_independent + dGamma/dt v_independent`.
    """
    at = state(robot, q, v, a, actuated=actuated, start=start)
    return tuple(x.reshape(*at.batch, x.shape[1]) for x in (at.q, at.v, at.a))


def independent(robot: Robot, *, actuated=None) -> tuple[str, ...]:
    """Names of the independent coordinates, in the order of torques and of narrow q, v and a."""
    return choose_independent(robot, named(actuated)).names


@lru_cache(maxsize=32)
def with_motors(robot: Robot) -> Robot:
    """The robot with its motors stated: those it has, or the choice of independent joints that suits its loops.

    Without loops every joint has its own, and the robot is returned as it is.
    """
    if not robot.loops:
        return robot
    names = choose_independent(robot).names
    return robot if robot.actuated else robot.with_actuated(name for name in names if name in robot.joint_names)


def columns(robot: Robot, layout: ParameterLayout, at: State, *, direction=None, coulomb_width: float = COULOMB_WIDTH):
    """(n, ni, p) torque of the independent joints per unit of each parameter of a layout, at closed states; options as
    of `layout_rows`."""
    states = (np.ascontiguousarray(x.T) for x in (at.q, at.v, at.a))
    rows = layout_rows(robot, layout, *states, direction=direction, coulomb_width=coulomb_width)
    return on_independent_joints(at, rows)


def layout_rows(
    robot: Robot, layout: ParameterLayout, q, v, a, *, direction=None, coulomb_width: float = COULOMB_WIDTH
) -> np.ndarray:
    """(n, nv, p) torque of all joints of the tree per unit of each parameter of a layout, at q (nq, n), v, a (nv, n).

    direction: (n, nv + s) filtered direction of motion of all degrees and shared motors, if there is one;
    coulomb_width: half-width of standstill, rad/s."""
    turning = np.tanh(v / coulomb_width) if direction is None else np.ascontiguousarray(direction.T)
    full = np.zeros((robot.nv, layout.size, q.shape[1]))
    full[:, layout.inertial] = (regressor_rows_with_rotors if layout.rotor_names else regressor_rows)(robot, q, v, a)
    for dof in layout.dofs:
        for term, column in zip(layout.terms, layout.effects_of(dof), strict=True):
            full[dof, column] = effect_column(term, v[dof], a[dof], direction=turning[dof])
    shared = shared_directions(layout, turning, robot.nv)
    for i, extra in enumerate(layout.extras):
        rows = extra_rows(robot, extra, q, v, a, direction=shared.get(i), coulomb_width=coulomb_width)
        full[list(extra.dofs), layout.extra.start + i] = rows
    return np.moveaxis(full, -1, 0)
