"""Small broken models, one a rule and boundary case: a clean model with one thing made wrong, line by line.

`line` counts from 1 and is where the finding must point; it is found from the text put in, never from the linter.
"""

from dataclasses import dataclass

URDF = """<?xml version="1.0"?>
<robot name="small">
  <!-- a comment that must stay -->
  <link name="base"/>
  <link name="arm">
    <inertial>
      <origin xyz="0 0 0.2" rpy="0 0 0"/>
      <mass value="2"/>
      <inertia ixx="0.0283" ixy="0" ixz="0" iyy="0.0283" iyz="0" izz="0.0033"/>
    </inertial>
    <collision><origin xyz="0 0 0.2"/><geometry><box size="0.1 0.1 0.4"/></geometry></collision>
  </link>
  <link name="hand">
    <inertial>
      <origin xyz="0 0 0.05" rpy="0 0 0"/>
      <mass value="0.5"/>
      <inertia ixx="0.0006" ixy="0" ixz="0" iyy="0.0005" iyz="0" izz="0.0004"/>
    </inertial>
  </link>
  <joint name="shoulder" type="revolute">
    <parent link="base"/>
    <child link="arm"/>
    <axis xyz="0 1 0"/>
    <limit lower="-1" upper="1" effort="50" velocity="2"/>
  </joint>
  <joint name="wrist" type="revolute">
    <origin xyz="0 0 0.4"/>
    <parent link="arm"/>
    <child link="hand"/>
    <axis xyz="1 0 0"/>
    <limit lower="-1" upper="1" effort="20" velocity="2"/>
  </joint>
</robot>
"""
MJCF = """<mujoco model="small">
  <!-- a comment that must stay -->
  <compiler angle="radian"/>
  <worldbody>
    <body name="arm">
      <inertial pos="0 0 0.2" mass="2" diaginertia="0.0283 0.0283 0.0033"/>
      <joint name="shoulder" axis="0 1 0" range="-1 1" armature="0.01"/>
      <geom type="box" size="0.05 0.05 0.2" pos="0 0 0.2"/>
      <body name="hand" pos="0 0 0.4">
        <inertial pos="0 0 0.05" mass="0.5" diaginertia="0.0006 0.0005 0.0004"/>
        <joint name="wrist" axis="1 0 0" range="-1 1" armature="0.001"/>
      </body>
    </body>
  </worldbody>
  <actuator>
    <motor joint="shoulder" ctrlrange="-50 50"/>
    <motor joint="wrist" ctrlrange="-20 20"/>
  </actuator>
</mujoco>
"""
SDF = """<sdf version="1.9">
  <!-- a comment that must stay -->
  <model name="small">
    <link name="arm">
      <inertial>
        <pose>0 0 0.2 0 0 0</pose>
        <mass>2</mass>
        <inertia><ixx>0.0283</ixx><iyy>0.0283</iyy><izz>0.0033</izz></inertia>
      </inertial>
      <collision name="c">
        <pose>0 0 0.2 0 0 0</pose><geometry><box><size>0.1 0.1 0.4</size></box></geometry>
      </collision>
    </link>
    <link name="hand">
      <pose>0 0 0.4 0 0 0</pose>
      <inertial>
        <pose>0 0 0.05 0 0 0</pose>
        <mass>0.5</mass>
        <inertia><ixx>0.0006</ixx><iyy>0.0005</iyy><izz>0.0004</izz></inertia>
      </inertial>
    </link>
    <joint name="shoulder" type="revolute">
      <parent>world</parent>
      <child>arm</child>
      <axis><xyz>0 1 0</xyz><limit><lower>-1</lower><upper>1</upper><effort>50</effort></limit></axis>
    </joint>
    <joint name="wrist" type="revolute">
      <parent>arm</parent>
      <child>hand</child>
      <axis><xyz>1 0 0</xyz><limit><lower>-1</lower><upper>1</upper><effort>20</effort></limit></axis>
    </joint>
  </model>
</sdf>
"""
SDF_INERTIAL = SDF[SDF.index("      <inertial>") : SDF.index("      <collision")]
TENSOR = '<inertia ixx="0.0283" ixy="0" ixz="0" iyy="0.0283" iyz="0" izz="0.0033"/>'
HAND = '<inertia ixx="0.0006" ixy="0" ixz="0" iyy="0.0005" iyz="0" izz="0.0004"/>'
ARM_INERTIAL = URDF[URDF.index("    <inertial>") : URDF.index("    <collision>")]
HAND_INERTIAL = URDF[URDF.rindex("    <inertial>") : URDF.rindex("  </link>")]
BOX = '<box size="0.1 0.1 0.4"/>'
LIMIT = '<limit lower="-1" upper="1" effort="50" velocity="2"/>'
DIAGONAL = 'diaginertia="0.0283 0.0283 0.0033"'
HAND_DIAGONAL = 'diaginertia="0.0006 0.0005 0.0004"'
# a plate whose diagonal tensor is that of the plate, but for another axis
SKEW = '<origin xyz="0 0 0.2" rpy="0 0.5 0"/><geometry><box size="0.1 0.1 0.4"/></geometry>'


