"""Torque error of a model on logs, from Python: recordings are prepared as the command line does."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from numpy.typing import ArrayLike

from steelyard.errors import OptionError
from steelyard.fit import Estimate, Validation
from steelyard.fit import validate as on_prepared
from steelyard.log import Log
from steelyard.model import Robot
from steelyard.pipeline import Result
from steelyard.report import validate_models


def validate(
    model: str | Path | Robot | Estimate | Result,
    log: Any,
    *,
    rotors: bool = False,
    contacts: str | Mapping[str, str] = "point",
    row_weights: ArrayLike | None = None,
    **options,
) -> Validation:
    """Predict the torques of a log and compare; of recordings the same as `steelyard validate`.

    Args:
        model: an Estimate or Result with all that was fitted, a Robot with what its file states, a model file, or a
            folder that `identify` wrote.
        log: one that the model was not fitted to. A Log with q, v, a and tau is taken as it is, unless the model
            is a path. A path, a Log without a, or several of these, are prepared as `identify` prepares them.
        rotors: of a prepared Log: whether the rotors of a Robot move, too; those of an Estimate do when they were
            identified.
        contacts: of a prepared Log, as of `accumulate`: forces at contacts that the log flags are those that suit the
            prediction best.
        row_weights: of a prepared Log, as of `accumulate`, by which these are the best.
        options: of recordings, how they are read and filtered: options of `identify` such as `cutoff`, `corrections`.

    Returns:
        A Validation with predicted and measured torques and their errors.

    Raises:
        LogError: the log lacks v, a or tau, has values that are not finite, or other joints or another order of them.

    Example:
        >>> import numpy as np, steelyard as sy
        >>> robot, rng = sy.library.scara(), np.random.default_rng(0)
        >>> q, v, a = rng.normal(size=(3, 200, robot.nv))
        >>> tau = sy.fit.predict(robot, q, v, a)  # with friction, which inverse dynamics leaves out
        >>> log = sy.Log(t=np.arange(200) * 0.01, q=q, v=v, a=a, tau=tau, joint_names=robot.joint_names)
        >>> bool(sy.validate(robot, log).relative_error < 1e-9)
        True
    """
    model = model.estimate if isinstance(model, Result) else model
    prepared = isinstance(log, Log) and log.v is not None and log.a is not None
    if prepared and isinstance(model, Robot | Estimate) and not options:
        return on_prepared(model, log, rotors=rotors, contacts=contacts, row_weights=row_weights)
    if rotors or contacts != "point" or row_weights is not None:
        raise OptionError(
            "rotors, contacts and row_weights are for a Log with q, v, a and tau and a model that is no path. "
            "steelyard.prepare.prepare(log, robot).log makes one of a recording."
        )
    return validate_models(model, log, **options).models[0][1]
