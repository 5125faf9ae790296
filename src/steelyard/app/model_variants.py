"""Ready models of samples of a result's posterior, each the model file of the result with the values of one sample."""

from pathlib import Path

from steelyard.errors import OptionError, choices
from steelyard.fit import Draws, load_draws
from steelyard.fit.draws import FILE, OF_JOINTS
from steelyard.job import Job
from steelyard.model import Robot, load, save, write_side
from steelyard.model.formats import BY_SUFFIX, MODEL_SUFFIXES, options_of_copy
from steelyard.model.side import side_path
from steelyard.pipeline.job_run import load_with_side
from steelyard.report.outputs import staged
from steelyard.report.record import usable


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
        SteelyardError: a folder without samples or without a model, a verdict to keep the nominal model, or fewer
            samples than models.

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
    given = usable(folder).summary["job"]
    gravity, side = given.get("gravity"), side_path(path)
    job = Job(
        str(path),
        (),
        floating=given.get("floating"),
        gravity=None if gravity is None else tuple(gravity),
        side=str(side) if side.is_file() else None,
        lock=tuple(given.get("lock") or ()),
        folders=tuple(given.get("folders") or ()),
    )
    robot = load_with_side(job)
    width = len(str(count - 1))
    with staged(out, inputs=[path]) as stage:
        names = [_written(draws, i, robot, stage / f"{path.stem}_{i:0{width}}{path.suffix}") for i in range(count)]
    return tuple(Path(out) / name for name in names)


def _model_of(result: Path) -> tuple[Path, Path]:
    """Folder of a result, and the model file in it. Raises OptionError."""
    if not result.is_dir():
        if result.name not in usable(result.parent).summary["files"]:
            raise OptionError(f"{result} is no model of the result in {result.parent}; give that folder.")
        return result.parent, result
    found = [name for name in usable(result).summary["files"] if name.endswith(MODEL_SUFFIXES)]
    if not found:
        raise OptionError(f"{result} holds no identified model; give the folder that steelyard identify wrote.")
    return result, result / found[0]


def _written(draws: Draws, index: int, robot: Robot, path: Path) -> str:
    variant = draws.robot(index, robot)
    save(variant, path)
    written = load(path, **options_of_copy(robot.source))
    if variant.rotors or variant.drives or set(variant.loop_names) - set(written.loop_names):
        write_side(variant, side_path(path), known=written.loop_names, driven=written.drives)
    return path.name


def without_place(paths: tuple[Path, ...]) -> list[str]:
    """What varies in samples and has no place in the model files of `variants`, in sentences; none where they have
    all."""
    lacks = BY_SUFFIX[paths[0].suffix].lacks
    lost = [name for name in OF_JOINTS if name in lacks]
    if not lost:
        return []
    return [
        f"{paths[0].suffix} has no place for {choices(lost)}: it varies in {FILE} alone. Where the result has an MJCF "
        "file, give that."
    ]
