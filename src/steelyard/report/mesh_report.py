"""The report of a mesh file (`steelyard mesh`): parameters, snippets for model files."""

import warnings
from dataclasses import dataclass

import numpy as np

from steelyard.errors import OptionError
from steelyard.inertia import conventions, mesh, mesh_files, to_com_inertia
from steelyard.inertia.parameters import NAMES, UNITS, WATER


@dataclass(frozen=True, eq=False)
class MeshReport:
    """A mesh as a homogeneous solid. theta: (10,) about the mesh origin, mesh axes. warnings: what looks wrong."""

    faces: np.ndarray
    theta: np.ndarray
    density: float
    warnings: tuple[str, ...]

    def as_dict(self) -> dict:
        """JSON-ready content."""
        mass, com, inertia = to_com_inertia(self.theta)
        return {
            "density": self.density,
            "volume": float(mass / self.density),
            "mass": float(mass),
            "com": com.tolist(),
            "inertia_com": inertia.tolist(),
            "theta": dict(zip(NAMES, self.theta.tolist(), strict=True)),
            "urdf": conventions.urdf_inertial(self.theta),
            "mjcf": conventions.mjcf_inertial(self.theta),
            "warnings": list(self.warnings),
        }

    def as_text(self) -> str:
        """A readable page for the terminal."""
        about = self.as_dict()
        com = ", ".join(f"{x:.6g}" for x in about["com"])
        lines = [
            f"{len(self.faces)} faces, volume {about['volume']:.6g} m^3, density {self.density:.6g} kg/m^3",
            f"mass {about['mass']:.6g} kg, centre of mass [{com}] m",
            "",
            "inertia about the centre of mass, mesh axes [kg m^2]",
            *("  " + "  ".join(f"{x: .6e}" for x in row) for row in about["inertia_com"]),
            "",
            "parameters about the mesh origin",
            *(
                f"  {name:<4}{value: .8e}  {unit}"
                for (name, value), unit in zip(about["theta"].items(), UNITS, strict=True)
            ),
            "",
            "URDF",
            about["urdf"],
            "",
            "MJCF",
            about["mjcf"],
        ]
        return "\n".join(lines)


def mesh_report_of(path, *, density: float | None = None, mass: float | None = None, scale: float = 1.0) -> MeshReport:
    """Report of a mesh file, by density [kg/m^3] or mass [kg]; scale: metres per file unit. Raises InertiaError for
    what encloses no solid, OptionError for both."""
    if density is not None and mass is not None:
        raise OptionError("Give the density or the mass, not both; the other follows from the volume.")
    if mass is not None and not (np.isfinite(mass) and mass > 0):
        raise OptionError(f"mass is a positive number of kilograms; got {mass}.")
    vertices, faces = mesh_files.load(path, scale=scale)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        unit = mesh.parameters(vertices, faces, density=1.0)
    if mass is not None:
        density = float(mass / unit[0])
    elif density is None:
        density = WATER
    theta = mesh.parameters(vertices, faces, density=density, check=False)
    return MeshReport(faces, theta, density, tuple(str(each.message) for each in caught))
