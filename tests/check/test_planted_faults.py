"""Faults planted one at a time in four published robots are named, and healthy robots are silent about them."""

import xml.etree.ElementTree as ET
from pathlib import Path

import numpy as np
import pytest

import steelyard as sy
from check.corpus.cases import SDF, URDF
from robots import URDFS, package_folder, urdf
from steelyard import check
from steelyard.check.shaped_inertials import shaped_inertials
from steelyard.errors import ModelError
from steelyard.model.formats import read_sketch

OWN = Path(sy.library.__file__).parent / "data"
LEGS, ARMS, FEW = (
    ("a1", "go1", "laikago", "solo12"),
    ("panda", "xarm7", "ur5_robot", "z1"),
    ("go1", "xarm7", "panda", "b1"),
)
LIGHT = ("xarm7", "solo12", "ur3_robot", "laikago")  # whose meshes are read fast
RULES = ("SY306", "SY401", "SY407", "SY513", "SY514", "SY515", "SY516", "SY605", "SY606")
SHAPED = ("SY305", "SY306", "SY401", "SY605")  # rules that look at geometry
HEALTHY = (
    *(
        "a1",
        "alexander_v1.lowerBodyOnly",
        "anymal",
        "b1",
        "bolt",
        "borinot_flying_arm_2",
        "finger_edu",
        "g1_29dof_rev_1_0",
    ),
    *(
        "go1",
        "go2",
        "hextilt_flying_arm_5",
        "hyq_no_sensors",
        "kinova",
        "laikago",
        "panda",
        "romeo_small",
        "so100",
        "solo12",
    ),
    *("talos_full_v2", "tiago", "ur3_robot", "ur5_robot", "ur10_robot", "xarm7", "z1"),
)
HEALTHY_SHAPES = ("xarm7", "solo12", "bolt", "so100", "hextilt_flying_arm_5", "hyq_no_sensors", "finger_edu")


def moving(tree):
    """Joints with limits that move, and the links that they carry."""
    links = {link.get("name"): link for link in tree.iter("link")}
    joints = [each for each in tree.iter("joint") if each.get("type") in ("revolute", "continuous", "prismatic")]
    pairs = [(each, links[each.find("child").get("link")]) for each in joints if each.find("limit") is not None]
    return [(joint, link) for joint, link in pairs if link.find("inertial") is not None]


def number(element, key):
    return float(element.get(key))


def numbers(element, key, missing="0 0 0"):
    return np.array((element.get(key) or missing).split(), dtype=float)


def write(element, key, values):
    element.set(key, " ".join(f"{x:.9g}" for x in np.atleast_1d(values)))


def under(element, tag):
    found = element.find(tag)
    return ET.SubElement(element, tag) if found is None else found


def twins(tree):
    """Left and right joints of legs, with their links."""
    found = {joint.get("name"): (joint, link) for joint, link in moving(tree)}
    sides = {name: name.replace("L", "R", 1) for name in found if name[:2] in ("FL", "RL", "HL")}
    return [(found[left], found[right]) for left, right in sides.items()]


def negative_damping(tree):
    write(under(moving(tree)[1][0], "dynamics"), "damping", -0.5)


def negative_friction(tree):
    write(under(moving(tree)[-1][0], "dynamics"), "friction", -0.2)


def too_much_damping(tree):
    joint, _ = moving(tree)[5]
    limit = joint.find("limit")
    write(under(joint, "dynamics"), "damping", 1.5 * number(limit, "effort") / number(limit, "velocity"))


def forgotten_centres(tree):
    for _, link in moving(tree):
        write(under(link.find("inertial"), "origin"), "xyz", np.zeros(3))


def tensors_about_origins(tree):
    for inertial in tree.iter("inertial"):
        origin, tensor = under(inertial, "origin"), inertial.find("inertia")
        if not numbers(origin, "rpy").any():
            c = numbers(origin, "xyz")
            moved = number(inertial.find("mass"), "value") * (c @ c * np.eye(3) - np.outer(c, c))
            for i, j in zip(*np.triu_indices(3), strict=True):
                key = f"i{'xyz'[i]}{'xyz'[j]}"
                write(tensor, key, number(tensor, key) + moved[i, j])


def copied_centre(tree):
    origins = [[link.find("inertial").find("origin") for _, link in pair] for pair in twins(tree)]
    left, right = max(origins, key=lambda pair: abs(numbers(pair[0], "xyz")[1]))
    right.set("xyz", left.get("xyz"))