@dataclass(frozen=True)
class Case:
    """name, text; code and line of the finding; repaired: whether `--fix` removes it."""

    name: str
    text: str
    code: str
    line: int
    repaired: bool = False

    @property
    def suffix(self) -> str:
        return {"<mujoco": ".xml", "<sdf": ".sdf"}.get(self.text.split()[0], ".urdf")


def case(name, base, old, new, code, *, at=None, repaired=False) -> Case:
    """A case made by replacing `old` (once) by `new`; the line is that of `at`, a text in the result."""
    assert base.count(old) >= 1, old
    text = base.replace(old, new, 1)
    anchor = new if at is None else at
    assert anchor in text
    return Case(name, text, code, text[: text.index(anchor)].count("\n") + 1, repaired)


def several(name, replacements, code, *, at, repaired=False) -> Case:
    """A case made by several replacements; the line is that of the last occurrence of `at`."""
    text = URDF
    for old, new in replacements:
        assert old in text
        text = text.replace(old, new, 1)
    return Case(name, text, code, text[: text.rindex(at)].count("\n") + 1, repaired)


INERTIAL = '<inertial>\n      <origin xyz="0 0 0.2"'
HAND_AT = '<inertial>\n      <origin xyz="0 0 0.05"'


def arm(name, new, code, **options):
    """The arm's tensor replaced; found at its <inertial>."""
    return case(name, URDF, TENSOR, new, code, at=INERTIAL, **options)


def hand(name, new, code, **options):
    """The tensor of the hand, which has no geometry, replaced."""
    return case(name, URDF, HAND, new, code, at=HAND_AT, **options)


def tensor(xx, yy, zz, xy=0, xz=0, yz=0) -> str:
    return f'<inertia ixx="{xx}" ixy="{xy}" ixz="{xz}" iyy="{yy}" iyz="{yz}" izz="{zz}"/>'


SIDED = URDF.replace("</robot>", "").replace('name="arm"', 'name="left_arm"').replace('link="arm"', 'link="left_arm"')
RIGHT = """  <link name="right_arm">
    <inertial>
      <origin xyz="{com}"/>
      <mass value="{mass}"/>
      <inertia ixx="0.0283" ixy="{xy}" ixz="0" iyy="{yy}" iyz="0" izz="0.0033"/>
    </inertial>
  </link>
  <joint name="other" type="continuous"><parent link="base"/><child link="right_arm"/></joint>
</robot>
"""


def sides(name, code, *, left=(), com="0 0 0.2", mass="2", xy="0", yy="0.0283") -> Case:
    text = SIDED
    for old, new in left:
        text = text.replace(old, new, 1)
    text += RIGHT.format(com=com, mass=mass, xy=xy, yy=yy)
    at = f'<inertial>\n      <origin xyz="{com}"/>'
    return Case(name, text, code, text[: text.rindex(at)].count("\n") + 1)


