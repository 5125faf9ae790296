"""Couplings, springs and user columns: MuJoCo tendons, rank of random states, fits, refusals."""

import mujoco
import numpy as np
import pytest

import steelyard as sy
from problems import random_log
from robots import random_state, urdf
from steelyard.dynamics.effects import extra_rows, extra_torque
from steelyard.errors import LogError, OptionError
from steelyard.identifiable import regression_basis
from steelyard.information import accumulate
from steelyard.terms import UserColumn, layout_of

TENDON = """<mujoco><option gravity="0 0 0"/><worldbody>
<body><joint name="a" axis="0 0 1"/><geom size=".1" mass="1"/>
<body pos=".3 0 0"><joint name="b" axis="0 1 0"/><geom size=".1" mass="1"/></body></body></worldbody>
<tendon><fixed {attribute}><joint joint="a" coef="1"/><joint joint="b" coef="-2.5"/></fixed></tendon></mujoco>"""


@pytest.fixture(scope="module")
def arm():
    return sy.load(urdf("ur5_robot"))


@pytest.mark.parametrize(("kind", "attribute"), [("armature", "armature"), ("viscous", "damping")])
def test_coupling_is_a_fixed_tendon_of_mujoco(tmp_path, kind, attribute):
    texts = [TENDON.format(attribute=f'{attribute}="{value}"') for value in (0.7, 0.0)]
    path = tmp_path / "two.xml"
    path.write_text(texts[1])
    robot = sy.load(path)
    layout = layout_of(robot, coupling=({"a": 1.0, "b": -2.5},))
    q, v, a = random_state(robot, np.random.default_rng(0))
    expected = []
    for text in texts:
        model = mujoco.MjModel.from_xml_string(text)
        data = mujoco.MjData(model)
        data.qpos, data.qvel, data.qacc = q, v, a
        mujoco.mj_inverse(model, data)
        expected.append(data.qfrc_inverse.copy())
    extra = next(e for e in layout.extras if e.kind == kind)
    assert extra.name == f"a-b.{kind}"
    ours = 0.7 * extra_rows(robot, extra, q[:, None], v[:, None], a[:, None])[:, 0]
    np.testing.assert_allclose(ours, expected[0] - expected[1], atol=1e-12)


def test_a_spring_behind_a_ball_joint_takes_its_own_position(tmp_path):
    """A quaternion has a number more than its joint has degrees of freedom."""
    (tmp_path / "ball.xml").write_text(
        '<mujoco><worldbody><body><joint name="ball" type="ball"/><geom size=".1" mass="1"/>'
        '<body pos=".3 0 0"><joint name="hinge" axis="0 1 0"/><geom size=".1" mass="1"/></body></body>'
        "</worldbody></mujoco>"
    )
    robot = sy.load(tmp_path / "ball.xml")
    q, v, a = random_state(robot, np.random.default_rng(0))
    (extra,) = layout_of(robot, springs=("hinge",)).extras
    assert (robot.nq, extra.dofs) == (5, (3,))
    np.testing.assert_array_equal(extra_rows(robot, extra, q[:, None], v[:, None], a[:, None]), [[q[4]]])


def columns_of(robot):
    """One column tied to others (the torque of the model), one of its own."""
    rigid = robot.with_joint_properties(armature=np.zeros(robot.nv))
    return (
        UserColumn("model", lambda q, v, a: sy.inverse_dynamics(rigid, q, v, a)),
        UserColumn("cube", lambda q, v, a: v**3, "N m s^3/rad^3"),
    )


@pytest.mark.parametrize("stem", ["ur5_robot", "panda", "solo12"])
def test_basis_is_the_rank_of_random_states(stem):
    robot = sy.load(urdf(stem), floating=True if stem == "solo12" else None)
    first, second = robot.joint_names[-2:]
    options = {
        "friction": ("viscous", "coulomb", "offset"),
        "armature": True,
        "coupling": ((first, second), (first, second)),  # the same coupling twice shows only once
        "springs": (first,),
        "extra": columns_of(robot),
    }
    layout = layout_of(robot, **options)
    plain = regression_basis(robot, layout.without_extras)
    basis = regression_basis(robot, layout)
    names = [layout.names[c] for c in basis.columns[plain.count :]]
    coupled = [f"{first}+{second}.{kind}" for kind in ("armature", "viscous", "coulomb")]
    assert names == [*coupled, f"{first}.spring", "cube"]
    assert np.array_equal(basis.columns[: plain.count], plain.columns)
    log = random_log(robot, np.random.default_rng(1), samples=600, torque=lambda *s: sy.inverse_dynamics(robot, *s))
    full, base = (accumulate(robot, log, columns=c, **options) for c in ("all", "base"))
    K = basis.regrouping
    np.testing.assert_allclose(K.T @ base.G @ K, full.G, atol=1e-9 * np.abs(full.G).max())
    size = np.sqrt(np.diag(base.G))
    assert np.linalg.eigvalsh(base.G / size[:, None] / size)[0] > 1e-12


