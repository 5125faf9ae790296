"""Rules of what the reader of a model finds: faults of files, values and the tree, a row a code."""

from steelyard.check.rule import Rule, documented, reported
from steelyard.model.references import WAYS


def _scanned(
    head: str, title: str, why: str, example: str, remedy: str, *, repairs: str = "", told: str | None = None
) -> Rule:
    """A rule for what readers report under its code. told: the remedy in a finding, where it is shorter."""
    code = head.partition(" ")[0]
    say = remedy if told is None else told
    return documented(head, lambda sketch: reported(sketch, code, say), title, why, example, remedy, repairs=repairs)


SCANNED = (
    _scanned(
        "SY104 not-a-number error",
        "A value of an inertial is not a finite number.",
        "`nan`, `inf`, an unexpanded expression or a comma for a point. One such number poisons every torque.",
        '<mass value="nan"/>',
        "Write finite decimal numbers with a point.",
        repairs="From the geometry at the stated mass, when both are known.",
    ),
    _scanned(
        "SY105 incomplete-inertial error",
        "An inertial lacks its mass, its tensor, or a component of it.",
        "Readers fill the gap with whatever they like (zero, one, an error), so each simulator sees another robot.",
        '<inertial><mass value="2"/></inertial>',
        "State mass and all of ixx, iyy, izz (products of inertia may be left out: they are zero then).",
        repairs="From the geometry at the stated mass, when both are known.",
    ),
    _scanned(
        "SY107 unit-inertial warning",
        "A link has no inertial, and its format takes it for 1 kg (SDF).",
        "SDF gives such a link 1 kg and moments of 1 kg m^2, those of a ball of more than 3 m across. Even a "
        "link that stands for a frame or a sensor then outweighs a gripper.",
        '<link name="camera_frame"><pose>0 0 0.1 0 0 0</pose></link>',
        "Add an <inertial>; or, for a mere frame, write a <frame> instead of the link.",
        repairs="From the geometry at the density of water, when the link has some.",
    ),
    _scanned(
        "SY205 asymmetric error",
        "The products of inertia are stated twice and differ.",
        "An inertia tensor is symmetric. URDF has ixy, ixz, iyz only; exporters that also write iyx, izx, izy "
        "may mean another sign convention or another frame, and readers ignore the second set silently.",
        '<inertia ixx="1" ixy="0.1" iyx="-0.1" .../>',
        "Keep ixy, ixz, iyz and make sure of their signs.",
    ),
    _scanned(
        "SY505 tree error",
        "Links and joints do not form one tree.",
        "Names used twice, joints that lead nowhere, links with two parents, loops and second roots: readers "
        "refuse the file, or silently use one of the possibilities.",
        '<joint ...><parent link="base"/><child link="amr"/></joint>   (no link is called amr)',
        "Give every link but one exactly one joint whose child it is; close loops in MJCF with <equality>.",
        told="Correct the name or the joint, so that links and joints form one tree.",
    ),
    _scanned(
        "SY506 unreadable-joint error",
        "A joint or a piece of geometry cannot be understood.",
        "Unknown joint type, an axis of zero length, a pose, size or limit that is not a number: the kinematics "
        "of the robot is undefined.",
        '<joint type="hinge"><axis xyz="0 0 0"/></joint>',
        "Correct the named attribute.",
    ),
    _scanned(
        "SY507 mimic error",
        "A mimic joint follows nothing.",
        "Its master is no joint of the file, or the joints follow each other in a circle. Simulators then let it "
        "swing freely or refuse the file.",
        '<mimic joint="finger_left"/>   (the joint is called left_finger)',
        "Name a joint that moves on its own.",
    ),
    _scanned(
        "SY508 refused error",
        "MuJoCo refuses the file for another reason.",
        "A model that does not compile cannot be simulated; the message is MuJoCo's own. Faults that other rules "
        "name (inertias, missing files) are not repeated here.",
        '<actuator><motor joint="elbwo"/></actuator>',
        "As the message says.",
    ),
    _scanned(
        "SY509 unread-loop warning",
        "A loop is closed in a dialect that is not read.",
        "URDF describes trees. Drake's <loop_joint> and joints inside <gazebo> close loops for one tool only; "
        "everything else, Steelyard included, sees an open tree, whose joints are not the robot's degrees of "
        "freedom.",
        '<loop_joint name="pin" type="revolute"><link1 link="coupler"/><link2 link="rocker"/></loop_joint>',
        "Close the loop in the side file ([[loop]]), or in MJCF with <equality>.",
        told="See closed loops in the guide.",
    ),
    _scanned(
        "SY510 implicit-world info",
        "A joint hangs on a link `world` that the file does not have.",
        "Drake knows the ground by this name, and so does Steelyard; MuJoCo, Pinocchio and ROS refuse the file.",
        '<joint name="weld" type="fixed"><parent link="world"/><child link="base"/></joint>   (no link is called '
        "world)",
        'Add <link name="world"/>.',
        told='Add <link name="world"/> for other tools.',
    ),
    _scanned(
        "SY601 missing-file warning",
        "A mesh or texture does not exist.",
        "Viewers show nothing, simulators have no contact there or refuse the model, and no rule on geometry can "
        "be checked for the link.",
        '<mesh filename="package://my_robot/meshes/arm.stl"/>   (the file is called Arm.stl)',
        "Correct the path; names are case-sensitive on most systems. A model that was copied out of its folder "
        "finds its meshes by --folder DIR.",
        told="Correct the path, add the file, or name its folder: --folder DIR.",
    ),
    _scanned(
        "SY602 unreadable-file warning",
        "A mesh cannot be read.",
        "It is empty, truncated, of an unknown format, without triangles, too large, or may not be opened. Often "
        "it is a Git LFS pointer instead of the mesh.",
        'arm.stl of 130 bytes that starts with "version https://git-lfs"',
        "Fetch or export the file again.",
    ),
    _scanned(
        "SY603 outside-package warning",
        "A file is outside the model's package.",
        "A path that is absolute, climbs out with `..`, or runs through a symbolic link works on one computer "
        "only, and a model from elsewhere should not make programs open files of yours. Such files are not "
        "opened here. The package is the nearest folder above the model with package.xml, model.config, .git, "
        "pyproject.toml or __init__.py, else the model's own folder, or the one around it where that holds all "
        "files that the model names.",
        '<mesh filename="../../../../home/me/arm.stl"/>',
        "Put the file into the package and name it relative to the model, or with package://. If it is yours, "
        "allow its folder: --folder DIR.",
        told="Put the file into the model's package, or allow its folder: --folder DIR.",
    ),
    _scanned(
        "SY604 unchecked-file info",
        "A file could not be looked for.",
        "Its package is neither beside the model nor installed, it has a network address, or its format needs a "
        "further package. Rules on the geometry of the link were skipped.",
        '<mesh filename="package://ur_description/meshes/base.stl"/>  with no such package installed',
        "Install the package (ROS packages are found through ROS_PACKAGE_PATH and AMENT_PREFIX_PATH, those of "
        "pip such as example-robot-data as they are), put it beside the model, or name its folder: --folder DIR.",
        told=WAYS,
    ),
    _scanned(
        "SY606 stray-mark warning",
        "A quotation mark or semicolon stands behind a number.",
        "libsdformat and Drake read the number and stop at the mark; other readers refuse the file. Limits and colours "
        "are read so here, too; a mass or a pose with such a mark is refused.",
        '<velocity>2.356"</velocity>',
        "Remove the mark.",
    ),
)
