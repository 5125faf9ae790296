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
from steelyard.report.model_validation import validate_models


def validate(
    model: str | Path | Robot | Estimate | Result,
    log: Any,
    *,
    rotors: bool = False,
    contacts: str | Mapping[str, str] | None = None,
    row_weights: ArrayLike | None = None,
    **options,
) -> Validation:
    """Predict the torques of a log and compare; of recordings the same as `steelyard validate`.

    Args:
        model: an Estimate or Result with all that was fitted, a Robot with what its file states, a model file, or a
            folder that `identify` wrote.
        log: one that the model was not fitted to. A Log with q, v, a and tau is taken as it is, unless the model
            is a path. A path, a Log without a, or several of these, are prepared as `identify` prepares them.
        rotors, contacts, row_weights: of a prepared Log, as of `fit.validate`.
        options: of recordings, how they are read and filtered: options of `identify` such as `cutoff`, `corrections`.

    Returns:
        The Validation, as `fit.validate`.

    Raises:
        LogError: as `fit.validate`, and for a recording that cannot be prepared.

    Example:
        >>> import steelyard as sy
        >>> robot = sy.library.scara()
        >>> recording = sy.simulate.record(robot, duration=3.0).log
        >>> bool(sy.validate(robot, recording).relative_error < 0.05)
        True
    """
    model = model.estimate if isinstance(model, Result) else model
    prepared = isinstance(log, Log) and log.v is not None and log.a is not None
    if prepared and isinstance(model, Robot | Estimate) and not options:
        return on_prepared(model, log, rotors=rotors, contacts=contacts, row_weights=row_weights)
    if rotors or contacts is not None or row_weights is not None:
        raise OptionError(
            "rotors, contacts and row_weights are for a Log with q, v, a and tau and a model that is no path. "
            "steelyard.prepare.prepare(log, robot).log makes one of a recording."
        )
    return validate_models(model, log, **options).models[0][1]
