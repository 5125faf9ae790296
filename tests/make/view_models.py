"""A small arm with every kind of geometry, a mesh that is missing and names out of an attacker's book."""

from html import escape
from pathlib import Path

import trimesh

HOSTILE = "</script><script>alert(1)</script>"
QUOTES = "\"'&lt;<b onclick=alert(2)>ü–✓\u202e\u2028"
MODEL = """<?xml version="1.0"?>
<robot name="{name}">
  <material name="blue"><color rgba="0 0.2 0.9 1"/></material>
  <link name="ground">
    <visual><geometry><cylinder radius="0.1" length="0.05"/></geometry><material name="blue"/></visual>
  </link>
  <link name="{upper}">
    <inertial><origin xyz="0.2 0 0.03"/><mass value="4"/>
      <inertia ixx="0.02" ixy="0.001" ixz="0" iyy="0.09" iyz="0.002" izz="0.08"/></inertial>
    <visual><origin xyz="0.2 0 0" rpy="0 1.5707963 0"/>
      <geometry><mesh filename="meshes/rod.stl" scale="1 -1 1"/></geometry></visual>
    <collision><origin xyz="0.2 0 0"/><geometry><box size="0.4 0.08 0.08"/></geometry></collision>
  </link>
  <link name="forearm">
    <inertial><origin xyz="0.15 0 0.01"/><mass value="2"/>
      <inertia ixx="0.008" ixy="0" ixz="0.001" iyy="0.03" iyz="0" izz="0.03"/></inertial>
    <visual><origin xyz="0.15 0 0"/><geometry><box size="0.3 0.06 0.06"/></geometry>
      <material name="own"><color rgba="0.9 0.1 0.1 1"/></material></visual>
    <visual><geometry><mesh filename="meshes/{missing}"/></geometry></visual>
  </link>
  <link name="rod">
    <inertial><mass value="0.7"/><inertia ixx="0.002" ixy="0" ixz="0" iyy="0.004" iyz="0" izz="0.004"/></inertial>
    <visual><geometry><!-- end --><sphere radius="0.04"/></geometry></visual>
  </link>
  <joint name="{shoulder}" type="revolute"><parent link="ground"/><child link="{upper}"/><origin xyz="0 0 0.1"/>
    <axis xyz="0 1 0"/><limit lower="-2" upper="1.5" effort="100" velocity="10"/></joint>
  <joint name="elbow" type="continuous"><parent link="{upper}"/><child link="forearm"/><origin xyz="0.4 0 0"/>
    <axis xyz="0 0.6 0.8"/></joint>
  <joint name="slide" type="prismatic"><parent link="forearm"/><child link="rod"/><origin xyz="0.35 0 0"/>
    <axis xyz="1 0 0"/><limit lower="0.02" upper="0.2" effort="100" velocity="10"/></joint>
</robot>
"""
NAMES = {"name": "arm", "upper": "upper", "shoulder": "shoulder", "missing": "nothing.stl"}
HOSTILE_NAMES = {"name": QUOTES, "upper": HOSTILE, "shoulder": QUOTES, "missing": "<img src=x onerror=alert(3)>.stl"}


def write_arm(folder: Path, **names) -> Path:
    """The arm in `folder`, with its mesh."""
    (folder / "meshes").mkdir(parents=True)
    trimesh.creation.capsule(radius=0.04, height=0.3, count=[32, 32]).export(folder / "meshes" / "rod.stl")
    path = folder / "arm.urdf"
    path.write_text(MODEL.format(**{key: escape(value) for key, value in (NAMES | names).items()}), "utf-8")
    return path
