"""Names and versions of what is written to files, such as `steelyard information 1.1`.

A newer minor version adds fields that an older reader may leave aside; a newer major version changes the meaning of
what is there, so that an older reader must not guess.
"""

import re
import warnings

from steelyard.errors import SteelyardError


class NewerFormat(UserWarning):
    """A file was written by a newer version, and what this one does not know in it was left aside."""


def require_readable(found, expected: str, path, error: type[SteelyardError]):
    """Check the format that a file states against the one that is read here.

    expected: a name with major and minor, `steelyard information 1.1`; found: what the file says ("1" is 1.0). Warns
    NewerFormat for a newer minor version; raises `error` for another name or a newer major one.
    """
    name, major, minor = _parsed(expected)
    given = _parsed(found)
    if given[0] != name:
        raise error(f"{path} has format '{found}'; expected '{expected}'.")
    if given[1] > major:
        raise error(
            f"{path} has format '{found}'; this version reads {name} up to version {major}. Upgrade steelyard to read "
            "it."
        )
    if given[1:] > (major, minor):
        warnings.warn(
            f"{path} has format '{found}', newer than '{expected}': fields that this version does not know are left "
            "aside.",
            NewerFormat,
            stacklevel=3,
        )


def _parsed(text) -> tuple[str, int, int]:
    """Name, major and minor; an empty name for anything else."""
    match = re.fullmatch(r"(steelyard [a-z ]+) (\d+)(?:\.(\d+))?", str(text))
    return ("", 0, 0) if match is None else (match[1], int(match[2]), int(match[3] or 0))
