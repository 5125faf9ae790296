"""`accumulate`: the Information of logs, streamed."""

from collections.abc import Iterable

import numpy as np

from steelyard.errors import LogError, OptionError, choices
from steelyard.identifiability.structure import regression_basis
from steelyard.information.engines import ENGINES, Sums
from steelyard.information.rows import channels_of, recorded_direction
from steelyard.information.sums import Information
from steelyard.log.log import Log
from steelyard.model.robot import Robot
from steelyard.parameters import COULOMB_WIDTH, FRICTION, UserColumn, layout_of


def accumulate(
    robot: Robot,
    log: Log | Iterable[Log],
    *,
    friction=FRICTION,
    armature: bool = False,
    coupling=(),
    springs=(),
    extra: Iterable[UserColumn] = (),
    rotors: bool = False,
    columns: str = "base",
    coulomb_width: float = COULOMB_WIDTH,
    independence: float = 1.0,
    engine: str = "auto",
) -> Information:
    """Information of one log or several, streamed in chunks.

    log: with q, v, a and tau of every joint (`filters.differentiate` fills v and a). friction: any of "viscous",
    "coulomb", "offset"; armature: whether to estimate it. coupling: groups of joints with a common motor, such as
    `"joint5+joint6"`, `(("joint5", "joint6"),)` or `({"joint5": 1, "joint6": -1},)`, whose inertia and friction act on
    the sum of their speeds; springs: joints with a linear spring; extra: `UserColumn`s. rotors: whether the robot's
    motor rotors are bodies with ten columns each; without, they are left aside. What is not a column keeps the value of
    the model and is subtracted from tau as known. columns: "base" (identifiable choice, lossless) or "all".
    coulomb_width: half-width of standstill, rad/s. independence: share of the samples whose noise is independent, `2
    cutoff / rate` after a low-pass filter: it scales what the data weighs against a prior, and variances. engine:
    "numpy", "numba" (fused kernel, one thread a core), "jax" (in float64 on JAX's device) or "auto", which takes JAX
    for logs of JAX arrays and the kernel where it pays; they agree to rounding, and the result names the one used.
    Raises LogError for missing or non-finite channels, OptionError for unknown options, or where JAX is asked for and
    absent or without float64.
    """
    if columns not in ("base", "all"):
        raise OptionError(f"columns is 'base' or 'all'; got {columns!r}.")
    if not 0 < independence <= 1:
        raise OptionError(f"independence is a share between 0 and 1; got {independence!r}.")
    options = {"friction": friction, "armature": armature, "coupling": coupling, "springs": springs}
    layout = layout_of(robot, **options, extra=tuple(extra), rotors=rotors)
    basis = regression_basis(robot, layout)
    kept = basis.columns if columns == "base" else np.arange(layout.size)
    if engine not in ("auto", *ENGINES):
        raise OptionError(f"engine is one of auto, {choices(ENGINES)}; got {engine!r}.")
    sums = Sums(robot, layout, kept, coulomb_width, engine)
    for each in [log] if isinstance(log, Log) else log:
        q, v, a, tau = channels_of(robot, each)
        sums.add(q, v, a, tau, recorded_direction(each, coulomb_width, layout))
    if sums.count == 0:
        raise LogError("No samples to accumulate: the log is empty.")
    gram, moment, energy = sums.total()
    return Information(
        gram=gram,
        moment=moment,
        energy=energy,
        counts=np.full(robot.nv, sums.count),
        weights=np.ones(robot.nv),
        columns=kept,
        group_names=robot.dof_names,
        layout=layout,
        basis=basis,
        robot=robot,
        coulomb_width=coulomb_width,
        independence=independence,
        engine=sums.engine,
    )
