"""Training and validation parts of a log, as contiguous blocks: neighbouring samples are too alike to be split apart.

Filter and differentiate first, then split: a `Log` may have gaps, and what is fitted or validated sample by sample does
not mind them.
"""

from collections.abc import Sequence
from typing import Any

import numpy as np

from steelyard.arguments import require_type
from steelyard.errors import LogError, OptionError, choices
from steelyard.log.channels import DRIVE
from steelyard.log.frame_channels import WORDS
from steelyard.log.log import Log, independence_of


def split_blocks(log: Log, validation: float = 0.3, *, blocks: int = 1, gap: float = 0.0) -> tuple[Log, Log]:
    """Training and validation part of a log: of each of `blocks` equal stretches, the last part is held out.

    Args:
        log: what is split; no sample is in both parts.
        validation: held-out fraction, between 0 and 1.
        blocks: stretches; 1 holds out the end of the log, more hold out parts of several motions.
        gap: s at the start of every held-out part, half of it at most, that are in neither, so that what neighbouring
            samples share (a filter, slow errors) is not taken for agreement.

    Returns:
        (training, validation).

    Raises:
        OptionError: a fraction outside (0, 1).
        LogError: a part would be empty.
    """
    require_type(Log, log=log)
    if not 0 < validation < 1:
        raise OptionError(f"validation={validation}: the held-out fraction lies between 0 and 1")
    held, between = np.zeros((2, len(log)), dtype=bool)
    for block in _blocks(log, blocks):
        own = block[len(block) - round(validation * len(block)) :]
        held[own] = True
        between[own[: min(round(gap * log.rate), len(own) // 2)]] = True
    if held.all() or not held.any():
        raise LogError(
            f"log {log.name!r}: {len(log)} samples cannot give {validation:g} for validation and keep the rest"
        )
    return log[~held].noted("training part"), log[held & ~between].noted("validation part")


def folds(log: Log, k: int = 3) -> list[tuple[Log, Log]]:
    """Blocked cross-validation: each of k contiguous blocks beside the rest of the log.

    Args:
        log: what is split.
        k: blocks, 2 or more.

    Returns:
        k pairs (rest of the log, block), blocks in order of time.

    Raises:
        OptionError: k < 2.
        LogError: a log of fewer than k samples.
    """
    if k < 2:
        raise OptionError(f"k={k}: cross-validation needs at least 2 folds")
    pairs = []
    for i, block in enumerate(_blocks(log, k), start=1):
        test = np.zeros(len(log), dtype=bool)
        test[block] = True
        pairs.append((log[~test].noted(f"all but fold {i} of {k}"), log[test].noted(f"fold {i} of {k}")))
    return pairs


def _blocks(log: Log, count: int) -> list[np.ndarray]:
    if not isinstance(count, int | np.integer) or count < 1:
        raise OptionError(f"blocks={count!r}: expected a whole number of at least 1")
    if len(log) < count:
        raise LogError(f"log {log.name!r}: {len(log)} samples cannot be cut into {count} blocks")
    return np.array_split(np.arange(len(log)), count)


def joined(logs: Sequence[Log], *, name: str = "joined logs") -> Log:
    """Samples of several filtered logs behind each other, for sample-by-sample use only.

    Args:
        logs: with q, v, a and tau.
        name: of the result.

    Returns:
        The log; its time is that of a single log, of several it runs on at the first one's rate.
    """

    def stack(key):
        return np.concatenate([getattr(log, key) for log in logs])

    count = sum(len(log) for log in logs)
    t = np.arange(count) / logs[0].rate if len(logs) > 1 else logs[0].t
    q, v, a, tau = (stack(key) for key in ("q", "v", "a", "tau"))
    filtered = all(log.direction is not None for log in logs)
    recorded = all(log.bandwidth is None for log in logs)
    shared = logs[0].shared if all(log.shared == logs[0].shared for log in logs) else ()
    widths = {key: {None if (x := getattr(log, key)) is None else x.shape[1] for log in logs} for key in DRIVE}
    told: dict[str, Any] = {key: stack(key) for key, own in widths.items() if len(own) == 1 and None not in own}
    told |= {key: _stacked(logs, key) for key in WORDS}
    weights = [np.ones((len(log), log.nv)) if log.weights is None else log.weights for log in logs]
    return Log(
        **told,
        t=t,
        q=q,
        v=v,
        a=a,
        tau=tau,
        direction=stack("direction") if filtered else None,
        direction_width=logs[0].direction_width,
        shared=shared,
        shared_direction=stack("shared_direction") if shared else None,
        weights=np.concatenate(weights) if any(log.weights is not None for log in logs) else None,
        bandwidth=None if recorded else 0.5 * independence_of(logs) * logs[0].rate,
        joint_names=logs[0].joint_names,
        name=name,
    )


def _stacked(logs: Sequence[Log], key: str) -> dict[str, np.ndarray]:
    """Arrays by frame. Raises LogError for logs that do not have the same ones, as none can stand for the lacking."""
    frames = [set(getattr(log, key)) for log in logs]
    if any(each != frames[0] for each in frames):
        listed = "; ".join(
            f"{log.name!r}: {choices(sorted(each)) or 'none'}" for log, each in zip(logs, frames, strict=True)
        )
        raise LogError(f"logs cannot be joined, as their {key} are of other frames: {listed}")
    return {name: np.concatenate([getattr(log, key)[name] for log in logs]) for name in getattr(logs[0], key)}
