"""How estimators that reweigh data name the fit that solves what they made."""

from collections.abc import Callable, Iterable, Iterator

from steelyard.errors import OptionError, choices
from steelyard.fit.estimate import Estimate
from steelyard.fit.linear import least_squares
from steelyard.fit.model_geometry import consistent
from steelyard.information import Information
from steelyard.log import Log

Fit = Callable[[Information], Estimate]
FITS: dict[str, Fit] = {"least_squares": least_squares, "consistent": consistent}


def fit_of(fit: str | Fit) -> Fit:
    """A fit by name, or the function given: any that takes an Information and returns an Estimate.

    Options go in with the function: `functools.partial(sy.fit.consistent, weight=0.1)`. Raises OptionError.
    """
    if callable(fit):
        return fit
    if fit not in FITS:
        raise OptionError(f"fit is one of {choices(FITS)}, or a function of an Information; got {fit!r}.")
    return FITS[fit]


def repeatable(logs: Log | Iterable[Log]) -> Log | Iterable[Log]:
    """Logs that can be gone through again. Raises OptionError for an iterator, which is empty after one pass."""
    if isinstance(logs, Iterator):
        raise OptionError(
            "This estimator passes over the logs several times; give a list of logs, or an object whose __iter__ "
            "reads them anew, instead of a generator."
        )
    return logs


def as_list(logs: Log | Iterable[Log]) -> list[Log]:
    return [logs] if isinstance(logs, Log) else list(logs)
