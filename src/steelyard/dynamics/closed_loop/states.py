"""States of the whole tree from those of the independent joints (paper D, section 3).

At velocity level `v = Gamma(q) v_independent` (12). At position level loops can often be closed in several ways, and a
motion stays on one branch of assembly: a step along it goes along the tangent and is then corrected; one whose
correction is large against itself is halved.
"""

from dataclasses import dataclass
from math import prod

import numpy as np

from steelyard.dynamics.closed_loop.assembly import Choice, choose_independent, close, moved
from steelyard.dynamics.closed_loop.constraint import Placed, constants, jacobian, jacobian_rate, placed
from steelyard.errors import LoopError, OptionError, SingularConfigurationError
from steelyard.model import Robot
from steelyard.numbers import SAME

STEPS = 400
FIRST, LARGEST, SMALLEST = 0.1, 0.3, 1e-5  # radians, or lengths of the robot, in one step
CORRECTION = 0.3  # of a step's length: larger corrections may have left the branch
REACH = 1.2  # radians, or lengths of the robot: how far an unlimited joint goes from the assembled pose
CLEAR = 0.05  # of the assembled pose's clearance: below, a configuration is near a singular one


@dataclass(frozen=True, eq=False)
class Transmission:
    """What the independent coordinates do to all others at n configurations.

    clearance (n,): smallest over largest singular value of K in the dependent coordinates; 0 is a singular
    configuration.
    """

    at: Placed
    K: np.ndarray  # (n, m, nv) the constraints' Jacobian
    gamma: np.ndarray  # (n, nv, ni) `v = gamma v_independent`
    passive: np.ndarray  # (n, nd, m) dependent coordinates per unit of each constraint equation
    clearance: np.ndarray
    loose: np.ndarray  # (n, nd) the dependent motion nearest to being free


@dataclass(frozen=True, eq=False)
class State:
    """n states that keep all loops closed: q (n, nq), v, a (n, nv) of the tree, and how the independent joints move
    it."""

    batch: tuple[int, ...]  # leading axes of the caller's arrays
    choice: Choice
    q: np.ndarray
    v: np.ndarray
    a: np.ndarray
    transmission: Transmission


def state(robot: Robot, q, v, a, *, actuated=None, start=None) -> State:
    """State of the tree; arguments as of `closed_loop.inverse_dynamics`."""
    choice = choose_independent(robot, named(actuated))
    q, v, a = (np.asarray(x, dtype=float) for x in (q, v, a))
    widths = {"q": (robot.nq, len(choice.positions)), "v": (robot.nv, len(choice.independent))}
    widths["a"] = widths["v"]
    for (name, valid), array in zip(widths.items(), (q, v, a), strict=True):
        if array.ndim == 0 or array.shape[-1] not in valid:
            raise OptionError(
                f"{name} has shape {array.shape}; robot '{robot.name}' needs (..., {valid[0]}), all joints, or "
                f"(..., {valid[1]}), its independent ones: {', '.join(choice.names)}."
            )
    batch = np.broadcast_shapes(q.shape[:-1], v.shape[:-1], a.shape[:-1])
    q, v, a = (np.broadcast_to(x, (*batch, x.shape[-1])).reshape(prod(batch), x.shape[-1]) for x in (q, v, a))
    v, a = (x if x.shape[1] == len(choice.independent) else x[:, choice.independent] for x in (v, a))
    q = closed_configurations(robot, choice, q, start)
    here = transmission(robot, choice, q)
    require_regular(robot, choice, here)
    v = (here.gamma @ v[..., None])[..., 0]
    return State(batch, choice, q, v, accelerations(robot, choice, here, v, a), here)


def tree_state_of(robot: Robot, q, v, a) -> State:
    """State of the whole tree whose loops are known to be closed. q: (n, nq), v, a: (n, nv)."""
    choice = choose_independent(robot)
    return State((len(q),), choice, q, v, a, transmission(robot, choice, q))