CASES = (
    # SY1xx
    case("missing_inertial_with_geometry", URDF, ARM_INERTIAL, "", "SY101", at='<link name="arm">', repaired=True),
    case("missing_inertial_leaf", URDF, HAND_INERTIAL, "", "SY101", at='<link name="hand">'),
    case("zero_mass", URDF, '<mass value="2"/>', '<mass value="0"/>', "SY102", at=INERTIAL, repaired=True),
    case("zero_mass_leaf", URDF, '<mass value="0.5"/>', '<mass value="0"/>', "SY102", at=HAND_AT),
    case("negative_mass", URDF, '<mass value="2"/>', '<mass value="-2"/>', "SY103", at=INERTIAL, repaired=True),
    case("mass_nan", URDF, '<mass value="2"/>', '<mass value="nan"/>', "SY104", repaired=True),
    case("mass_infinite", URDF, '<mass value="2"/>', '<mass value="1e999"/>', "SY104", repaired=True),
    case("mass_comma", URDF, '<mass value="2"/>', '<mass value="2,0"/>', "SY104", repaired=True),
    case("com_two_numbers", URDF, 'xyz="0 0 0.2" rpy', 'xyz="0 0" rpy', "SY104", repaired=True),
    case("tensor_word", URDF, 'ixx="0.0283"', 'ixx="big"', "SY104", repaired=True),
    case("no_mass", URDF, '      <mass value="2"/>\n', "", "SY105", at=INERTIAL, repaired=True),
    case("no_tensor", URDF, TENSOR, "", "SY105", at=INERTIAL, repaired=True),
    case("no_izz", URDF, ' izz="0.0033"', "", "SY105", at='<inertia ixx="0.0283"', repaired=True),
    case("unit_inertial", SDF, SDF_INERTIAL, "", "SY107", at='<link name="arm">', repaired=True),
    case("no_mass_in_sdf", SDF, "        <mass>2</mass>\n", "", "SY105", at="<inertial>", repaired=True),
    case("no_izz_in_sdf", SDF, "<izz>0.0033</izz>", "", "SY105", at="<inertial>", repaired=True),
    case("mass_nan_in_sdf", SDF, "<mass>2</mass>", "<mass>nan</mass>", "SY104", repaired=True),
    case("com_five_numbers_in_sdf", SDF, "0 0 0.2 0 0 0</pose>", "0 0 0.2 0 0</pose>", "SY104", repaired=True),
    case("negative_moment_in_sdf", SDF, "<ixx>0.0283", "<ixx>-0.0283", "SY201", at="<inertial>", repaired=True),
    case("lost_child_in_sdf", SDF, "<child>hand", "<child>hnad", "SY505"),
    case("crossed_limits_in_sdf", SDF, "<lower>-1</lower>", "<lower>2</lower>", "SY504"),
    case("massless_leaf", URDF, '<mass value="0.5"/>', '<mass value="1e-6"/>', "SY106", at=HAND_AT),
    # SY2xx
    arm("negative_moment", tensor(-0.0283, 0.0283, 0.0033), "SY201", repaired=True),
    hand("large_product", tensor(0.0006, 0.0005, 0.0004, xy=0.002), "SY201", repaired=True),
    hand("zero_tensor", tensor(0, 0, 0), "SY202", repaired=True),
    arm("zero_tensor_with_geometry", tensor(0, 0, 0), "SY202", repaired=True),
    arm("triangle", tensor(0.01, 0.01, 0.025), "SY203", repaired=True),
    hand("triangle_by_a_hair", tensor(0.0002, 0.0002, 0.000401), "SY203", repaired=True),
    hand("triangle_turned", tensor(0.0005, 0.0005, 0.0011, xy=0.0002), "SY203", repaired=True),
    hand("rod", tensor(0.0006, 0.0006, 1e-12), "SY204", repaired=True),
    hand("plate", tensor(0.0002, 0.0002, 0.0004), "SY204", repaired=True),
    case("two_products", URDF, 'ixy="0"', 'ixy="0.001" iyx="-0.001"', "SY205", at='<inertia ixx="0.0283"'),
    # SY3xx
    case("com_outside", URDF, 'xyz="0 0 0.2" rpy', 'xyz="0 0 -0.3" rpy', "SY301", at="<inertial>", repaired=True),
    arm("too_spread", tensor(0.2, 0.2, 0.1), "SY302", repaired=True),
    arm("too_concentrated", tensor(1.1e-6, 1.2e-6, 1.3e-6), "SY303", repaired=True),
    arm("axes_swapped", tensor(0.0033, 0.0283, 0.0283), "SY304", repaired=True),
    several(
        "products_negated",
        [
            ('<origin xyz="0 0 0.2"/><geometry>' + BOX + "</geometry>", SKEW),
            (TENSOR, tensor(0.02255, 0.0283, 0.00905, xz=0.01052)),
        ],
        "SY304",
        at=INERTIAL,
        repaired=True,
    ),
    arm("about_origin", tensor(0.1083, 0.1083, 0.0033), "SY305", repaired=True),
    case("com_forgotten", URDF, 'xyz="0 0 0.2" rpy', 'xyz="0 0 0" rpy', "SY306", at="<inertial>", repaired=True),
    # SY4xx
    case("dense", URDF, '<mass value="2"/>', '<mass value="300"/>', "SY401", at=INERTIAL),
    case("light", URDF, BOX, '<box size="2 2 3"/>', "SY401", at=INERTIAL),
    arm("kg_mm2", tensor(28300, 28300, 3300), "SY402", repaired=True),
    hand("kg_mm2_without_geometry", tensor(600, 500, 400), "SY402", repaired=True),
    case("com_mm", URDF, 'xyz="0 0 0.2" rpy', 'xyz="0 0 200" rpy', "SY402", at="<inertial>", repaired=True),
    arm("g_m2", tensor(28.3, 28.3, 3.3), "SY403", repaired=True),
    several(
        "grams",
        [('<mass value="2"/>', '<mass value="2000"/>'), (TENSOR, tensor(28.3, 28.3, 3.3))],
        "SY403",
        at=INERTIAL,
        repaired=True,
    ),
    arm("placeholder", tensor(0.01, 0.01, 0.01), "SY404", repaired=True),
    hand("placeholder_without_geometry", tensor("1e-3", "1e-3", "1e-3"), "SY404"),
    several(
        "copies",
        [
            (HAND_INERTIAL, ARM_INERTIAL + '    <visual><geometry><box size="0.2 0.2 0.8"/></geometry></visual>\n'),
        ],
        "SY405",
        at='<inertial>\n      <origin xyz="0 0 0.2"',
    ),
    sides("right_is_heavier", "SY406", mass="3"),
    sides("right_turns_differently", "SY406", yy="0.02"),
    sides(
        "mirrored_without_products",
        "SY407",
        left=[('xyz="0 0 0.2" rpy', 'xyz="0.02 0 0.2" rpy'), ('ixy="0"', 'ixy="0.004"')],
        com="-0.02 0 0.2",
        xy="0.004",
    ),
    # SY5xx
    case("light_carries_heavy", URDF, '<mass value="2"/>', '<mass value="0.0004"/>', "SY501", at=INERTIAL),
    case("no_limit", URDF, f"    {LIMIT}\n", "", "SY503", at='<joint name="shoulder"'),
    case("no_effort", URDF, ' effort="50"', "", "SY503", at='<limit lower="-1" upper="1" velocity'),
    case("limits_swapped", URDF, 'lower="-1" upper="1" effort="50"', 'lower="1" upper="-1" effort="50"', "SY504"),
    case("no_torque", URDF, 'effort="50"', 'effort="0"', "SY504"),
    case("unknown_child", URDF, '<child link="hand"/>', '<child link="hnad"/>', "SY505"),
    case("second_parent", URDF, '<child link="hand"/>', '<child link="arm"/>', "SY505", at='<joint name="wrist"'),
    case(
        "link_twice",
        URDF,
        '<link name="hand">',
        '<link name="arm">',
        "SY505",
        at='<link name="arm">\n    <inertial>\n      <origin xyz="0 0 0.05"',
    ),
    case("loop", URDF, '<parent link="base"/>', '<parent link="hand"/>', "SY505", at='<joint name="shoulder"'),
    case("joint_type", URDF, '"shoulder" type="revolute"', '"shoulder" type="hinge"', "SY506"),
    case("axis_zero", URDF, '<axis xyz="0 1 0"/>', '<axis xyz="0 0 0"/>', "SY506"),
    case("limit_word", URDF, 'velocity="2"', 'velocity="fast"', "SY506"),
    case("limit_with_a_mark", URDF, 'velocity="2"', "velocity='2\"'", "SY606"),
    case("limit_with_a_mark_in_sdf", SDF, "<effort>50<", '<effort>50"<', "SY606"),
    case("no_effort_to_speak_of", URDF, 'effort="50"', 'effort="0.3"', "SY515"),
    case("friction_drives", URDF, LIMIT, LIMIT + '<dynamics friction="-1"/>', "SY513", at='<joint name="shoulder"'),
    case("damping_holds", URDF, LIMIT, LIMIT + '<dynamics damping="30"/>', "SY513", at='<joint name="shoulder"'),
    case("friction_drives_in_mjcf", MJCF, 'armature="0.01"', 'armature="0.01" damping="-1"', "SY513"),
    case(
        "friction_drives_in_sdf",
        SDF,
        "<axis><xyz>0 1 0</xyz>",
        "<axis><xyz>0 1 0</xyz><dynamics><damping>-1</damping></dynamics>",
        "SY513",
        at='<joint name="shoulder"',
    ),
    case("mimic_nobody", URDF, LIMIT, LIMIT + '\n    <mimic joint="thumb"/>', "SY507", at="<mimic"),
    case("mimic_itself", URDF, LIMIT, LIMIT + '\n    <mimic joint="shoulder"/>', "SY507", at="<mimic"),
    case(
        "loop_of_drake",
        URDF,
        "</robot>",
        '<loop_joint name="pin"><link1 link="hand"/><link2 link="base"/></loop_joint>\n</robot>',
        "SY509",
        at="<loop_joint",
    ),
    case(
        "loop_of_gazebo",
        URDF,
        "</robot>",
        '<gazebo>\n<joint name="pin" type="ball"><parent>hand</parent><child>base</child></joint></gazebo>\n</robot>',
        "SY509",
        at='<joint name="pin"',
    ),
    several(
        "implicit_world",
        [('<link name="base"/>', ""), ('<parent link="base"/>', '<parent link="world"/>')],
        "SY510",
        at='<joint name="shoulder"',
    ),
    several(
        "limits_in_degrees",
        [
            ('lower="-1" upper="1" effort="50"', 'lower="-170" upper="125" effort="50"'),
            ('-1" upper="1"', '-90" upper="0"'),
        ],
        "SY511",
        at='<limit lower="-170"',
    ),
    several(
        "speeds_in_degrees",
        [('effort="50" velocity="2"', 'effort="50" velocity="98"'), ('velocity="2"', 'velocity="225"')],
        "SY511",
        at='<limit lower="-1" upper="1" effort="50"',
    ),
    case(
        "joint_turned_by_degrees", URDF, '<origin xyz="0 0 0.4"/>', '<origin xyz="0 0 0.4" rpy="0 90 -22.5"/>', "SY511"
    ),
    case("inertial_turned_by_degrees", URDF, 'xyz="0 0 0.2" rpy="0 0 0"', 'xyz="0 0 0.2" rpy="180 0 0"', "SY511"),
    # SY6xx
    case("mesh_missing", URDF, BOX, '<mesh filename="meshes/arm.stl"/>', "SY601"),
    case("mesh_of_no_package", URDF, BOX, '<mesh filename="package://nowhere_description/arm.stl"/>', "SY604"),
    case("mesh_outside", URDF, BOX, '<mesh filename="../../../../etc/passwd"/>', "SY603"),
    case("mesh_absolute", URDF, BOX, '<mesh filename="/etc/passwd"/>', "SY603"),
    case("huge_box", URDF, BOX, '<box size="100 100 400"/>', "SY605"),
    # MJCF
    case(
        "mjcf_limits_in_degrees",
        MJCF.replace('"1 0 0" range="-1 1"', '"1 0 0" range="-45 90"'),
        'range="-1 1"',
        'range="-150 170"',
        "SY511",
    ),
    case("mjcf_negative_mass", MJCF, 'mass="2"', 'mass="-2"', "SY103", repaired=True),
    case("mjcf_no_tensor", MJCF, " " + DIAGONAL, "", "SY105", at='<inertial pos="0 0 0.2"', repaired=True),
    case("mjcf_triangle", MJCF, HAND_DIAGONAL, 'diaginertia="0.0006 0.0005 0.0014"', "SY203", repaired=True),
    case("mjcf_full", MJCF, HAND_DIAGONAL, 'fullinertia="0.0006 0.0005 0.0014 0.0001 0 0"', "SY203", repaired=True),
    case("mjcf_zero_tensor", MJCF, HAND_DIAGONAL, 'diaginertia="0 0 0"', "SY202", repaired=True),
    case("mjcf_com_outside", MJCF, 'pos="0 0 0.2" mass', 'pos="0 0 -0.3" mass', "SY301", repaired=True),
    case("mjcf_about_origin", MJCF, DIAGONAL, 'diaginertia="0.1083 0.1083 0.0033"', "SY305", repaired=True),
    case("mjcf_mm", MJCF, DIAGONAL, 'diaginertia="28300 28300 3300"', "SY402", repaired=True),
    case("mjcf_placeholder", MJCF, DIAGONAL, 'diaginertia="0.01 0.01 0.01"', "SY404", repaired=True),
    case(
        "mjcf_no_inertial",
        MJCF,
        f'        <inertial pos="0 0 0.05" mass="0.5" {HAND_DIAGONAL}/>\n',
        "",
        "SY101",
        at='<body name="hand"',
    ),
    case("mjcf_no_armature", MJCF, ' armature="0.01"', "", "SY502", at='<joint name="shoulder"'),
    case("mjcf_no_force", MJCF, ' ctrlrange="-50 50"', "", "SY503", at='<joint name="shoulder"'),
    case("mjcf_unknown_joint", MJCF, 'motor joint="shoulder"', 'motor joint="elbow"', "SY508", at="<motor joint"),
    case(
        "mjcf_missing_mesh",
        MJCF,
        "  <worldbody>",
        '  <asset><mesh file="gone.stl"/></asset>\n  <worldbody>',
        "SY601",
        at="<asset>",
    ),
)