def flipped_axis(tree):
    _, (joint, _) = twins(tree)[2]
    write(joint.find("axis"), "xyz", -numbers(joint.find("axis"), "xyz"))


def mirrored_limits(tree):
    limits = [joint.find("limit") for _, (joint, _) in twins(tree)]
    limit = max(limits, key=lambda each: abs(number(each, "lower") + number(each, "upper")))
    lower, upper = number(limit, "lower"), number(limit, "upper")
    write(limit, "lower", -upper)
    write(limit, "upper", -lower)


def fixed_joint(tree):
    moving(tree)[-2][0].set("type", "fixed")


def scaled(key, factor):
    def plant(tree):
        limit = moving(tree)[2][0].find("limit")
        write(limit, key, factor * number(limit, key))

    return plant


def limits_in_degrees(tree):
    for joint, _ in moving(tree):
        for key in ("lower", "upper"):
            write(joint.find("limit"), key, round(np.degrees(number(joint.find("limit"), key))))


def turned_by_degrees(tree):
    write(under(moving(tree)[2][0], "origin"), "rpy", [0, 0, 90])


def small_collision(tree):
    for _, link in moving(tree)[:3]:
        for solid in link.findall("collision/geometry/*"):
            for key in {"filename": ("scale",)}.get(next(iter(solid.attrib)), tuple(solid.attrib)):
                write(solid, key, 1e-3 * numbers(solid, key, "1 1 1"))


def solid_steel(tree):
    """The heaviest moving link, as heavy as its hull of steel."""
    path = next(path for path in URDFS if tree.getroot().get("path") == str(path))
    shaped = max((w for w in shaped_inertials(read_sketch(path)) if w.part.moves), key=lambda w: w.volume)
    inertial = next(link for _, link in moving(tree) if link.get("name") == shaped.name).find("inertial")
    factor = 7850 / shaped.density
    for element, keys in (
        (inertial.find("mass"), ("value",)),
        (inertial.find("inertia"), inertial.find("inertia").attrib),
    ):
        for key in keys:
            write(element, key, factor * number(element, key))


def marked(tree):
    limit = moving(tree)[0][0].find("limit")
    limit.set("velocity", limit.get("velocity") + '"')


FAULTS = (
    (negative_damping, "SY513", FEW),
    (negative_friction, "SY513", FEW),
    (too_much_damping, "SY513", ARMS),
    (forgotten_centres, "SY306", LIGHT),
    (tensors_about_origins, "SY305", ("xarm7", "solo12", "bolt", "so100")),
    (solid_steel, "SY401", LIGHT),
    (small_collision, "SY605", LIGHT),
    (copied_centre, "SY407", LEGS),
    (flipped_axis, "SY514", LEGS),
    (mirrored_limits, "SY514", ("a1", "go1", "go2", "b1")),
    (fixed_joint, "SY516", ("a1", "laikago", "solo12", "allegro_right_hand")),
    *((scaled(key, factor), "SY515", FEW) for key in ("effort", "velocity") for factor in (0.01, 0.001, 100, 1000)),
    (limits_in_degrees, "SY511", FEW),
    (turned_by_degrees, "SY511", FEW),
    (marked, "SY606", FEW),
)


@pytest.mark.exhaustive(keep=16)
@pytest.mark.parametrize(
    ("plant", "code", "stem"),
    [
        pytest.param(plant, code, stem, id=f"{plant.__name__}-{stem}")
        for plant, code, robots in FAULTS
        for stem in robots
    ],
)
def test_a_planted_fault_is_named(tmp_path, plant, code, stem):
    tree = ET.parse(urdf(stem))
    path = tmp_path / "robot.urdf"
    tree.getroot().set("path", str(urdf(stem)))
    plant(tree)
    tree.write(path)
    findings = check.run(path, select=[code], meshes=code in SHAPED)
    assert findings.codes == (code,)
    assert all(each.line and each.element and each.remedy for each in findings)


@pytest.mark.exhaustive(keep=7)
@pytest.mark.parametrize("stem", HEALTHY)
def test_healthy_joints_and_sides_are_silent(stem):
    assert check.run(urdf(stem), select=RULES, meshes=False).items == ()


@pytest.mark.exhaustive(keep=2)
@pytest.mark.parametrize("stem", HEALTHY_SHAPES)
def test_healthy_geometry_is_silent(stem):
    assert check.run(urdf(stem), select=RULES).items == ()