def random_closed_states(robot: Robot, choice: Choice, count: int, *, seed: int, dynamic: bool = True) -> State:
    """Random states whose independent joints are within their limits, as far as the loops let them. dynamic: whether
    they move; at rest otherwise."""
    rng = np.random.default_rng(seed)
    start = np.repeat(choice.start[None], count, axis=0)
    target = start.copy()
    target[:, choice.jumping] = rng.normal(size=(count, len(choice.jumping)))
    reach = REACH * constants(robot).sizes[choice.straight_coordinates]
    middle = choice.start[choice.straight]
    lower = np.maximum(np.where(np.isfinite(robot.lower), robot.lower, -np.inf)[choice.straight], middle - reach)
    upper = np.minimum(np.where(np.isfinite(robot.upper), robot.upper, np.inf)[choice.straight], middle + reach)
    target[:, choice.straight] = rng.uniform(np.minimum(lower, upper), upper, size=(count, len(choice.straight)))
    q, _ = follow(robot, choice, start, target, clearance=CLEAR * choice.clearance)
    here = transmission(robot, choice, q)
    v, a = (rng.normal(size=(count, len(choice.independent))) * dynamic for _ in range(2))
    v = (here.gamma @ v[..., None])[..., 0]
    return State((count,), choice, q, v, accelerations(robot, choice, here, v, a), here)


def closed_configurations(robot: Robot, choice: Choice, q, start=None):
    """(n, nq) configurations in which the loops are closed. q: with guesses of passive joints, or (n, independent),
    which follows one branch from `start`. Raises LoopError."""
    if not len(q):
        return np.zeros((0, robot.nq))
    if q.shape[1] == robot.nq:
        closed, size = close(robot, q, choice.dependent)
        _require_closed(robot, choice, closed, size)
        return closed
    first = choice.start if start is None else np.asarray(start, dtype=float)
    if first.shape != (robot.nq,):
        raise OptionError(f"start is one configuration of all joints, ({robot.nq},); got {first.shape}.")
    first, size = close(robot, first[None], choice.dependent)
    _require_closed(robot, choice, first, size)
    target = np.repeat(first, len(q), axis=0)
    target[:, choice.positions] = q
    closed, share = follow(robot, choice, np.repeat(first, len(q), axis=0), target, clearance=SAME)
    if (share < 1).any():
        worst = int(np.argmin(share))
        raise _unreached(robot, choice, worst, q[worst], closed[worst], float(share[worst]))
    return closed


def follow(robot: Robot, choice: Choice, start, target, *, clearance: float):
    """Carry closed configurations along straight lines of the independent coordinates.

    start: (n, nq) closed. target: (n, nq), whose independent entries count. clearance: of `Transmission.clearance`, at
    which to stop. Returns q and the share (n,) of the way that was reached: 1 arrived.
    """
    q = np.array(start, dtype=float)
    q[:, choice.jumping] = target[:, choice.jumping]  # orientations and planes are not travelled
    way = target[:, choice.straight] - q[:, choice.straight]
    sizes = constants(robot).sizes
    length = np.linalg.norm(way / sizes[choice.straight_coordinates], axis=1)
    share, step = np.where(length > 0, 0.0, 1.0), np.full(len(q), FIRST)
    for _ in range(STEPS):
        live = np.flatnonzero((share < 1) & (step >= SMALLEST))
        if not live.size:
            break
        taken = np.minimum(step[live] / length[live], 1 - share[live])
        along = np.zeros((len(live), robot.nv))
        along[:, choice.straight_coordinates] = way[live] * taken[:, None]
        here = transmission(robot, choice, q[live])
        along = (here.gamma @ along[:, choice.independent, None])[..., 0]
        guess = moved(robot, q[live], along)
        trial, size = close(robot, guess, choice.dependent)
        correction = np.linalg.norm(trial - guess, axis=1) / np.linalg.norm(along / sizes, axis=1)
        good = (size < SAME) & (correction < CORRECTION) & (here.clearance > clearance)
        q[live[good]] = trial[good]
        share[live[good]] += taken[good]
        share[share > 1 - 1e-12] = 1.0
        step[live] = np.where(good, np.minimum(2 * step[live], LARGEST), step[live] / 2)
    arrived = share == 1
    q[np.ix_(arrived, choice.straight)] = target[np.ix_(arrived, choice.straight)]
    return q, share


def _unreached(robot: Robot, choice: Choice, sample: int, wanted, stopped, share: float) -> LoopError:
    """What to say of a sample that following a branch did not reach."""
    here = transmission(robot, choice, stopped[None])
    stretched = here.clearance[0] < CLEAR * choice.clearance
    there = (
        f"There passive joint '{loosest(robot, choice, here, 0)}' is no longer held (smallest singular value "
        f"{here.clearance[0]:.1e} of the largest, {choice.clearance:.1e} where it was assembled): the linkage is "
        "stretched out or folded."
        if stretched
        else f"The smallest singular value there is {here.clearance[0]:.1e} of the largest."
    )
    kind = SingularConfigurationError if stretched else LoopError
    return kind(
        f"Robot '{robot.name}' cannot reach sample {sample}: on the way from its assembled pose to "
        f"{', '.join(choice.names)} = {np.round(wanted, 4).tolist()} its loops close only up to {share:.1%}. {there} "
        "Check the log's signs and zero positions, or give start= on the branch of assembly that it moves on."
    )


