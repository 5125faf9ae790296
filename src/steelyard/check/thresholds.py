"""Thresholds of the linter, each with where it comes from."""

from dataclasses import dataclass


@dataclass(frozen=True)
class Thresholds:
    """What counts as impossible, implausible, alike or rounding, and how far repairs go."""

    thin: float = 1e-3  # m: geometry thinner than this is a picture, not a body
    water: float = 1000.0  # kg/m^3: density of a body of which nothing else is known
    solid: float = 5e-3  # m: geometry thinner than this has no volume to speak of
    dense: float = 23000.0  # kg/m^3: osmium
    light: float = 1.0  # kg/m^3: expanded foam has ten; a hull is often mostly air
    far: float = 10.0  # m: radius of gyration or centre of mass of a part, beyond which it must be in millimetres
    million: tuple[float, float] = (3e5, 3e6)  # Range in which a factor is taken for 1e6
    thousand: tuple[float, float] = (4e2, 2.5e3)  # Range in which a factor is taken for 1e3
    near: float = 0.1  # Of the geometry's diagonal between centres of mass that are alike
    growth: float = 1.1  # Geometry is drawn smaller than the part by cables, screws and covers
    largest: float = 20.0  # m: a link this large is a mesh in millimetres
    least: float = 1e-5  # kg: lighter than a grain of rice is a placeholder
    mass_apart: float = 0.05  # Relative difference of masses of two sides that should be alike
    moments_apart: float = 0.15  # Relative difference of their moments of inertia
    same_volume: float = 0.1  # Relative difference of hulls of links of a kind
    factor: float = 2.0  # Between masses of links of a kind that no revision explains
    denser: float = 4.0  # Than the other links of a robot: motors in small hulls of published models reach 6.7
    heavy: float = 4000.0  # kg/m^3: hulls with motors of steel and copper
    steel: float = 7500.0  # kg/m^3: hulls hold more than the part, so that a link above it is heavier than solid steel
    airy: float = 3.0  # Than the others, of a link above steel: a crank among rods reaches 2.5
    off_offset: float = 2e-3
    """m between offsets of joints that should be mirror images: more than calibration or rounding."""
    shrunk: tuple[float, float] = (0.01, 300.0)
    """Diagonal of a geometry over the radius of gyration of its mass: two to ten are usual, 0.02 and 90 the extremes
    of published models; a thousandth or a thousand of it lies beyond."""
    flipped: float = 0.1  # Change of a tensor by mirroring, of its largest component, that is worth judging
    outside: float = 0.15  # Of the hull's diagonal that a centre of mass may lie outside
    outside_least: float = 0.01  # m that it may lie outside of any hull
    excess: float = 0.25  # Of second moments beyond what fits; drawings are rough
    concentrated: float = 1e-3  # Of the squared radius of gyration of the filled geometry
    alike: float = 0.15  # Relative difference of tensors that fit
    unlike: float = 0.4  # Relative difference of tensors that do not fit
    ratio: float = 1000.0
    """Of masses along a chain; iterative solvers of contact suffer from ten on, all of them from here."""
    turned: float = 30.0  # rad: five turns, beyond which whole limits of most joints are in degrees
    fast: float = 60.0  # rad/s: robots with legs reach 50, arms 10
    degrees: float = 720.0  # Largest number that is taken for degrees, or degrees per second
    off_limit: float = 50.0
    """Between limits of joints of a kind: points shift by 10, 100 or 1000, and drives of one robot differ by less than
    50: 87 and 12 N m on an arm, 10 and 330 on a humanoid."""
    idle: float = 0.1  # Of the moment of what a joint carries at one g, below which its effort neither holds nor moves
    lopsided: float = 0.1  # Of its width by which a range lies off zero and tells its sign
    off_centre: float = 0.3
    """Squared standard deviations of a link's mass between its origin and centre of mass that tell of its tensor."""
    several: int = 3  # Links that agree by no chance
    rounding: float = 1e-9  # Relative; below it a violation is rounding of decimals
    flat: float = 1e-7  # Smallest over largest second moment of a body with a thickness: 0.03 % of its length
    thickness: float = 1e-4  # Squared: a repaired body is at least about one percent of its size thick
    misread: float = 1e-3  # Relative error of an inertia by a misreading; less changes no torque that is measured
    rounds: int = 3  # Of repairs: one fault can hide another, units first, then thickness


THRESHOLDS = Thresholds()
