"""`steelyard view`, and the preview of `steelyard excite`: pages and films, and what was written in words."""

from collections.abc import Iterator
from pathlib import Path

from steelyard import storage
from steelyard.errors import DrawingError, OptionError
from steelyard.model import Robot, load
from steelyard.viewer.motion import motion_of
from steelyard.viewer.movie import film, require_film
from steelyard.viewer.show import require_page, view


def command(model, *, estimate=None, trajectory=None, out, movie=None, folders=()) -> list[str]:
    """Write the page, and the film where one is asked for. folders: as of `load`. Returns lines to show.

    Raises SteelyardError.
    """
    require_outputs(out, movie)
    if movie is not None and trajectory is None:
        raise OptionError("--movie films a motion; give one with --trajectory.")
    robot = load(model, folders=folders)
    motion = None if trajectory is None else motion_of(trajectory, robot)
    return list(written(robot, estimate=estimate, motion=motion, page=out, movie=movie))


def require_outputs(page: Path | None, movie: Path | None):
    """Raise OptionError for names that are no page and no film, and places that cannot be: before work, not after."""
    if page is not None:
        storage.require_folder(require_page(page).parent)
    if movie is not None:
        storage.require_folder(require_film(movie).parent)


def written(robot: Robot, *, motion, estimate=None, page=None, movie=None) -> Iterator[str]:
    """Write what is asked for; one line a file. A film that cannot be drawn here is left out, with the reason."""
    if page is not None:
        yield f"Wrote {view(robot, estimate=estimate, trajectory=motion, path=page)}."
    if movie is not None:
        try:
            yield f"Wrote {film(robot, motion, movie)}."
        except DrawingError as error:
            yield f"No film was written to {movie}: {error}."
