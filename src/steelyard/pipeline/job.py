"""What decides a run: every option of the whole job, in one record."""

from dataclasses import asdict, dataclass

from steelyard import defaults
from steelyard.prepare import NOTHING, Corrections


@dataclass(frozen=True)
class Job:
    """Everything that decides a run; stored in `summary.json`, so that the run can be repeated.

    cutoff: low-pass cutoff of the differentiation, Hz; None chooses it from each log's spectrum (`filters.cutoff_for`);
    0 takes v and a as recorded. torque_cutoff: that of the torques, Hz; None: the same, or where each log chooses the
    cutoff, 10 Hz and at most a sixth of the rate. smoother: that filters and differentiates: butterworth, kalman or
    savgol. coupling: joints with a common motor, such as `joint5+joint6`; rotors: whether the motors' rotors are
    bodies; side: file that describes them, beside the model by default. folders: whose files the model may name, beside
    its own.
    validation: share of the samples held out, in blocks. weight, regularizer: of the prior, see `fit.consistent`.
    reversal_weight: of samples where a joint stands still, see `reversal_weights`; 1 counts all samples alike. within:
    "geometry" holds the mass of every link inside what the model shows of it unless the data contradicts that
    (`fit.shown`), "consistent" asks for any positive mass. masses, fixed, tied: what else is known of links, in the
    words of `fit.words`, such as `link7=0.73`, `link1=all`, `left=right:y`. corrections: mistakes of the logs to undo.
    drive_gains: the torques are motor currents, whose gains are found, too; loads: further logs with a known load,
    `LINK=KG:LOG`. accept: codes of fatal findings in spite of which to go on.
    """

    model: str
    logs: tuple[str, ...]
    floating: bool | None = None
    gravity: tuple[float, float, float] | None = None
    cutoff: float | None = None
    torque_cutoff: float | None = None
    smoother: str = defaults.SMOOTHER
    friction: tuple[str, ...] = defaults.FRICTION
    armature: bool = True
    coupling: tuple[str, ...] = ()
    rotors: bool = False
    side: str | None = None
    folders: tuple[str, ...] = ()
    validation: float = defaults.VALIDATION
    weight: float = defaults.WEIGHT
    reversal_weight: float = defaults.REVERSAL_WEIGHT
    regularizer: str = defaults.REGULARIZER
    within: str = defaults.WITHIN
    masses: tuple[str, ...] = ()
    fixed: tuple[str, ...] = ()
    tied: tuple[str, ...] = ()
    channels: dict | None = None
    corrections: Corrections = NOTHING
    drive_gains: bool = False
    loads: tuple[str, ...] = ()
    accept: tuple[str, ...] = ()

    @property
    def columns(self) -> dict:
        """The options of `accumulate` and `layout_of` that say what is estimated beside the links."""
        return {name: getattr(self, name) for name in ("friction", "armature", "coupling", "rotors")}

    @property
    def preparation(self) -> dict:
        """The options of `prepare`."""
        names = ("corrections", "cutoff", "torque_cutoff", "smoother", "coupling", "accept")
        return {name: getattr(self, name) for name in names}

    def as_json(self) -> dict:
        return asdict(self)
