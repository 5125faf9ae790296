"""SY7xx: what programs are known to read otherwise than it is written, a row a report.

Where a program can be asked what it reads (`engines`), it is; here is what a model's own numbers tell without it.
"""

from collections.abc import Iterator

from steelyard.check import misreadings as m
from steelyard.check.destinations import Misread
from steelyard.check.rule import Hit, Mend, Rule, documented
from steelyard.model.sketch import Sketch

URDF, MJCF, SDF, USD = "urdf", "mjcf", "sdf", "usd"
CONVERTER = "urdf-usd-converter"


def _report(
    head: str,
    test: m.Test,
    misread: tuple[Misread, ...],
    title: str,
    why: str,
    example: str,
    remedy: str,
    mend: Mend | None = None,
) -> Rule:
    """A `Rule` of a test. head: code, name and severity. mend: repair that leaves the robot as it is, and says how."""

    def look(sketch: Sketch) -> Iterator[Hit]:
        return (Hit(place, message, remedy) for place, message in test(sketch))

    repairs = (mend and mend.__doc__) or ""
    return documented(head, look, title, why, example, remedy, repairs=repairs, misread=misread, mend=mend)


REPORTS = (
    _report(
        "SY701 inertial-axes-lost warning",
        m.tensors(lambda _, inertial: inertial.tensor, "without the rotation of its inertial"),
        (
            Misread(("mujoco",), "mujoco", (URDF,), "mujoco#3559", mended="3.14.0"),
            Misread(("isaac",), "isaacsim.asset.importer.urdf", (URDF,), "its changelog", mended="2.4.14"),
            Misread(("newton",), CONVERTER, (URDF,), f"{CONVERTER}#131", first="0.2.0", mended="0.3.2"),
        ),
        "The rotation of an inertial is lost.",
        "The six numbers of the tensor are taken in the axes of the link, as if rpy were zero. The converter of URDF "
        "to USD does so in `newton:inertia` alone, which overrides the right principal axes beside it.",
        '<inertial><origin xyz="0 0 0.2" rpy="0 0.5 0"/>...</inertial>',
        'Turn the tensor into the axes of the link and write rpy="0 0 0": --fix.',
        m.axes_of_link,
    ),
    _report(
        "SY703 mimic-lost warning",
        m.joints(m.follows, " and moves on its own"),
        (
            Misread(("mujoco",), "mujoco", (URDF,), "measured", mended="3.13.0"),
            Misread(("pinocchio",), "pinocchio", (URDF,), "off unless mimic=True"),
            Misread(("idyntree",), "idyntree", (URDF,), "measured"),
            Misread(("pybullet",), "pybullet", (URDF,), "measured"),
        ),
        "A joint that follows another moves on its own.",
        "The mimic element is not read, so the robot has a degree of freedom too many, and the joint that leads "
        "carries neither the weight nor the friction of its follower. From 3.13.0 on MuJoCo makes it an equality "
        "constraint, which is soft.",
        '<mimic joint="finger_left" multiplier="-1"/>',
        "Couple the joints where the model is loaded: an equality in MJCF, mimic=True in Pinocchio.",
    ),
    _report(
        "SY704 balanced-inertia warning",
        m.balanced,
        (Misread(("mujoco",), "mujoco", (URDF, MJCF), "measured in 3.3.2 to 4.0.0"),),
        "An impossible inertia is replaced by a ball's without a word.",
        "With `balanceinertia` MuJoCo sets all three moments of a body that violates the triangle inequality to their "
        "mean. The file compiles, and the body is another one.",
        '<compiler balanceinertia="true"/> and diaginertia="0.01 0.01 0.05"',
        "Repair the inertia: --fix=SY203. Remove the attribute, so that MuJoCo refuses such inertias.",
    ),
    _report(
        "SY705 density-for-inertial warning",
        m.unstated(m.at_density),
        (
            Misread(("mujoco",), "mujoco", (URDF,), "measured"),
            Misread(("newton",), "newton", (URDF,), "measured in 1.8.0"),
        ),
        "A link without inertial weighs what its collision geometry would at 1000 kg/m^3.",
        "URDF says that such a link has no mass. Housings, feet and adapters that are fixed to a link with a mass for "
        "all of them weigh a second time.",
        '<link name="cover"><collision>...</collision></link>',
        "State the inertial; on a fixed link that has no mass, zero: --fix.",
        m.massless,
    ),
    _report(
        "SY706 base-dropped info",
        m.parts(m.becomes_world),
        (Misread(("mujoco",), "mujoco", (URDF,), "by design"),),
        "The root link is fused into the world, and its mass is gone.",
        "MuJoCo reads the root of a URDF as the world. A robot that walks or flies needs a body there; when a free "
        "joint is added afterwards, the mass of its trunk is missing.",
        '<link name="trunk"><inertial>...</inertial></link>',
        "Put a link above the root, with a floating joint between them, or convert with --floating.",
    ),
    _report(
        "SY711 collapsed-off-centre warning",
        m.sums(m.about_frames, "collapsed"),
        (Misread(("newton",), "newton", (URDF, MJCF, USD), "measured in 1.8.0"),),
        "Links that are fixed to each other are merged about the wrong point.",
        "With `collapse_fixed_joints` Newton moves the tensor of a merged link by the offset of its frame, not of its "
        "centre of mass, and leaves that of the other where it was. The sum is then taken about the common centre.",
        '<joint name="flange" type="fixed"><origin xyz="0 0 0.4"/>...</joint>',
        "Merge the inertials in the file (--fix), or load it without collapse_fixed_joints.",
        m.merged,
    ),
    _report(
        "SY716 principal-axes-conjugated warning",
        m.tensors(m.conjugated, "with its principal axes inverted"),
        (Misread(("newton", "isaac"), CONVERTER, (URDF,), f"{CONVERTER}#118", mended="0.3.0"),),
        "Principal axes are written as their inverse rotation.",
        "The eigenvectors are columns, and the matrices of OpenUSD act on rows. A tensor that is diagonal with "
        "ascending moments is right, all others are not. The importer of Isaac Sim is pinned to version 0.1.3.",
        '<inertia ixx="0.03" ixy="0.01" ixz="0" iyy="0.03" iyz="0" izz="0.01"/>',
        f"Convert with {CONVERTER} 0.3.3 or later.",
    ),
    _report(
        "SY717 density-in-usd warning",
        m.unstated(m.at_density),
        (Misread(("newton", "isaac"), CONVERTER, (URDF,), f"{CONVERTER}#145"),),
        "A link without inertial becomes a body in USD, and weighs its collision geometry at 1000 kg/m^3.",
        "A body of USD without a mass takes that of its colliders: ANYmal B has 67 kg for 30. A stated mass of zero "
        "means no opinion in USD and changes nothing.",
        '<link name="cover"><collision>...</collision></link>',
        "Move the collision geometry to the link that carries it, or give the link its share of the mass.",
    ),
    _report(
        "SY721 joint-losses-dropped warning",
        m.joints(m.loses, ", which are dropped"),
        (Misread(("isaac",), "isaacsim", (URDF,), "IsaacSim#841", first="6.1.0"),),
        "Damping and friction of a joint are dropped.",
        "The importer reads neither; policies that are trained without them move a robot that is easier to move than "
        "the real one.",
        '<dynamics damping="0.5" friction="0.2"/>',
        "State them in the configuration of the articulation: damping, friction.",
    ),
    _report(
        "SY731 inertia-recomputed warning",
        m.tensors(m.box_around, "as that of a box around what can be touched"),
        (Misread(("pybullet",), "pybullet", (URDF,), "measured in 3.2.7"),),
        "The stated inertia is ignored, and that of a box around the collision geometry is taken.",
        "PyBullet reads <inertia> only when it is told to. The box is aligned with the axes of the inertial; a link "
        "without collision geometry becomes a point.",
        'pybullet.loadURDF("robot.urdf")',
        "Load it with flags=pybullet.URDF_USE_INERTIA_FROM_FILE.",
    ),
    _report(
        "SY734 assumed-unit-inertial warning",
        m.unstated(lambda _: 1.0, " and 1 kg m^2"),
        (
            Misread(("pybullet",), "pybullet", (URDF,), "measured in 3.2.7"),
            Misread(("dart",), "dartpy", (URDF,), "measured in 6.20"),
        ),
        "A link without inertial weighs 1 kg, and its moments of inertia are 1 kg m^2.",
        "Frames of tools and sensors, which have neither mass nor geometry, get this default as well. At the end of an "
        "arm it changes every torque.",
        '<link name="tool0"/>',
        "State the inertial; on a fixed link that has no mass, zero: --fix.",
        m.massless,
    ),
    _report(
        "SY742 friction-ignored info",
        m.joints(m.rubs, ", which is left out"),
        (Misread(("drake",), "drake", (URDF, MJCF), "drake's parser"),),
        "Dry friction of a joint is not read.",
        "Joints of Drake have viscous damping only; a friction loss is warned about and left out.",
        '<dynamics friction="0.2"/>',
        "Add the friction where torques are applied.",
    ),
    _report(
        "SY743 mimic-in-discrete-plants info",
        m.joints(m.follows, ", and is free outside discrete plants"),
        (Misread(("drake",), "drake", (URDF, SDF), "drake's parser"),),
        "A joint follows another in discrete simulations only.",
        "The coupler constraint needs a MultibodyPlant with a time step and the SAP solver; inverse dynamics and "
        "continuous plants have the joint free.",
        '<mimic joint="finger_left"/>',
        "Use a discrete plant, or couple the joints yourself.",
    ),
    _report(
        "SY744 rotor-ignored warning",
        m.elements("transmission", m.rotor),
        (Misread(("drake",), "drake", (URDF,), "drake#21948"),),
        "The rotor inertia that a transmission states is ignored.",
        "Behind a gear it is often larger than the inertia of the arm. Drake reads rotors from elements of its own.",
        "<motorInertia>1e-4</motorInertia><mechanicalReduction>100</mechanicalReduction>",
        "Add drake:rotor_inertia and drake:gear_ratio to the actuator.",
    ),
    _report(
        "SY761 fixed-links-lumped info",
        m.parts(m.takes_in),
        (Misread(("gazebo",), "sdformat", (URDF,), "by design"),),
        "Links that are fixed to others are lumped into them.",
        "The robot is the same, but link and joint are gone: plugins, sensors and logs that name them find nothing.",
        '<joint name="flange" type="fixed">...</joint>',
        'Keep a joint with <gazebo reference="flange"><preserveFixedJoint>true</preserveFixedJoint></gazebo>.',
    ),
    _report(
        "SY762 massless-links-dropped warning",
        m.parts(m.drops_tree),
        (Misread(("gazebo",), "sdformat", (URDF, SDF), "sdformat#199"),),
        "A moving link without mass is dropped with all that it carries.",
        "The converter of URDF to SDF leaves out a link of less than about 1e-6 kg, and with it the tree beyond it.",
        '<link name="wrist_yaw"/> between two moving joints',
        "Give the link a mass and an inertia.",
    ),
    _report(
        "SY771 inertial-without-origin warning",
        m.elements("link", m.originless),
        (Misread(("genesis",), "genesis-world", (URDF,), "genesis-world#3184"),),
        "The inertia of an inertial without origin is dropped.",
        "The reader takes mass and tensor only beside an <origin>; elsewhere it estimates them from geometry.",
        '<inertial><mass value="1"/><inertia .../></inertial>',
        'Write <origin xyz="0 0 0" rpy="0 0 0"/> into the inertial.',
    ),
)
