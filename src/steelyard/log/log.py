"""`Log`: what a robot's sensors said, as frozen arrays in SI units."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, fields
from dataclasses import replace as _replace
from typing import Any, cast

import numpy as np
from array_api_compat import is_jax_array
from numpy.typing import ArrayLike, NDArray

from steelyard.cards import Card
from steelyard.errors import LogError, choices
from steelyard.log.channels import COMMON, DRIVE, SI, factor, is_si
from steelyard.log.frame_channels import PARTS, changed

_MOTION = ("v", "a", "tau")
_DOF = (*_MOTION, *(key for key in DRIVE if key not in COMMON))
_BESIDE = ("direction", "shared_direction", "weights", "clipped")  # what filters and masks say of samples


@dataclass(frozen=True, eq=False, kw_only=True, repr=False)
class Log(Card):
    """Time series of joint positions, and of what else was recorded. Arrays are float64, read-only and finite or not
    (`checks` decides whether they can be used); a caller's own arrays are never changed. JAX arrays (n, columns) stay
    JAX arrays of their own precision, on their device.

    Raises LogError naming the shapes when they do not fit together.
    """

    t: NDArray[np.float64]
    """(n,) time stamps, s; any origin, not necessarily regular."""
    q: NDArray[np.float64]
    """(n, nq) joint positions, rad or m. A one-dimensional array is one joint."""
    v: NDArray[np.float64] | None = None
    """(n, nv) joint velocities, rad/s or m/s."""
    a: NDArray[np.float64] | None = None
    """(n, nv) joint accelerations, rad/s^2 or m/s^2."""
    tau: NDArray[np.float64] | None = None
    """(n, nv) joint torques or forces, N m or N."""
    command: NDArray[np.float64] | None = None
    """(n, nv) what the drives were told, each sample until the next: rad or m of position servos, rad/s or m/s of
    velocity servos, N m or N of torque interfaces; the kind of the drive says which. Never filtered."""
    duty: NDArray[np.float64] | None = None
    """(n, nv) share of the bus voltage that drives applied, -1 to 1, each sample until the next. Never filtered."""
    voltage: NDArray[np.float64] | None = None
    """(n, 1) of the bus, or (n, nv) at each drive, V. Never filtered."""
    current: NDArray[np.float64] | None = None
    """(n, nv) of the motors, A. Never filtered."""
    enable: NDArray[np.float64] | None = None
    """(n, nv) 1 where a drive is switched on, 0 where it lets go."""
    temperature: NDArray[np.float64] | None = None
    """(n, 1) or (n, nv), degrees C."""
    direction: NDArray[np.float64] | None = None
    """(n, nv) direction of motion, -1 to 1, filtered like tau: the shape of Coulomb friction."""
    direction_width: float = 0.0
    """Half-width of standstill that `direction` was made with, rad/s or m/s."""
    shared: tuple[tuple[tuple[str, float], ...], ...] = ()
    """Motors that joints share, each by its joints, in alphabetical order, with their ratios in its speed."""
    shared_direction: NDArray[np.float64] | None = None
    """(n, s) direction of motion of these motors, made and filtered like `direction`."""
    weights: NDArray[np.float64] | None = None
    """(n, nv) how much each torque counts, 0 for one that is not to be believed (`masks`), 1 for others; None: all."""
    clipped: NDArray[np.float64] | None = None
    """(n, nv) 1 where the torque as recorded was clipped at its largest, -1 at its smallest, 0 elsewhere; None: torques
    are as recorded and tell it themselves (`masks.clipped_sides`)."""
    wrenches: Mapping[str, NDArray[np.float64]] = field(default_factory=dict)
    """(n, 6) wrenches `[f; n]` of six-axis sensors, N and N m, each by the link that is held, in that link's axes at
    its origin; "base" is the one under the robot, in world axes at the world origin. They act on the robot."""
    contacts: Mapping[str, NDArray[np.float64]] = field(default_factory=dict)
    """(n,) by frame: 1 where it touches something at rest, with a force that nobody measured, 0 where it does not, what
    lies between in doubt. Never filtered: each holds until the next."""
    external: Mapping[str, NDArray[np.float64]] = field(default_factory=dict)
    """(n, 6) known wrenches `[fx fy fz nx ny nz]` that act on the robot, N and N m, by frame: in the frame's axes at
    its origin. Filtered like tau."""
    imu: Mapping[str, NDArray[np.float64]] = field(default_factory=dict)
    """(n, 6) what inertial sensors measured, `[wx wy wz ax ay az]`, angular velocity, rad/s, and acceleration less
    gravity, m/s^2 (9.81 upwards at rest), by frame: in the frame's axes at its origin. Filtered like v."""
    bandwidth: float | None = None
    """Cutoff that tau was low-pass filtered at, Hz; None: as recorded."""
    joint_names: tuple[str, ...] = ()
    """Names of the nv columns of v, a and tau; empty when unknown (columns are then taken in order)."""
    name: str = "log"
    units: Mapping[str, str] = field(default_factory=dict)
    """Given: units of arrays that are not SI, such as `{"q": "deg", "t": "ms"}`; they are converted. Kept: SI."""
    notes: tuple[str, ...] = ()
    """Everything that was converted, assumed, ignored or done to the data, in order."""

    def _title(self) -> str:
        span = float(self.t[-1] - self.t[0]) if len(self.t) > 1 else 0.0
        rate = f" at {(len(self.t) - 1) / span:.4g} Hz" if span > 0 else ""
        return f"Log('{self.name}', {len(self.t)} samples{rate}, {span:.4g} s)"

    def _rows(self):
        channels = [name for name in SI if name != "t" and getattr(self, name) is not None]
        return {
            "joints": self.joint_names or f"{self.nq}, without names",
            "channels": " ".join(channels),
            **{key: ", ".join(getattr(self, key)) for key in ("wrenches", "contacts", "external", "imu")},
            "filtered at": f"{self.bandwidth:.4g} Hz" if self.bandwidth else None,
            "notes": self.notes or None,
        }

    def __post_init__(self):
        put = lambda key, value: object.__setattr__(self, key, value)  # noqa: E731
        unknown = set(self.units) - set(SI)
        if unknown:
            raise LogError(f"log {self.name!r}: units= has no channel {choices(sorted(unknown))}; known: {choices(SI)}")
        notes = (self.notes,) if isinstance(self.notes, str) else tuple(self.notes)
        for key in SI:
            value = _frozen(getattr(self, key), key, self.name)
            unit = self.units.get(key, SI[key])
            if value is not None and not is_si(key, unit):
                value = _frozen(value * factor(key, unit), key, self.name)
                notes += (f"{key}: converted from {unit} to {SI[key]}",)
            put(key, value)
        for key in _BESIDE:
            put(key, _frozen(getattr(self, key), key, self.name))
        for key, word in (("wrenches", "wrench"), ("external", "external wrench"), ("imu", "imu")):
            put(key, {str(at): _of_six(value, f"{word} of {at}", self) for at, value in getattr(self, key).items()})
        put("contacts", {str(frame): _flags(value, frame, self) for frame, value in self.contacts.items()})
        put("notes", notes)
        put("units", dict(SI))
        if self.bandwidth is not None and not 0 < self.bandwidth < np.inf:
            raise LogError(f"log {self.name!r}: bandwidth is a frequency in Hz, found {self.bandwidth!r}")
        put("joint_names", _names(self.joint_names, self.name))
        self._require_shapes()

    def _require_shapes(self):
        shapes = {key: getattr(self, key).shape for key in SI if getattr(self, key) is not None}
        for key in _BESIDE:
            if getattr(self, key) is not None:
                shapes[key] = getattr(self, key).shape
        n = len(self.t)
        bad = [key for key, shape in shapes.items() if shape[0] != n]
        if bad:
            turned = any(shapes[key][-1] == n for key in bad)
            hint = " Rows are samples: pass the transpose." if turned else " Every channel needs one row a time stamp."
            raise LogError(f"log {self.name!r}: t has {n} samples, but {_listed(shapes, bad)}.{hint}")
        widths = {shapes[key][1] for key in _DOF if key in shapes}
        widths |= {width for key in COMMON if key in shapes and (width := shapes[key][1]) != 1}
        widths |= {len(self.joint_names)} if self.joint_names else set()
        if len(widths) > 1:
            names = f", joint_names has {len(self.joint_names)} names" if self.joint_names else ""
            raise LogError(
                f"log {self.name!r}: v, a, tau, command and joint_names need one column a degree of freedom; found "
                f"{_listed(shapes, [key for key in (*_DOF, *COMMON) if key in shapes])}{names}."
            )

    def __len__(self) -> int:
        return len(self.t)

    def __getitem__(self, index: slice | ArrayLike) -> "Log":
        """The samples of a slice, a boolean mask (n,) or increasing indices, as a new Log."""
        rows = index if isinstance(index, slice) else np.asarray(index)
        order = np.arange(len(self))[rows]
        if np.ndim(order) != 1 or np.any(np.diff(order) <= 0):
            raise LogError(f"log {self.name!r}: index with a slice, a mask or increasing indices; order is kept")
        keys = (*SI, *_BESIDE)
        parts = {key: value[rows] for key in keys if (value := getattr(self, key)) is not None}
        return self.replace(**parts, **changed(self, lambda x: x[rows]), shared=self.shared)

    @property
    def nq(self) -> int:
        """Columns of q."""
        return self.q.shape[1]

    @property
    def nv(self) -> int:
        """Degrees of freedom: columns of v, a and tau (of q if none of them is there)."""
        present = [value.shape[1] for key in _DOF if (value := getattr(self, key)) is not None]
        return present[0] if present else len(self.joint_names) or self.nq

    @property
    def labels(self) -> tuple[str, ...]:
        """A word for each degree of freedom: its name, or `column 1`, ... when names are unknown."""
        return self.joint_names or tuple(f"column {i + 1}" for i in range(self.nv))

    @property
    def duration(self) -> float:
        """Time from the first to the last sample, s."""
        return float(self.t[-1] - self.t[0]) if len(self) else 0.0

    @property
    def rate(self) -> float:
        """Samples a second, from the median step, Hz. Raises LogError with fewer than two samples, and where time does
        not go on."""
        if len(self) < 2:
            raise LogError(f"log {self.name!r} has {len(self)} samples; a sampling rate needs at least 2")
        step = float(np.median(np.diff(self.t)))
        if not 0 < step < np.inf:
            raise LogError(f"log {self.name!r} has no sampling rate: the median step of its time stamps is {step:g} s")
        return 1 / step

    @property
    def effective_samples(self) -> float:
        """Samples with independent noise of tau: twice the bandwidth a second, at most all (Shannon 1949)."""
        if self.bandwidth is None or len(self) < 2:
            return float(len(self))
        return len(self) * min(1.0, 2 * self.bandwidth / self.rate)

    def narrowed(self, cutoff: float) -> float:
        """Bandwidth of tau once it passes a further low-pass filter, Hz."""
        return cutoff if self.bandwidth is None else min(self.bandwidth, cutoff)

    @property
    def missing(self) -> tuple[str, ...]:
        """Channels of motion and torque that were not recorded."""
        return tuple(key for key in ("t", "q", *_MOTION) if getattr(self, key) is None)

    def require(self, *names: str) -> tuple[NDArray[np.float64], ...]:
        """The named channels. Raises LogError that lists the missing ones and what to do."""
        lacking = [name for name in names if getattr(self, name) is None]
        if lacking:
            remedy = "Record the joint torques too." if "tau" in lacking else "filters.differentiate fills v and a."
            told = [name for name in lacking if name in DRIVE]
            remedy = f"Record what the drives are told and do, as columns {told[0]}_JOINT." if told else remedy
            raise LogError(f"log {self.name!r} has no {choices(lacking)}. {remedy}")
        return tuple(getattr(self, name) for name in names)

    def select(self, joints: Sequence[str | int]) -> "Log":
        """The given joints (names or column numbers) only, in that order. Needs one position a degree of freedom."""
        if self.nq != self.nv:
            raise LogError(f"log {self.name!r}: cannot select joints, q has {self.nq} columns for {self.nv} freedoms")
        columns = [self.column(joint) for joint in joints]
        keys = ("q", *_DOF, *COMMON, "direction", "weights", "clipped")
        present = {key: value for key in keys if (value := getattr(self, key)) is not None}
        picked = {key: v[:, columns] for key, v in present.items() if v.shape[1] == self.nv}
        dropped = [label for i, label in enumerate(self.labels) if i not in columns]
        notes = (*self.notes, f"joints not selected: {choices(dropped)}") if dropped else self.notes
        names = tuple(self.joint_names[i] for i in columns) if self.joint_names else ()
        return self.replace(**picked, joint_names=names, notes=notes)

    def column(self, joint: str | int) -> int:
        """Number of a joint's column of v. Raises LogError that lists the joints."""
        if isinstance(joint, str) and joint in self.joint_names:
            return self.joint_names.index(joint)
        if isinstance(joint, int) and 0 <= joint < self.nv:
            return joint
        raise LogError(f"log {self.name!r} has no joint {joint!r}; it has {choices(self.labels)}")

    def replace(self, **changes: Any) -> "Log":
        """A copy with some fields changed; `units=` speaks of the arrays in `changes` only.

        A new q or v makes the old direction of motion void, and a new tau what was known of clipping, unless that is
        given too.
        """
        allowed = {f.name for f in fields(self)}
        if not set(changes) <= allowed:
            raise LogError(f"a Log has no field {choices(sorted(set(changes) - allowed))}; it has {choices(allowed)}")
        if {"q", "v"} & set(changes):
            changes = {"direction": None, "shared_direction": None, "shared": ()} | changes
        if "tau" in changes:
            changes = {"clipped": None} | changes
        units = changes.pop("units", {})
        stale = sorted(set(units) - set(changes))
        if stale:
            raise LogError(f"units= of {choices(stale)} given without new values; a Log is SI already")
        return _replace(self, **changes, units=units)

    def noted(self, *notes: str) -> "Log":
        """A copy with notes added."""
        return self.replace(notes=self.notes + notes)