def _require_closed(robot: Robot, choice: Choice, q, size):
    if (size <= SAME).all():
        return
    worst = int(np.argmax(size))
    loops = ", ".join(robot.loop_names)
    raise LoopError(
        f"The loops of robot '{robot.name}' ({loops}) cannot be closed at sample {worst}: with "
        f"{', '.join(choice.names)} = {np.round(q[worst, choice.positions], 4).tolist()} a gap of {size[worst]:.2g} "
        "(robot lengths, radians) is left. The joints are outside what the linkage can reach, or have other signs or "
        "zero positions than the model."
    )


def transmission(robot: Robot, choice: Choice, q) -> Transmission:
    """Transmission at closed configurations q (n, nq); use `clearance` before trusting it."""
    at = placed(robot, q)
    K = jacobian(robot, at)
    sizes = constants(robot).sizes[choice.dependent]
    U, s, Vt = np.linalg.svd(K[..., choice.dependent] * sizes, full_matrices=False)
    with np.errstate(divide="ignore"):
        inverse = np.where(s > 0, 1 / s, 0.0)
    passive = sizes[:, None] * (np.swapaxes(Vt, 1, 2) @ (inverse[..., None] * np.swapaxes(U, 1, 2)))
    gamma = np.zeros((len(q), robot.nv, len(choice.independent)))
    gamma[:, choice.independent, np.arange(len(choice.independent))] = 1.0
    gamma[:, choice.dependent] = -passive @ K[..., choice.independent]
    if not s.shape[1]:
        return Transmission(at, K, gamma, passive, np.ones(len(q)), np.zeros((len(q), 0)))
    clearance = s[:, -1] / np.maximum(s[:, 0], np.finfo(float).tiny)
    return Transmission(at, K, gamma, passive, clearance, Vt[:, -1])


def require_regular(robot: Robot, choice: Choice, transmission: Transmission):
    """Raise SingularConfigurationError where the dependent coordinates of a configuration are not determined."""
    if not transmission.clearance.size or transmission.clearance.min() > SAME:
        return
    worst = int(np.argmin(transmission.clearance))
    smallest = transmission.clearance[worst]
    raise SingularConfigurationError(
        f"Robot '{robot.name}' is at a singular configuration (sample {worst}): with {', '.join(choice.names)} held, "
        f"passive joint '{loosest(robot, choice, transmission, worst)}' can still move (smallest singular value "
        f"{smallest:.1e} of the largest; {choice.clearance:.1e} where it was assembled, {SAME:.0e} is "
        "the limit). Leave such samples out, or choose other independent joints."
    )


def loosest(robot: Robot, choice: Choice, transmission: Transmission, sample: int) -> str:
    """Name of the passive coordinate that moves most where the passive joints are least held."""
    return robot.dof_names[choice.dependent[int(np.argmax(np.abs(transmission.loose[sample])))]]


def rate(robot: Robot, choice: Choice, transmission: Transmission, u, v, acceleration=None):
    """Dependent part (n, nv, k) of `-passive (K' v + K acceleration)`, with K' the change of K along u."""
    terms = jacobian_rate(robot, transmission.at, u, v)
    if acceleration is not None:
        terms = terms + transmission.K @ acceleration
    out = np.zeros((*terms.shape[:1], robot.nv, terms.shape[2]))
    out[:, choice.dependent] = -transmission.passive @ terms
    return out


def gamma_rate(robot: Robot, at: State):
    """Rate (n, nv, ni) at which Gamma changes along the motion of a state."""
    gamma = at.transmission.gamma
    along = np.broadcast_to(at.v[..., None], gamma.shape)
    return rate(robot, at.choice, at.transmission, along, gamma)


def accelerations(robot: Robot, choice: Choice, transmission: Transmission, v, a):
    """(n, nv) of all joints, at velocities v (n, nv) that keep the loops closed and accelerations a (n, ni) of the
    independent coordinates."""
    bias = rate(robot, choice, transmission, v[..., None], v[..., None])
    return (transmission.gamma @ a[..., None] + bias)[..., 0]


def named(actuated) -> tuple[str, ...] | None:
    if actuated is None:
        return None
    return (actuated,) if isinstance(actuated, str) else tuple(actuated)
