"""Libraries that come with an extra of the installation, and what to install where one is missing."""

from collections.abc import Iterator
from contextlib import contextmanager
from importlib.util import find_spec

from steelyard.errors import OptionError

#: By extra, the modules it brings; `pyproject.toml` lists the packages.
EXTRAS = {
    "logs": ("pyarrow", "h5py", "rosbags", "mcap", "lz4", "zstandard"),
    "report": ("plotly", "jinja2", "markupsafe"),
    "meshes": ("trimesh", "collada", "lxml"),
    "usd": ("pxr",),
    "cluster": ("dask", "distributed", "fsspec"),
    "gpu": ("jax",),
    "rerun": ("rerun",),
}


@contextmanager
def extra(purpose: str) -> Iterator[None]:
    """A context in which libraries of extras are imported. purpose: such as "Reading Parquet". Raises OptionError where
    one is not installed; names the extra that brings it."""
    try:
        yield
    except ModuleNotFoundError as error:
        raise _missing(purpose, (error.name or "").partition(".")[0], error) from error


def require_extra(purpose: str, *modules: str) -> None:
    """Raise OptionError unless all modules can be imported: before long work that needs them at its end."""
    for module in modules:
        if find_spec(module) is None:
            raise _missing(purpose, module)


def _missing(purpose: str, module: str, error: Exception | None = None) -> Exception:
    name = next((name for name, brought in EXTRAS.items() if module in brought), None)
    if name is None:  # a fault of the library itself
        return error or ModuleNotFoundError(module)
    return OptionError(f"{purpose} needs {module}, which is not installed: pip install 'steelyard[{name}]'.")
