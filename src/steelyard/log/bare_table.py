"""Tables without a header: which columns are what, as the numbers themselves prove it.

The first column is the time, then follow blocks of one column a joint. A block is the velocity of another one where its
integral gives that one's changes, and so is an acceleration; what is left is the torque.
"""

import re
from collections import Counter
from collections.abc import Mapping, Sequence

import numpy as np
from numpy.typing import NDArray

from steelyard.errors import LogError, choices
from steelyard.log.raw_channels import HOW
from steelyard.log.stamps import FITS, NONE_FITS, integral, windows


def channels_of_columns(columns: NDArray[np.float64], joints: Sequence[str]) -> Mapping[str, list[int] | int]:
    """Column numbers by channel, of a table (n, k) of a robot with these joints.

    Raises LogError where the numbers do not tell.
    """
    count = columns.shape[1]
    t, rest = columns[:, 0], columns[:, 1:]
    if len(t) < 3 or not np.all(np.diff(t) > 0):
        raise _refusal(count, "its first column does not rise, as time does")
    for size in _sizes(joints):
        if rest.shape[1] % size == 0 and 2 <= rest.shape[1] // size <= 4:
            blocks = [rest[:, k : k + size] for k in range(0, rest.shape[1], size)]
            return {"t": 0} | {
                key: [1 + k * size + j for j in range(size)] for key, k in _meanings(t, blocks, count).items()
            }
    raise _refusal(count, f"behind the time it has {count - 1}, not two to four a joint of {choices(joints)}")


def _sizes(joints: Sequence[str]) -> list[int]:
    """How many joints a table may have: all, or those counted behind a common name, without a gripper."""
    stems = Counter(re.sub(r"\d+$", "", name) for name in joints)
    return list(dict.fromkeys([len(joints), *(size for size in stems.values() if 1 < size < len(joints))]))


def _meanings(t: NDArray, blocks: list[NDArray], count: int) -> dict[str, int]:
    """Number of the block of each channel."""
    missed = {
        (i, j): _missed(t, blocks[i], blocks[j]) for i in range(len(blocks)) for j in range(len(blocks)) if i != j
    }
    rates = {pair for pair, share in missed.items() if share < FITS}
    if len(blocks) == 2 and not rates and min(missed.values()) > NONE_FITS:
        return {"q": 0, "tau": 1}
    starts = [i for i, _ in rates if i not in {j for _, j in rates}]
    found = {"q": starts[0]} if len(starts) == 1 else {}
    for key, before in (("v", "q"), ("a", "v")):
        follows = [j for i, j in rates if i == found.get(before)]
        if len(follows) == 1:
            found[key] = follows[0]
    left = [k for k in range(len(blocks)) if k not in found.values()]
    if "v" not in found or len(left) != 1 or len(rates) != len(found) - 1:
        raise _refusal(count, "no block of columns is clearly the rate of another, and one alone left for torques")
    return found | {"tau": left[0]}


def _missed(t: NDArray, x: NDArray, rate: NDArray) -> float:
    """Share of the energy of the changes of x (n, k) that its supposed rate misses."""
    start, stop = windows(t)
    change, expected = (each[stop] - each[start] for each in (x, integral(t, rate)))
    energy = np.sum(change**2)
    return float(np.sum((change - expected) ** 2) / energy) if energy else np.inf


def _refusal(count: int, why: str) -> LogError:
    return LogError(
        f"the table has no header, and its {count} columns do not tell what they are: {why}. Write a header t,q_JOINT,"
        f"v_JOINT,tau_JOINT above them, or say which is which by their numbers: {HOW}"
    )
