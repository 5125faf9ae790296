"""MuJoCo's compiler, called so that no file can take the process with it."""

import warnings
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from steelyard.errors import ModelError
from steelyard.model.mjcf_reach import require_reach
from steelyard.model.mjcf_size import require_bounded
from steelyard.model.mujoco_warnings import heard


def compile_file(path, folders: tuple[Path, ...], change: Callable = lambda spec: None):
    """MuJoCo model of an MJCF file and MuJoCo's warnings about it. folders: in which files that it names may lie, as
    of `references.reach`. change: is given the MjSpec before it is compiled.

    Raises ModelError, with MuJoCo's own error as its cause.
    """
    path = Path(path)
    require_reach(path, folders)
    require_bounded(path)
    # After an exception that it did not foresee, MuJoCo (4.0) leaves its handler of warnings behind, one a thread, and
    # the next warning in that thread calls itself for ever. A thread of its own takes the handler with it.
    with ThreadPoolExecutor(1, "mujoco") as apart:
        return apart.submit(_compiled, path, change).result()


def _compiled(path: Path, change: Callable):
    import mujoco

    with warnings.catch_warnings(record=True) as caught, heard() as told:
        warnings.simplefilter("always")
        try:
            spec = mujoco.MjSpec.from_file(str(path))
            change(spec)
            m = spec.compile()
        except (ValueError, RuntimeError) as error:  # the latter where MuJoCo fails within
            raise ModelError(f"MuJoCo cannot compile {path}: {str(error).strip()}") from error
    return m, [*(str(each.message) for each in caught), *told]