def independence_of(logs: Sequence[Log]) -> float:
    """Share, 0 to 1, of the samples of logs whose noise is independent."""
    return sum(log.effective_samples for log in logs) / max(sum(map(len, logs)), 1)


def _frozen(value: Any, key: str, name: str) -> NDArray[np.float64] | None:
    """Read-only float64 array of the right rank, sharing memory only with arrays that are read-only themselves."""
    if value is None and key not in ("t", "q"):
        return None
    if key != "t" and is_jax_array(value) and value.dtype.kind == "f" and value.ndim == 2:
        return cast(Any, value)  # never changes, and stays where it is
    try:
        array = np.asarray(value)
        if array.dtype.kind not in "fiub":
            raise TypeError
        array = array.astype(np.float64, copy=array.flags.writeable)
    except (TypeError, ValueError) as error:
        found = f"{type(value).__name__} {str(value)[:60]!r}"
        raise LogError(f"log {name!r}: {key} must be an array of numbers, found {found}") from error
    if key == "t" and array.ndim == 2 and array.shape[1] == 1:
        array = array[:, 0]
    if key != "t" and array.ndim == 1:
        array = array[:, None]
    if array.ndim != (1 if key == "t" else 2):
        expected = "(n,)" if key == "t" else "(n, columns)"
        raise LogError(f"log {name!r}: {key} has shape {array.shape}, expected {expected}")
    array = array.view()
    array.flags.writeable = False
    return array


