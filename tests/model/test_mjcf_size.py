"""MJCF files that stand for more than they hold are refused before MuJoCo is asked; and what MuJoCo leaves behind."""

import numpy as np
import pytest

import steelyard as sy
from steelyard.errors import ModelError
from steelyard.model import mjcf_compile
from steelyard.model.mjcf_files import read_files
from steelyard.model.references import allowed_folders

LINK = '<body name="{}"><joint/><geom size=".1"/></body>'


def written(folder, inside: str, name="robot.xml"):
    path = folder / name
    path.write_text(f"<mujoco>{inside}</mujoco>")
    return path


@pytest.mark.exhaustive(keep=2)
@pytest.mark.parametrize(
    ("inside", "message"),
    [
        ('<worldbody><replicate count="4000"><body><joint/></body></replicate></worldbody>', "bodies and joints"),
        (
            '<worldbody><replicate count="200"><replicate count="200"><geom/></replicate></replicate></worldbody>',
            "elem",
        ),
        ('<worldbody><body name="b"><flexcomp name="f" count="30 30 30"/></body></worldbody>', "bodies and joints"),
        ('<worldbody><body name="b"><flexcomp name="f" count="1e99 1 1"/></body></worldbody>', "bodies and joints"),
        ('<asset><hfield name="h" nrow="20000" ncol="20000" size="1 1 1 1"/></asset>', "pixels and heights"),
        ('<asset><texture name="t" builtin="flat" type="skybox" width="8000" height="10"/></asset>', "pixels"),
        ('<size nkey="1000000000"/>', "elements"),
        ('<asset><model name="m" file="robot.xml"/></asset><worldbody><body name="b"/></worldbody>', "elements"),
        ('<worldbody><body name="b"/><include file="more.xml"/></worldbody>', "bodies and joints"),
    ],
    ids=["bodies", "geoms", "flex", "absurd", "heights", "cube", "keys", "itself", "include"],
)
def test_a_few_words_that_stand_for_much(inside, message, tmp_path):
    """A file that attaches itself ended the process before."""
    written(tmp_path, '<replicate count="9999"><body/></replicate>', "more.xml")
    with pytest.raises(ModelError, match=message):
        sy.load(written(tmp_path, inside))


def test_counts_are_those_of_mujoco(tmp_path, monkeypatch):
    """Limits just below what MuJoCo makes of a file refuse it, and just above do not."""
    written(tmp_path, f"<worldbody>{LINK.format('a')}{LINK.format('b')}</worldbody>", "arm.xml")
    (tmp_path / "part.xml").write_text(f"<mujocoinclude>{LINK.format('p')}</mujocoinclude>")
    path = written(
        tmp_path,
        '<asset><model name="arm" file="arm.xml"/><texture name="t" type="2d" builtin="flat" width="8" height="9"/>'
        '<hfield name="h" nrow="7" ncol="6" size="1 1 1 1"/></asset><worldbody><include file="part.xml"/>'
        '<replicate count="3" sep="-" offset="0 0 1"><replicate count="2" sep="+" offset="0 1 0"><body><geom size="1"/>'
        '</body></replicate></replicate><frame><attach model="arm" body="b" prefix="x"/></frame></worldbody>',
    )
    files = read_files(path, allowed_folders(path))
    m, _ = mjcf_compile.compile_files(files)
    own = m.nbody - 1 + m.njnt
    read = 4  # bodies and joints of arm.xml, which MuJoCo reads whole before it takes a part of it
    samples = m.tex_height[0] * m.tex_width[0] + m.nhfielddata
    for name, count in (("MOST_BODIES", own + read), ("MOST_SAMPLES", samples)):
        monkeypatch.setattr(mjcf_compile, name, int(count))
        mjcf_compile.require_bounded(files)
        monkeypatch.setattr(mjcf_compile, name, int(count) - 1)
        with pytest.raises(ModelError, match="stands for more"):
            mjcf_compile.require_bounded(files)
        monkeypatch.undo()


@pytest.mark.parametrize(
    ("element", "message"),
    [
        ('<geom size="inf"/>', "body 'arm' has mass inf"),
        ('<geom size=".1"/><joint name="j" armature="nan"/>', "joint 'j' has armature nan"),
        ('<geom size=".1"/><joint name="j" damping="inf"/>', "joint 'j' has damping"),
        ('<geom size=".1"/><joint name="j" pos="0 inf 0"/>', "joint 'j' has pos"),
        ('<geom size=".1"/><joint name="j" ref="inf"/>', "joint 'j' has ref"),
    ],
)
def test_numbers_that_are_none_are_named(element, message, tmp_path):
    """MuJoCo compiles them."""
    with pytest.raises(ModelError, match=message):
        sy.load(written(tmp_path, f'<worldbody><body name="arm">{element}</body></worldbody>'))


def test_mujoco_can_be_asked_again_after_it_failed_within(tmp_path, monkeypatch):
    """An anchor without numbers makes MuJoCo 4.0 throw what it does not catch; the next warning then hung for ever."""
    link = LINK.format("a")
    loop = '<equality><connect body1="a" anchor=" "/></equality>'
    bad = written(tmp_path, f"<worldbody>{link}</worldbody>{loop}", "bad.xml")
    warns = written(tmp_path, f"<worldbody>{link.replace('<geom', '<geom user=@nan@')}</worldbody>".replace("@", '"'))
    monkeypatch.chdir(tmp_path)  # where MuJoCo writes its log
    for _ in range(2):
        with pytest.raises(ModelError):
            sy.load(bad)
        assert np.isfinite(sy.load(warns).inertias).all()
