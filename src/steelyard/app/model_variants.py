"""Ready models of samples of a result's posterior, each the model file of the result with the values of one sample."""

from pathlib import Path

from steelyard.errors import OptionError
from steelyard.fit import Draws, load_draws
from steelyard.fit.draws import FILE
from steelyard.job import Job
from steelyard.model import Robot, load, save, write_side
from steelyard.model.formats import MODEL_SUFFIXES
from steelyard.model.side import side_path
from steelyard.pipeline.job_run import load_with_side
from steelyard.report.outputs import staged
from steelyard.report.record import read


def variants(result, out, count: int = 20) -> tuple[Path, ...]:
    """Write models to randomise simulations with; the same as `steelyard convert RESULT OUT --draws COUNT`.

    Args:
        result: folder that `identify` wrote, or a model file in it.
        out: folder for the models, which appear together or not at all. Each is the model file of the result with the
            values of one row of `draws.npz`, its side file beside it where it has drives, rotors or loops.
        count: of models, the first rows.

    Returns:
        Paths of the models.

    Raises:
        SteelyardError: a folder without samples or without a model, or fewer samples than models.

    Example:
        >>> import steelyard as sy
        >>> robot = sy.library.scara()
        >>> _ = sy.write_csv(sy.simulate.record(robot, duration=3.0).log, "run.csv")
        >>> _ = sy.save(robot.with_inertias(1.3 * robot.inertias), "heavy.urdf")
        >>> _ = sy.identify("heavy.urdf", "run.csv", out="result")
        >>> len(sy.variants("result", "models", 3))
        3
    """
    folder, path = _model_of(Path(result))
    draws = load_draws(folder)
    if not 0 < count <= len(draws):
        raise OptionError(f"{count} models: {folder / FILE} has {len(draws)} samples, so give 1 to {len(draws)}.")
    given = read(folder).summary["job"]
    known = {key: given.get(key) for key in ("floating", "gravity")}
    words = {key: tuple(given.get(key) or ()) for key in ("lock", "folders")}
    gravity = None if known["gravity"] is None else tuple(known["gravity"])
    side = str(side_path(path)) if side_path(path).is_file() else None
    robot = load_with_side(Job(str(path), (), floating=known["floating"], gravity=gravity, side=side, **words))
    width = len(str(count - 1))
    with staged(out, inputs=[path]) as stage:
        names = [_written(draws, i, robot, stage / f"{path.stem}_{i:0{width}}{path.suffix}") for i in range(count)]
    return tuple(Path(out) / name for name in names)


def _model_of(result: Path) -> tuple[Path, Path]:
    """Folder of a result, and the model file in it. Raises OptionError."""
    if not result.is_dir():
        if result.name not in read(result.parent).summary["files"]:
            raise OptionError(f"{result} is no model of the result in {result.parent}; give that folder.")
        return result.parent, result
    found = [name for name in read(result).summary["files"] if name.endswith(MODEL_SUFFIXES)]
    if not found:
        raise OptionError(f"{result} holds no identified model; give the folder that steelyard identify wrote.")
    return result, result / found[0]


def _written(draws: Draws, index: int, robot: Robot, path: Path) -> str:
    """Name of the model of one row."""
    variant = draws.robot(index, robot)
    save(variant, path)
    written = load(path)
    if variant.rotors or variant.drives or set(variant.loop_names) - set(written.loop_names):
        write_side(variant, side_path(path), known=written.loop_names, driven=written.drives)
    return path.name
