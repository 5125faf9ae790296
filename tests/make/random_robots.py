"""Random robots as URDF text: trees with every joint type, fixed attachments and mimic joints."""

import numpy as np
from hypothesis import strategies as st

TYPES = ("revolute", "continuous", "prismatic", "fixed", "planar", "floating")


def urdf_text(rng, *, links: int, types=TYPES, mimic: bool = True) -> str:
    """URDF of a random tree. Every link has a random consistent inertial; attachments may hang on anything."""
    parts = [f'<robot name="random">\n{_link(0, rng)}']
    movable = []
    for k in range(1, links):
        kind = "revolute" if k == 1 else str(rng.choice(types))
        parent = int(rng.integers(max(0, k - 3), k))
        axis = (0, 0, 1) if kind == "planar" else rng.normal(size=3)
        text = (
            f'<joint name="j{k}" type="{kind}"><parent link="l{parent}"/><child link="l{k}"/>'
            f'<origin xyz="{_words(rng.normal(size=3) * 0.3)}" rpy="{_words(rng.uniform(-3, 3, size=3))}"/>'
            f'<axis xyz="{_words(axis / np.linalg.norm(axis))}"/><limit lower="-3" upper="3" effort="9" velocity="9"/>'
        )
        if mimic and kind in ("revolute", "prismatic") and movable and rng.uniform() < 0.2:
            text += (
                f'<mimic joint="{rng.choice(movable)}" multiplier="{rng.normal():.3f}" offset="{rng.normal():.3f}"/>'
            )
        elif kind in ("revolute", "prismatic"):
            movable.append(f"j{k}")
        parts += [_link(k, rng), text + "</joint>"]
    return "\n".join([*parts, "</robot>"])


def _link(k, rng) -> str:
    points = rng.normal(size=(6, 3)) * 0.2
    masses = rng.uniform(0.1, 1.0, size=6)
    com = masses @ points / masses.sum()
    arms = points - com
    I = sum(m * (r @ r * np.eye(3) - np.outer(r, r)) for m, r in zip(masses, arms, strict=True))
    return (
        f'<link name="l{k}"><inertial><origin xyz="{_words(com)}" rpy="0 0 0"/><mass value="{masses.sum():.17g}"/>'
        f'<inertia ixx="{I[0, 0]:.17g}" ixy="{I[0, 1]:.17g}" ixz="{I[0, 2]:.17g}" iyy="{I[1, 1]:.17g}" '
        f'iyz="{I[1, 2]:.17g}" izz="{I[2, 2]:.17g}"/></inertial></link>'
    )


def _words(values) -> str:
    return " ".join(f"{x:.17g}" for x in values)


seeds = st.integers(0, 2**31 - 1)