@pytest.mark.parametrize("name", ["humanoid", "quadruped", "cheetah", "walker", "fish"])
def test_healthy_mjcf_is_silent(name):
    assert check.run(package_folder("dm_control") / "suite" / f"{name}.xml", select=RULES).items == ()


@pytest.mark.parametrize("path", sorted(OWN.glob("*.urdf")), ids=lambda path: path.stem)
def test_the_library_is_silent(path):
    assert check.run(path, select=RULES).items == ()


@pytest.mark.parametrize("suffix", [".sdf", ".xml", ".usda"])
def test_negative_friction_is_named_in_all_formats(tmp_path, suffix):
    limit = '<limit lower="-1" upper="1" effort="50" velocity="2"/>'
    source, path = tmp_path / "arm.urdf", tmp_path / f"arm{suffix}"
    source.write_text(URDF.replace(limit, f'{limit}<dynamics damping="0.25" friction="0.75"/>'))
    sy.save(sy.load(source), path)
    text = path.read_text()
    assert "0.75" in text
    path.write_text(text.replace("0.75", "-0.75"))
    (finding,) = check.run(path, select=["SY513"])
    assert finding.severity == "error" and "friction -0.75" in finding.message


def test_forgotten_centres_are_those_of_the_geometry(tmp_path):
    box = '<origin xyz="0 0 0.05"/><geometry><box size="0.06 0.08 0.1"/></geometry>'
    text = URDF.replace("  </link>\n  <joint", f"<collision>{box}</collision></link>\n  <joint", 1)
    path = tmp_path / "arm.urdf"
    path.write_text(
        text.replace('xyz="0 0 0.2" rpy', 'xyz="0 0 0" rpy').replace('xyz="0 0 0.05" rpy', 'xyz="0 0 0" rpy')
    )
    assert [each.code for each in check.run(path)] == ["SY306", "SY306"]
    done = check.repair(path, tmp_path / "fixed.urdf", fix=["SY306"])
    np.testing.assert_allclose([each.after.com[2] for each in done.changes], [0.2, 0.05], atol=1e-9)
    assert check.run(done.path).ok


@pytest.mark.parametrize(
    ("suffix", "old", "new"), [(".sdf", "<effort>50<", '<effort>50"<'), (".urdf", 'effort="50"', "effort='50;'")]
)
def test_a_mark_behind_a_limit_is_read_over(tmp_path, suffix, old, new):
    path = tmp_path / f"arm{suffix}"
    path.write_text({".sdf": SDF, ".urdf": URDF}[suffix].replace(old, new))
    robot = sy.load(path)
    assert robot.joints[0].effort_limit == 50
    assert any("stray mark" in note for note in robot.notes)


def test_a_mark_behind_a_mass_is_refused(tmp_path):
    path = tmp_path / "arm.urdf"
    path.write_text(URDF.replace('<mass value="2"/>', "<mass value='2\"'/>"))
    assert "SY104" in check.run(path).codes
    with pytest.raises(ModelError, match="expected one finite number"):
        sy.load(path)


def test_a_mark_in_a_colour_is_named(tmp_path):
    path = tmp_path / "arm.urdf"
    color = '<material name="red"><color rgba="1 0 0 1;"/></material>'
    path.write_text(URDF.replace('  <link name="base"/>', f'{color}\n  <link name="base"/>'))
    assert check.run(path).codes == ("SY606",)


def test_links_without_mass_are_named_before_a_usd_is_written(tmp_path):
    path = tmp_path / "arm.urdf"
    start, end = URDF.index("    <inertial>"), URDF.index("    <collision>")
    path.write_text(URDF[:start] + URDF[end:])
    with pytest.raises(ModelError, match=r"'arm'.*no mass, and USD takes that of its colliders"):
        sy.save(sy.load(path), tmp_path / "arm.usda")
    path.write_text(URDF[:start] + URDF[URDF.index("  </link>") :])
    assert sy.load(sy.save(sy.load(path), tmp_path / "bare.usda").path).nb == 2


def test_poses_in_degrees_are_told_in_sdf(tmp_path):
    path = tmp_path / "arm.sdf"
    path.write_text(SDF.replace("<pose>0 0 0.4 0 0 0</pose>", "<pose>0 0 0.4 0 0 90</pose>"))
    assert check.run(path).codes == ("SY511",)
    assert sum("degrees?" in note for note in sy.load(path).notes) == 1
    path.write_text(path.read_text().replace("<pose>0 0 0.4 ", '<pose degrees="true">0 0 0.4 '))
    assert check.run(path).ok
