"""Random robots as SDF text: nested models, poses relative to anything, axes in any frame, every joint that moves."""

import numpy as np
from scipy.spatial.transform import Rotation

TYPES = ("revolute", "continuous", "prismatic", "screw", "ball", "universal", "fixed")
ONE = ("revolute", "continuous", "prismatic", "screw")


def sdf_text(rng, *, links: int = 7, types=TYPES, mimic: bool = True, grounded: bool | None = None) -> str:
    """SDF of a random tree in up to three models. grounded: whether a joint holds its first link to the world."""
    grounded = bool(rng.uniform() < 0.5) if grounded is None else grounded
    models = ["", "in", "in::deep"][: int(rng.integers(1, 4))]
    owner = ["", *models[1:], *(str(rng.choice(models)) for _ in range(links - len(models)))]
    paths = [f"{home}::l{k}".removeprefix("::") for k, home in enumerate(owner)]
    inside: dict[str, list[str]] = {home: [] for home in models}
    known: dict[str, list[str]] = {home: [] for home in models}  # frames that poses may be relative to, so far
    masters: list[str] = []
    for home in reversed(models):  # names of inner models are known outside
        for inner in (each for each in models if each.startswith(home) and each != home):
            prefix = inner.removeprefix(home).removeprefix("::")
            known[home] += [f"{prefix}::{name}" for name in known[inner] if not name.startswith("j")] + [prefix]
        for k in (k for k in range(links) if owner[k] == home):
            inside[home].append(_link(rng, f"l{k}", known[home]))
            known[home].append(f"l{k}")
            if rng.uniform() < 0.4:
                attached = f' attached_to="{rng.choice(known[home])}"' if rng.uniform() < 0.7 else ""
                inside[home].append(f'<frame name="f{k}"{attached}>{_pose(rng, known[home])}</frame>')
                known[home].append(f"f{k}")
    for k in range(1, links):
        parent = int(rng.integers(max(0, k - 3), k))
        kind = "revolute" if k == 1 else str(rng.choice(types))
        inside[""].append(_joint(rng, f"j{k}", kind, paths[parent], paths[k], known[""], masters if mimic else []))
    if grounded:
        inside[""].append('<joint name="hold" type="fixed"><parent>world</parent><child>l0</child></joint>')
    body = ""
    for home in reversed(models):
        attributes = f'name="{home.rpartition("::")[2] or "robot"}"'
        if known[home] and rng.uniform() < 0.4:
            attributes += f' placement_frame="{rng.choice([n for n in known[home] if "::" not in n])}"'
        body = f"<model {attributes}>{_pose(rng, [])}{''.join(inside[home])}{body}</model>"
    return f'<?xml version="1.0"?>\n<sdf version="1.11" xmlns:drake="http://drake.mit.edu">\n{body}\n</sdf>\n'


def _link(rng, name, known) -> str:
    points = rng.normal(size=(6, 3)) * 0.2
    masses = rng.uniform(0.1, 1.0, size=6)
    I = sum(m * (r @ r * np.eye(3) - np.outer(r, r)) for m, r in zip(masses, points, strict=True))
    six = {f"i{a}{b}": I["xyz".index(a), "xyz".index(b)] for a, b in ("xx", "xy", "xz", "yy", "yz", "zz")}
    tensor = "".join(f"<{tag}>{value:.17g}</{tag}>" for tag, value in six.items())
    inertial = f"<inertial>{_pose(rng, [])}<mass>{masses.sum():.17g}</mass><inertia>{tensor}</inertia></inertial>"
    return f'<link name="{name}">{_pose(rng, known)}{inertial if rng.uniform() < 0.9 else ""}</link>'


def _pose(rng, known) -> str:
    """A pose in one of the three spellings, of another frame where one is known, or none."""
    if rng.uniform() < 0.15:
        return ""
    attributes = f' relative_to="{rng.choice(known)}"' if known and rng.uniform() < 0.6 else ""
    place, turn = rng.normal(size=3) * 0.3, Rotation.random(rng=rng)
    spelling = rng.integers(3)
    if spelling == 0:
        return f"<pose{attributes}>{_words([*place, *turn.as_euler('xyz')])}</pose>"
    if spelling == 1:
        attributes += ' degrees="true"'
        return f"<pose{attributes}>{_words([*place, *turn.as_euler('xyz', degrees=True)])}</pose>"
    return f'<pose{attributes} rotation_format="quat_xyzw">{_words([*place, *turn.as_quat()])}</pose>'


def _joint(rng, name, kind, parent, child, known, masters) -> str:
    first = rng.normal(size=3)
    second = np.cross(first, rng.normal(size=3))
    frame = f' expressed_in="{rng.choice(["__model__", *known])}"' if rng.uniform() < 0.5 else ""
    axes, mimic = "", ""
    if kind in ONE and masters and rng.uniform() < 0.3:
        numbers = "".join(f"<{tag}>{rng.normal():.3f}</{tag}>" for tag in ("multiplier", "offset", "reference"))
        mimic = f'<mimic joint="{rng.choice(masters)}">{numbers}</mimic>'
    elif kind in ONE:
        masters.append(name)
    if kind in (*ONE, "universal"):
        limits = "<limit><lower>-3</lower><upper>3</upper></limit>" if kind != "continuous" else ""
        friction = "<dynamics><damping>0.25</damping></dynamics>"
        axes = f"<axis><xyz{frame}>{_words(first)}</xyz>{limits}{friction}{mimic}</axis>"
    if kind == "universal":
        axes += f"<axis2><xyz{frame}>{_words(second)}</xyz></axis2>"
    if kind == "screw":
        axes += f"<screw_thread_pitch>{rng.normal():.3f}</screw_thread_pitch>"
    if kind in ("revolute", "prismatic"):
        axes += "<drake:rotor_inertia>0.01</drake:rotor_inertia><drake:gear_ratio>-5</drake:gear_ratio>"
    return (
        f'<joint name="{name}" type="{kind}">{_pose(rng, known)}<parent>{parent}</parent><child>{child}</child>{axes}'
        "</joint>"
    )


def _words(values) -> str:
    return " ".join(f"{x:.17g}" for x in values)
