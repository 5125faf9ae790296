"""Mass properties of USD bodies: stated, or found from colliders, in the order in which OpenUSD lets them count.

What is not stated has a value that stands for none: zero mass, density, moments and axes, an infinite centre of mass.
The mass of a body counts over those of its colliders, of a collider the mass over its density, that over its body's,
over its material's, and that over 1000 kg/m^3. `newton:inertia`, about the centre of mass in the body's axes and in
double precision, counts over moments and axes.
"""

from dataclasses import dataclass

import numpy as np

from steelyard.inertia import from_com_inertia, pseudo, to_com_inertia, transform
from steelyard.inertia.parameters import DIAGONAL_FIRST, WATER
from steelyard.model.sketch import Inertial
from steelyard.model.usd_geometry import GprimSolid
from steelyard.model.usd_scene import Scene, rotation_of, value

GRAIN = 2e-7  # of single precision, relative
TENSOR = "newton:inertia"


@dataclass(frozen=True, eq=False)
class StatedMass:
    """What a prim states of its mass, SI, None for nothing. com: (3,) m, tensor: (3, 3) kg m^2 about it, both in the
    prim's axes, tensor in those of rotation (3, 3)."""

    mass: float | None
    density: float | None
    com: np.ndarray | None
    rotation: np.ndarray
    tensor: np.ndarray | None

    @property
    def anything(self) -> bool:
        return any(each is not None for each in (self.mass, self.com, self.tensor))


def stated(scene: Scene, prim, stretch: np.ndarray) -> StatedMass:
    """What a prim states.

    Args:
        scene: of it.
        prim: a body or collider.
        stretch: (3, 3) units per coordinate of it.

    Returns:
        It, with faults of the scene for what is no number.
    """
    units = scene.units
    mass, density = (scene.number(prim, f"physics:{name}", code="SY104") for name in ("mass", "density"))
    com = value(prim, "physics:centerOfMass")
    com = None if com is None or np.isinf(com).any() else units.length * stretch @ np.array(com, dtype=float)
    moments, axes = value(prim, "physics:diagonalInertia"), value(prim, "physics:principalAxes")
    tensor, R = None, np.eye(3)
    if moments is not None and any(moments):
        tensor = units.inertia * np.diag(_possible(np.array(moments, dtype=float)))
        R = np.eye(3) if axes is None else rotation_of(axes)
    six = value(prim, TENSOR)
    if six is not None and len(six):
        tensor, R = units.inertia * _tensor(scene, prim, six), np.eye(3)
    if not all(each is None or np.isfinite(each).all() for each in (com, tensor)):
        scene.fault("SY104", prim, "its centre of mass or moments of inertia are no finite numbers.", remedy="")
    return StatedMass(
        units.mass * mass if mass else None,
        units.mass / units.length**3 * density if density and density > 0 else None,
        com,
        R,
        tensor,
    )


def _possible(moments: np.ndarray) -> np.ndarray:
    """Moments (3,) of which none is more than the others together by the rounding of single precision alone."""
    k = int(np.argmax(moments))
    others = moments.sum() - moments[k]
    return np.where(np.arange(3) == k, others, moments) if 0 < moments[k] - others <= GRAIN * moments[k] else moments


def _tensor(scene: Scene, prim, six) -> np.ndarray:
    found = np.full((3, 3), np.nan)
    if len(six) != len(DIAGONAL_FIRST):
        scene.fault("SY105", prim, f"{TENSOR} has {len(six)} numbers; expected xx yy zz xy xz yz.", remedy="")
        return found
    for (i, j), entry in zip(DIAGONAL_FIRST, six, strict=True):
        found[i, j] = found[j, i] = float(entry)
    return found


def inertial_of(scene: Scene, body: int, members: list[GprimSolid]) -> tuple[Inertial | None, bool]:
    """Inertial of a body, None for one without any, and whether all of it is found from colliders.

    members: its geometry.
    """
    prim, frame = scene.bodies[body], scene.frames[body]
    own = stated(scene, prim, frame.stretch)
    colliders = [each for each in members if each.collides]
    whole = all(each is not None for each in (own.mass, own.com, own.tensor))
    if not own.anything and not colliders:
        return None, False
    around = np.zeros(10) if whole else sum((_of_collider(scene, each, own) for each in colliders), np.zeros(10))
    mass, com, tensor = own.mass, own.com, own.tensor
    found_mass, found_com, found_tensor = (
        to_com_inertia(around) if around[0] > 0 else (0.0, np.zeros(3), np.zeros((3, 3)))
    )
    if tensor is None:
        share = 1.0 if mass is None or not around[0] > 0 else mass / found_mass
        shift = np.zeros(3) if com is None or not around[0] > 0 else com - found_com
        about = from_com_inertia(share * found_mass, -shift, share * found_tensor)  # about the stated centre
        tensor = about[[4, 5, 7, 5, 6, 8, 7, 8, 9]].reshape(3, 3)
    inertial = Inertial(
        scene.place(prim),
        float(found_mass if mass is None else mass),
        found_com if com is None else com,
        own.rotation,
        tensor,
    )
    return inertial, not own.anything


def _of_collider(scene: Scene, solid: GprimSolid, body: StatedMass) -> np.ndarray:
    """(10,) inertial parameters of a collider in the frame of its body."""
    own = stated(scene, solid.prim, np.eye(3))
    J = solid.moments()
    if not J[3, 3] > 0:
        return np.zeros(10)
    density = next(filter(None, (own.density, body.density, _of_material(scene, solid.prim), WATER)))
    density = density if own.mass is None else own.mass / J[3, 3]
    theta = np.asarray(pseudo.to_parameters(density * J))
    if own.mass is None or own.tensor is None:
        return theta
    com = np.zeros(3) if own.com is None else solid.frame.stretch @ own.com / scene.units.length
    R = own.rotation
    return np.asarray(
        transform(from_com_inertia(own.mass, com, R @ own.tensor @ R.T), solid.frame.rotation, solid.frame.position)
    )


def _of_material(scene: Scene, prim) -> float | None:
    """kg/m^3 of the physical material of a prim."""
    from pxr import UsdShade

    material, _ = UsdShade.MaterialBindingAPI(prim).ComputeBoundMaterial("physics")
    found = value(material.GetPrim(), "physics:density") if material else None
    if found is None or not (np.isfinite(found) and found > 0):
        return None
    return scene.units.mass / scene.units.length**3 * float(found)