def _of_six(value: Any, what: str, log: Log) -> NDArray[np.float64]:
    array = _frozen(value, what, log.name)
    if array is None or array.shape != (len(log.t), 6):
        found, parts = None if array is None else array.shape, PARTS["imu" if what.startswith("imu") else "external"]
        raise LogError(
            f"log {log.name!r}: the {what} has shape {found}, expected ({len(log.t)}, 6): [{' '.join(parts)}] a sample"
        )
    return array


def _flags(value: Any, frame: str, log: Log) -> NDArray[np.float64]:
    array, samples = _frozen(value, f"contact of {frame}", log.name), len(log.t)
    wanted = f"log {log.name!r}: contacts of {frame!r} are {samples} flags, one a sample, 0 to 1; found"
    if array is None or array.shape != (samples, 1):
        raise LogError(f"{wanted} {'None' if array is None else f'an array of shape {array.shape}'}.")
    if not np.all((array >= 0) & (array <= 1)):
        unknown = int(np.isnan(array).sum())
        raise LogError(
            f"{wanted} {np.nanmin(array):.4g} to {np.nanmax(array):.4g}, {unknown} of them no numbers. Compare a force "
            "with a threshold, or give the force itself as external={frame: (n, 6)}; leave out samples, or frames, "
            "without flags."
        )
    return array[:, 0]


def _names(names: Sequence[str], name: str) -> tuple[str, ...]:
    names = (names,) if isinstance(names, str) else tuple(str(item) for item in names)
    twice = sorted({item for item in names if names.count(item) > 1})
    if twice:
        raise LogError(f"log {name!r}: joint names must differ; found more than once: {choices(twice)}")
    return names


def _listed(shapes: Mapping[str, tuple[int, ...]], keys: Sequence[str]) -> str:
    return ", ".join(f"{key} has shape {shapes[key]}" for key in keys)
