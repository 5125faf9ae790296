"""`WrenchLog`: what a wrist force-torque sensor said, and how it moved, as frozen arrays in SI units.

Sign convention: `wrench = Yb(twist, acceleration - [R^T g; 0]) theta`, the wrench that the hand exerts on the payload.
At rest its force opposes gravity, `f = -m R^T g`. Most sensors report the reaction (the payload's pull on the hand):
negate it, or let `diagnose` say so.
"""

from dataclasses import dataclass
from dataclasses import replace as _replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from steelyard.cards import Card
from steelyard.errors import LogError
from steelyard.numbers import SAME
from steelyard.spatial import GRAVITY, cross, rotate, rotation_from_quaternion

ROUNDED = 1e-2  # a quaternion or rotation this far from unit is rounding, and is mended; beyond, it is a mistake


@dataclass(frozen=True, eq=False, kw_only=True, repr=False)
class WrenchLog(Card):
    """Time series of a wrist sensor. Arrays are float64, read-only and finite.

    Raises LogError naming what does not fit: shapes, numbers that are not finite, rotations that are none, time that
    does not increase.

    Example:
        >>> import numpy as np, steelyard as sy
        >>> poses = np.array([[0, 0, 0, 1], [1, 0, 0, 0], [0, 0.6, 0, 0.8], [0.6, 0, 0, 0.8]])
        >>> log = sy.WrenchLog(t=np.arange(4.0), wrench=np.zeros((4, 6)), rotation=poses)
        >>> len(log), log.moving
        (4, False)
    """

    t: NDArray[np.float64]
    """(n,) time stamps, s, increasing."""
    wrench: NDArray[np.float64]
    """(n, 6) `[f; n]` exerted on the payload, sensor axes at the sensor origin, N and N m."""
    rotation: NDArray[np.float64]
    """(n, 3, 3) world_from_sensor; unit quaternions (n, 4) `[x, y, z, w]` are accepted and converted."""
    twist: NDArray[np.float64] | None = None
    """(n, 6) `[v; w]` of the sensor frame in its own axes, m/s and rad/s. None: not known (a static log)."""
    acceleration: NDArray[np.float64] | None = None
    """(n, 6) spatial acceleration, the component-wise derivative of the twist, without gravity."""
    gravity: NDArray[np.float64] = GRAVITY  # type: ignore[assignment]
    """(3,) in the world, m/s^2."""
    position: NDArray[np.float64] | None = None
    """(n, 3) sensor origin in the world, m; only the motion filter needs it."""
    name: str = "wrench log"
    notes: tuple[str, ...] = ()

    def _title(self) -> str:
        return f"WrenchLog({len(self.t)} samples, {float(self.t[-1] - self.t[0]) if len(self.t) else 0:.4g} s)"

    def _rows(self):
        return {"motion": "recorded" if self.moving else "none: poses at rest", "gravity": self.gravity}

    def __post_init__(self):
        n, notes = np.size(self.t), []
        put = lambda key, value: object.__setattr__(self, key, value)  # noqa: E731
        rotation = np.asarray(self.rotation, dtype=float)
        if rotation.shape == (n, 4):
            rotation = _from_quaternions(rotation, self.name, notes)
        shapes = {"t": (n,), "wrench": (n, 6), "rotation": (n, 3, 3), "twist": (n, 6)}
        shapes |= {"acceleration": (n, 6), "position": (n, 3), "gravity": (3,)}
        for key, shape in shapes.items():
            value = rotation if key == "rotation" else getattr(self, key)
            if value is not None:
                put(key, _frozen(value, key, shape, self.name))
        put("rotation", _rotations(self.rotation, self.name, notes))
        put("notes", (*self.notes, *notes))
        if (self.twist is None) != (self.acceleration is None):
            missing = "twist" if self.twist is None else "acceleration"
            raise LogError(
                f"{self.name}: {missing} is missing. Give twist and acceleration both, or neither (a static log); "
                "sy.payload.filter_motion makes them from poses"
            )
        step = np.diff(self.t)
        if n and not (step > 0).all():
            at = int(np.argmin(step > 0))
            raise LogError(
                f"{self.name}: time goes from {self.t[at]:.6g} to {self.t[at + 1]:.6g} s at sample {at + 1}; stamps "
                "must increase. Sort the samples and drop repeats"
            )

    def __len__(self) -> int:
        return len(self.t)

    def __getitem__(self, index) -> "WrenchLog":
        """The samples of a slice, a mask (n,) or increasing indices."""
        keys = ("t", "wrench", "rotation", "twist", "acceleration", "position")
        return self.replace(**{key: value[index] for key in keys if (value := getattr(self, key)) is not None})

    def thinned(self, most: int) -> "WrenchLog":
        """Every k-th sample of a long log, at least `most` of them."""
        return self[:: max(1, len(self) // most)]

    def replace(self, **changes: Any) -> "WrenchLog":
        """A copy with some fields changed."""
        return _replace(self, **changes)

    def noted(self, *notes: str) -> "WrenchLog":
        """A copy with notes added."""
        return self.replace(notes=self.notes + notes)

    @property
    def moving(self) -> bool:
        """Whether motion signals are there."""
        return self.twist is not None

    @property
    def motion(self) -> tuple[np.ndarray, np.ndarray]:
        """Twist and spatial acceleration, each (n, 6); zeros for a static log."""
        if self.twist is None or self.acceleration is None:
            still = np.zeros((len(self), 6))
            return still, still
        return self.twist, self.acceleration

    @property
    def gravity_in_sensor(self) -> np.ndarray:
        """(n, 3) gravity in sensor axes, m/s^2."""
        return self.rotation.transpose(0, 2, 1) @ self.gravity

    @property
    def origin_acceleration(self) -> np.ndarray:
        """(n, 3) acceleration of the sensor origin in sensor axes, without gravity, m/s^2."""
        twist, acceleration = self.motion
        return acceleration[:, :3] + cross(twist[:, 3:], twist[:, :3])

    @classmethod
    def from_world_axes(cls, *, t, wrench, rotation, twist=None, acceleration=None, **more) -> "WrenchLog":
        """From signals in world axes at the sensor origin, with the classical acceleration of that point.

        wrench: (n, 6) `[f; n]`, twist: (n, 6) `[v; w]`, acceleration: (n, 6) `[dv/dt; dw/dt]`, world axes, the latter
        two both or neither; rotation: world_from_sensor, (n, 3, 3) or quaternions (n, 4); more: other fields.
        """
        given = cls(t=t, wrench=wrench, rotation=rotation, twist=twist, acceleration=acceleration, **more)
        in_sensor = {"wrench": to_sensor_axes(given.rotation, given.wrench)}
        if given.moving:
            velocity, spatial = (to_sensor_axes(given.rotation, x) for x in given.motion)
            spatial[:, :3] -= cross(velocity[:, 3:], velocity[:, :3])
            in_sensor |= {"twist": velocity, "acceleration": spatial}
        return given.replace(**in_sensor)


def to_sensor_axes(rotation, spatial_vectors):
    """Spatial vectors (n, 6) in world axes to sensor axes, same origin."""
    to_sensor = rotation.transpose(0, 2, 1)
    return np.concatenate(
        [rotate(to_sensor, spatial_vectors[:, :3]), rotate(to_sensor, spatial_vectors[:, 3:])], axis=1
    )


def _frozen(value, key, shape, name):
    try:
        array = np.array(value, dtype=np.float64)
    except (TypeError, ValueError) as error:
        raise LogError(f"{name}: {key} must be an array of numbers, found {type(value).__name__}") from error
    if array.shape != shape:
        turned = array.ndim > 1 and array.shape[-1] == shape[0] != array.shape[0]
        hint = " Rows are samples: pass the transpose." if turned else ""
        raise LogError(f"{name}: {key} has shape {array.shape}, expected {shape}.{hint}")
    if not np.isfinite(array).all():
        where = tuple(int(i) for i in np.argwhere(~np.isfinite(array))[0])
        raise LogError(f"{name}: {key} is {array[where]} at {where}. Leave out samples that are not finite")
    array.flags.writeable = False
    return array


def _from_quaternions(quaternion, name, notes):
    norm = np.linalg.norm(quaternion, axis=1)
    off = np.abs(norm - 1)
    if not np.isfinite(norm).all() or off.max(initial=0.0) > ROUNDED:
        worst = int(np.argmax(np.where(np.isfinite(norm), off, np.inf)))
        raise LogError(
            f"{name}: quaternion {worst} is {quaternion[worst].tolist()}, of norm {norm[worst]:.6g}, expected unit "
            "quaternions [x, y, z, w]. Are columns missing or mixed up? If only scaled, divide by the norm"
        )
    if off.max(initial=0.0) > SAME:
        notes.append(f"quaternions normalised: norms were off by up to {off.max():.1e}")
    return rotation_from_quaternion(quaternion / norm[:, None])


def _rotations(rotation, name, notes):
    if not len(rotation):
        return rotation
    off = np.abs(rotation.transpose(0, 2, 1) @ rotation - np.eye(3)).max(axis=(1, 2))
    worst = int(off.argmax())
    if off[worst] > ROUNDED or np.linalg.det(rotation[worst]) < 0:
        mirrored = np.linalg.det(rotation[worst]) < 0 and off[worst] <= ROUNDED
        what = "a mirror image (determinant -1)" if mirrored else f"off orthonormal by {off[worst]:.2g}"
        raise LogError(
            f"{name}: rotation {worst} is {what}, expected world_from_sensor rotation matrices. Check that columns are "
            "the sensor's axes in the world and that quaternions are [x, y, z, w]"
        )
    if off[worst] <= SAME:
        return rotation
    notes.append(f"rotations made orthonormal: they were off by up to {off[worst]:.1e}")
    u, _, vt = np.linalg.svd(rotation)
    mended = u @ vt
    mended.flags.writeable = False
    return mended
