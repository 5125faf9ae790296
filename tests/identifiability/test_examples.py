"""The examples of structural identifiability run; the locked-torso experiment shows what the paper's Table 6 does."""

import runpy
from pathlib import Path

import numpy as np

EXAMPLES = Path(__file__).parents[2] / "examples"


def test_table_of_a_robot(capsys):
    main = runpy.run_path(str(EXAMPLES / "20_identifiability.py"), run_name="example")["main"]
    main([])
    shown = capsys.readouterr().out
    assert "18 identifiable combinations" in shown and "a base that moves freely: 31 combinations" in shown
    main(["--floating"])
    assert "34 identifiable combinations" in capsys.readouterr().out


def test_leg_identified_on_a_locked_torso():
    """Wrong on exactly the joints that the theory names: ab/ad and hip, never the knee (paper C, Table 6)."""
    result = runpy.run_path(str(EXAMPLES / "21_locked_torso.py"), run_name="example")["run"]()
    assert result["theory"] == ("abad", "hip")
    for validated in ("locked", "floating"):
        assert np.abs(result["floating", validated]).max() < 1e-8
    assert np.abs(result["locked", "locked"][6:]).max() < 1e-8
    abad, hip, knee = result["locked", "floating"][6:]
    assert abad > 0.01 and hip > 0.01 and knee < 1e-8
    assert (result["locked", "floating"][:6] > 1).all()
