"""States of the whole tree from those of the independent joints."""

from dataclasses import dataclass
from math import prod

import numpy as np

from steelyard.dynamics.closed_loop.branch import follow
from steelyard.dynamics.closed_loop.choice import Choice, choose
from steelyard.dynamics.closed_loop.closure import CLOSED, close
from steelyard.dynamics.closed_loop.velocity import (
    SINGULAR,
    Transmission,
    accelerations,
    loosest,
    require_regular,
    transmission,
)
from steelyard.errors import LoopError, OptionError, SingularConfigurationError
from steelyard.model import Robot

STRETCHED = 1e-2  # of the assembled pose's clearance: below, a motion that stops has met a singular configuration


@dataclass(frozen=True, eq=False)
class State:
    """n states that keep all loops closed: q (n, nq), v, a (n, nv) of the tree, and how the independent joints move it.

    batch: leading axes of the caller's arrays.
    """

    batch: tuple[int, ...]
    choice: Choice
    q: np.ndarray
    v: np.ndarray
    a: np.ndarray
    held: Transmission


def state(robot: Robot, q, v, a, *, actuated=None, start=None) -> State:
    """State of the tree; arguments as of `closed_loop.inverse_dynamics`."""
    choice = choose(robot, named(actuated))
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
    q = on_branch(robot, choice, q, start)
    held = transmission(robot, choice, q)
    require_regular(robot, choice, held)
    v = (held.gamma @ v[..., None])[..., 0]
    return State(batch, choice, q, v, accelerations(robot, choice, held, v, a), held)


def of_tree(robot: Robot, q, v, a) -> State:
    """State of n samples of the whole tree whose loops are known to be closed: q (n, nq), v, a (n, nv)."""
    choice = choose(robot)
    return State((len(q),), choice, q, v, a, transmission(robot, choice, q))


def on_branch(robot: Robot, choice: Choice, q, start=None):
    """Closed configurations (n, nq). q: (n, nq), passive joints as guesses, or (n, independent), which follows one
    branch from `start` (nq,), the assembled pose by default. Raises LoopError where loops cannot be closed."""
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
    closed, share = follow(robot, choice, np.repeat(first, len(q), axis=0), target, clearance=SINGULAR)
    if (share < 1).any():
        worst = int(np.argmin(share))
        raise _unreached(robot, choice, worst, q[worst], closed[worst], float(share[worst]))
    return closed


def _unreached(robot: Robot, choice: Choice, sample: int, wanted, stopped, share: float) -> LoopError:
    """What to say of a sample that following a branch did not reach."""
    held = transmission(robot, choice, stopped[None])
    stretched = held.clearance[0] < STRETCHED * choice.clearance
    there = (
        f"There passive joint '{loosest(robot, choice, held, 0)}' is no longer held (smallest singular value "
        f"{held.clearance[0]:.1e} of the largest, {choice.clearance:.1e} where it was assembled): the linkage is "
        "stretched out or folded."
        if stretched
        else f"The smallest singular value there is {held.clearance[0]:.1e} of the largest."
    )
    kind = SingularConfigurationError if stretched else LoopError
    return kind(
        f"Robot '{robot.name}' cannot reach sample {sample}: on the way from its assembled pose to "
        f"{', '.join(choice.names)} = {np.round(wanted, 4).tolist()} its loops close only up to {share:.1%}. {there} "
        "Check the log's signs and zero positions, or give start= on the branch of assembly that it moves on."
    )


def _require_closed(robot: Robot, choice: Choice, q, size):
    if (size <= CLOSED).all():
        return
    worst = int(np.argmax(size))
    loops = ", ".join(robot.loop_names)
    raise LoopError(
        f"The loops of robot '{robot.name}' ({loops}) cannot be closed at sample {worst}: with "
        f"{', '.join(choice.names)} = {np.round(q[worst, choice.positions], 4).tolist()} a gap of {size[worst]:.2g} "
        "(robot lengths, radians) is left. The joints are outside what the linkage can reach, or have other signs or "
        "zero positions than the model."
    )


def named(actuated) -> tuple[str, ...] | None:
    if actuated is None:
        return None
    return (actuated,) if isinstance(actuated, str) else tuple(actuated)