@pytest.mark.parametrize("fit", [sy.fit.least_squares, sy.fit.consistent])
def test_fits_find_them_and_predict(arm, fit):
    names = arm.joint_names
    options = {"coupling": ({names[4]: 1.0, names[5]: -1.0},), "springs": names[:1], "extra": columns_of(arm)[1:]}
    layout, values = layout_of(arm, **options), np.array([0.3, 0.8, 1.1, 7.0, 0.05])

    def torque(q, v, a):
        return sy.inverse_dynamics(arm, q, v, a) + extra_torque(arm, layout, values, q, v, a)

    log = random_log(arm, np.random.default_rng(2), samples=1000, torque=torque)
    estimate = fit(accumulate(arm, log, friction=(), **options))
    np.testing.assert_allclose(estimate.extras, values, rtol=1e-5)
    assert sy.validate(estimate, log).relative_error < 1e-5
    assert sy.validate(fit(accumulate(arm, log, friction=())), log).relative_error > 1e-2


def test_a_negative_coupling_is_kept_at_zero(arm):
    pair = (arm.joint_names[-2:],)
    layout = layout_of(arm, coupling=pair)

    def torque(q, v, a):
        return sy.inverse_dynamics(arm, q, v, a) + extra_torque(arm, layout, np.array([0.1, -0.5, 0.0]), q, v, a)

    log = random_log(arm, np.random.default_rng(3), samples=500, torque=torque, noise=0.01)
    estimate = sy.fit.consistent(accumulate(arm, log, friction=(), coupling=pair))
    assert 0 <= estimate.extras[1] < 1e-3


def test_direction_of_a_shared_motor_passes_the_filter(arm):
    """It is that of a joint that moves with the sum; both engines and the validation use it, slices keep it."""
    rng = np.random.default_rng(5)
    t = np.arange(1500) / 100.0
    q = sum(rng.normal(size=6) * np.sin(w * t[:, None] + rng.uniform(0, 6, size=6)) for w in rng.uniform(1, 9, size=4))
    names = arm.joint_names
    motor = {names[5]: -0.5, names[4]: 1.0}
    tau = rng.normal(size=q.shape)
    seventh = np.column_stack([q, q[:, 4] - 0.5 * q[:, 5]])
    expected = sy.filters.differentiate(sy.Log(t=t, q=seventh, tau=seventh), cutoff=5.0).direction[:, 6]
    raw = sy.Log(t=t, q=q, tau=tau, joint_names=names)
    log = sy.filters.differentiate(raw, cutoff=5.0, coupling=(motor,))
    np.testing.assert_allclose(log.shared_direction[:, 0], expected, atol=1e-9)
    assert np.abs(np.tanh((log.v[:, 4] - 0.5 * log.v[:, 5]) / 0.05) - expected).max() > 0.1
    np.testing.assert_array_equal(log[100:200].shared_direction, log.shared_direction[100:200])
    assert log.replace(q=log.q).shared_direction is None

    options = {"coupling": (f"{names[4]}-0.5*{names[5]}",), "columns": "all"}
    plain = accumulate(arm, sy.filters.differentiate(raw, cutoff=5.0), **options)
    info, fused = (accumulate(arm, log, engine=engine, **options) for engine in ("numpy", "native"))
    place = info.layout.names.index(f"{names[4]}-{names[5]}.coulomb")
    assert info.G[place, place] == pytest.approx(1.25 * expected @ expected)
    assert abs(plain.G[place, place] / info.G[place, place] - 1) > 0.01
    np.testing.assert_allclose(fused.gram, info.gram, rtol=0, atol=1e-12 * info.gram.max())
    estimate = sy.fit.least_squares(info)
    residual = info.residual_energy(estimate.parameters)
    np.testing.assert_allclose((sy.validate(estimate, log).error ** 2).sum(axis=0), residual, rtol=1e-8)
    with pytest.raises(OptionError, match="driven joints"):
        sy.filters.differentiate(raw, cutoff=5.0, coupling="elbow+wrist")
    with pytest.raises(LogError, match="no joint 'elbow'"):
        sy.filters.differentiate(raw, cutoff=5.0, coupling=(("elbow", names[0]),))


def test_refusals(arm):
    log = random_log(arm, np.random.default_rng(4), samples=50, torque=lambda *s: sy.inverse_dynamics(arm, *s))
    first = arm.joint_names[0]
    with pytest.raises(OptionError, match="no driven joint 'elbow'"):
        layout_of(arm, coupling=((first, "elbow"),))
    with pytest.raises(OptionError, match="two joints"):
        layout_of(arm, coupling=((first,),))
    with pytest.raises(OptionError, match="driven joints: shoulder_pan"):
        layout_of(arm, coupling=("joint5",))
    with pytest.raises(OptionError, match="UserColumn"):
        layout_of(arm, extra=[np.sin])
    with pytest.raises(OptionError, match=r"'bad'.*shape"):
        accumulate(arm, log, extra=[UserColumn("bad", lambda q, v, a: v[0])])
