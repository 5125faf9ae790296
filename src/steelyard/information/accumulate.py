"""`accumulate`: the Information of logs, streamed."""

from collections.abc import Callable, Iterable

import numpy as np
from numpy.typing import ArrayLike

from steelyard.defaults import FRICTION
from steelyard.dynamics import with_motors
from steelyard.errors import OptionError, StreamInterrupted, choices
from steelyard.identifiable import regression_basis
from steelyard.information.collect import Collector, Job
from steelyard.information.engines import ENGINES
from steelyard.information.kinds import OF_JOINTS, kinds_of, refuse_for_loops, sensors_of
from steelyard.information.sums import Information, require_kind
from steelyard.log import Log
from steelyard.model import Robot
from steelyard.terms import COULOMB_WIDTH, ParameterLayout, UserColumn, layout_of

CUTOFF = 5.0  # Hz, of the windows of momentum and energy rows: long enough to average noise, short enough for motion
CHECKPOINT = 2**18  # samples after which what was summed is set aside, safe from an interruption


def accumulate(
    robot: Robot,
    log: Log | Iterable[Log],
    *,
    rows: str | Iterable[str] = "joints",
    friction=FRICTION,
    armature: bool = False,
    coupling=(),
    springs=(),
    extra: Iterable[UserColumn] = (),
    rotors: bool = False,
    columns: str = "base",
    sums: str = "gram",
    cutoff: float = CUTOFF,
    coulomb_width: float = COULOMB_WIDTH,
    sample_weights: ArrayLike | Callable[[Log], ArrayLike] | None = None,
    engine: str = "auto",
) -> Information:
    """Information of one log or several, streamed in chunks.

    log: with q, v, a and tau of every joint (`filters.differentiate` fills v and a), or an iterable of logs; with
    closed loops those of the independent joints will do, see `closed_loop`. rows: what
    the equations speak of, one kind or several: "joints" (torques), "momentum" or "energy" (the same physics integrated
    over windows of a low-pass filter at `cutoff` Hz, without a), "power" (of all joints together), "base" or
    "wrench:LINK" (six-axis sensors under the robot or in front of a link, from `log.wrenches`). Every row group has a
    noise of its own, and the base columns are those that all rows together reveal.

    friction: any of "viscous", "coulomb", "offset"; armature: whether to estimate it. coupling: groups of joints with
    a common motor, such as `"joint5+joint6"`, `(("joint5", "joint6"),)` or `({"joint5": 1, "joint6": -1},)`, whose
    inertia and friction act on the sum of their speeds; springs: joints with a linear spring; extra: `UserColumn`s.
    rotors: whether the robot's motor rotors are bodies with ten columns each; without, they are left aside. What is not
    a column keeps the value of the model and is subtracted from tau as known. columns: "base" (identifiable choice,
    lossless) or "all". sums: "gram", or "qr" for triangular factors, which lose no digits to ill-conditioned data.
    coulomb_width: half-width of standstill, rad/s. What the data weighs against a prior, and variances, count the
    independent samples that the filters of the log left (`Log.effective_samples`; windows of momentum and energy are
    independent as they are). sample_weights: of the squared
    residuals of rows of joints, (n,) or (n, nv), finite and not negative, times `log.weights`; for several logs a
    function of each log that returns them. A weight of 2 counts a sample twice, so `info.counts` are sums of weights.
    engine: "numpy", "numba" (fused kernel, one thread a core), "jax" (in float64 on JAX's device) or "auto", which
    takes JAX for logs of JAX arrays and the kernel where it pays; they agree to rounding, and the result names the one
    used. Only Gram matrices of joint torques have a choice.

    Raises LogError for missing or non-finite channels, OptionError for unknown options, or where JAX is asked for and
    absent or without float64. A stream of logs that fails or
    is interrupted raises StreamInterrupted with the Information of complete logs as its `partial`.
    """
    _check_names(columns, engine, sums)
    robot = with_motors(robot)
    kinds = kinds_of(robot, rows)
    if robot.loops:
        refuse_for_loops(robot, kinds, engine=engine, rotors=rotors)
    options = {"friction": friction, "armature": armature, "coupling": coupling, "springs": springs}
    layout = layout_of(robot, **options, extra=tuple(extra), rotors=rotors)
    _check_rows(kinds, layout, engine, sums)
    if sample_weights is not None:
        _check_weights(sample_weights, kinds, several=not isinstance(log, Log))
    basis = regression_basis(robot, layout, sensors_of(robot, kinds))
    kept = basis.columns if columns == "base" else np.arange(layout.size)
    job = Job(robot, layout, basis, kept, kinds, sums, coulomb_width, cutoff, engine, sample_weights)
    if isinstance(log, Log):
        collector = Collector(job)
        collector.add(log)
        return collector.information()
    return _streamed(job, log)


def _check_names(columns: str, engine: str, sums: str):
    if columns not in ("base", "all"):
        raise OptionError(f"columns is 'base' or 'all'; got {columns!r}.")
    if engine not in ("auto", *ENGINES):
        raise OptionError(f"engine is one of auto, {choices(ENGINES)}; got {engine!r}.")
    require_kind(sums)


def _check_rows(kinds: Iterable[str], layout: ParameterLayout, engine: str, sums: str):
    """Refuse engines and columns that rows of these kinds do not have."""
    if engine in ("numba", "jax") and (sums == "qr" or "joints" not in kinds):
        raise OptionError(f"Engine '{engine}' makes Gram matrices of joint torques only; leave engine at 'auto'.")
    if (layout.extras or layout.rotor_names) and not set(kinds) <= set(OF_JOINTS):
        raise OptionError(
            "Rotors, couplings, springs and user columns go with rows of joints; leave them out of a job with wrench "
            "rows."
        )


def _check_weights(sample_weights, kinds: Iterable[str], *, several: bool):
    if several and not callable(sample_weights):
        raise OptionError("sample_weights of several logs is a function that returns those of the log it is given.")
    if tuple(kinds) != ("joints",):
        raise OptionError("sample_weights go with rows of joints alone; leave them out of a job with others.")


def _streamed(job: Job, logs: Iterable[Log]) -> Information:
    done, seen, read, collector = None, 0, 0, Collector(job)
    try:
        for log in logs:
            collector.add(log)
            read += 1
            if collector.count >= CHECKPOINT:
                seen += collector.count
                done, collector = _together(done, collector), Collector(job, seen)
    except (Exception, KeyboardInterrupt) as error:  # whatever the caller's iterator raises, and Ctrl-C
        usable = collector.complete and collector.count > 0
        raise StreamInterrupted(read, _together(done, collector) if usable else done, error) from error
    return _together(done, collector) if collector.count or done is None else done


def _together(done: Information | None, collector: Collector) -> Information:
    return collector.information() if done is None else done + collector.information()
