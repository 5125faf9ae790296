"""Links of one limb are identified, those of another stand: their text in the file stays as it is."""

import re
from dataclasses import replace

import numpy as np
import pinocchio as pin
import pytest
from evidence.draws import stranger_logs as logs

import steelyard as sy
from steelyard.fit import branches
from steelyard.report import summary
from steelyard.report.key_tables import contradicted


def inertials(text):
    return dict(re.findall(r'<link name="([^"]+)">(.*?)</link>', text, flags=re.DOTALL))


@pytest.mark.exhaustive(keep=1)
@pytest.mark.parametrize("base", [4, 12])
def test_a_wrong_limb_beside_right_ones(base, tmp_path):
    job = logs.drawn(base, robot="limbs", true=True)
    true = job.robot.nominal.copy()
    for k in range(1, 4):  # the first limb
        body = true.inertias[k]
        true.inertias[k] = pin.Inertia(1.4 * body.mass, body.lever + np.array([0.0, 0.01, 0.02]), 1.4 * body.inertia)
    job = replace(job, robot=replace(job.robot, true=true))
    path = tmp_path / "robot.urdf"
    path.write_text(job.robot.text)
    load = logs.links(job, job.usual)
    log = sy.Log(**logs.recorded(job, job.usual, load + logs.drives(job, job.usual, load)))
    found = sy.identify(path, log, out=tmp_path / "out")
    changed = {"limb1_hip", "limb1_thigh", "limb1_calf"}
    assert set(found.kept) == set(found.prior.body_names) - changed and not found.stand
    told = summary(found)
    assert told["held_out"]["links_kept"] == list(found.kept) and not told["held_out"]["links_stand"]
    assert "stand: limb2_hip" in told["verdict"]["headline"]
    table = contradicted(told)
    assert table is not None and all("limb1" in row[0].text for row in table.rows)
    effects = [float(row[4].text.rstrip(" %")) for row in table.rows]
    assert effects == sorted(effects, reverse=True) and effects[0] > 5
    before, after = inertials(job.robot.text), inertials(next((tmp_path / "out").glob("*.urdf")).read_text())
    assert {name for name in before if before[name] != after[name]} == changed


def test_parts_of_robots():
    puma = sy.library.puma560()
    assert branches(puma) == [(tuple(range(6)), puma.body_names)]
    assert len(branches(sy.library.quadruped(floating=True))) == 1
    legs = branches(sy.library.quadruped(floating=False))
    assert len(legs) == 4 and sorted(dof for dofs, _ in legs for dof in dofs) == list(range(12))
    assert len(branches(sy.library.five_bar())) == 1  # a closed loop
