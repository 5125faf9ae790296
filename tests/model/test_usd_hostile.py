"""USD files that are damaged, vast or reach outside: one message, soon, and the process lives."""

import random
import sys
import time
import zipfile

import pytest
from pxr import Sdf

from steelyard.errors import ModelError, OptionError
from steelyard.model import load
from steelyard.model.formats import models_in
from usd_stages import pendulum, text

LAUGHS = "".join(
    f'def "p{i}" {{\ndef "a" (references = </p{i + 1}>) {{\n}}\ndef "b" (references = </p{i + 1}>) {{\n}}\n}}\n'
    for i in range(40)
)
FILES = {
    "laughs": ("#usda 1.0\n" + LAUGHS + 'def "p40" {\n}\n', "more than 50000 prims"),
    "nested": ("#usda 1.0\n" + 'def "a" {\n' * 5000 + "}\n" * 5000, "levels deep"),
    "dictionary": (
        "#usda 1.0\n(\ncustomLayerData = {dictionary a = " + "{dictionary a = " * 9000 + "{}",
        "levels deep",
    ),
    "hidden": ('#usda 1.0\n(\nx = "' + "}" * 9000 + '"\ny = ' + "{" * 9000, "levels deep"),
    "words": ("#usda 1.0\nthis is no layer", "parse error|syntax"),
    "bytes": ("#usda 1.0\ndef \udce9\udcff", "not UTF-8|cannot read|parse error"),
    "magic": ("PXR-USDC garbage", "damaged"),
    "empty": ("", "is empty"),
    "other": ("<robot/>", "is no USD layer"),
    "expression": ('#usda 1.0\ndef "a" (references = @`${X}`@) {\n}\n', "expression"),
    "sphere": ('#usda 1.0\ndef Sphere "a" {\n}\n', "has no bodies"),
    "outside": ("#usda 1.0\n(\nsubLayers = [@../../../etc/hosts.usda@]\n)\n", "outside"),
}


@pytest.mark.parametrize("name", FILES)
def test_one_message_soon(name, tmp_path):
    words, expected = FILES[name]
    folder = tmp_path / "a" / "b"
    folder.mkdir(parents=True)
    path = folder / "robot.usda"
    path.write_bytes(words.encode(errors="surrogateescape"))
    start = time.monotonic()
    with pytest.raises(ModelError, match=expected) as told:
        load(path)
    assert time.monotonic() - start < 10
    assert len(str(told.value)) < 700


def test_circles_of_references_and_remote_layers_are_survived(tmp_path, capfd):
    words = text(pendulum()) + 'def "a" (references = </b>) {\n}\ndef "b" (references = </a>) {\n}\n'
    words += 'def "c" (references = @http://example.org/x.usd@) {\n}\n'
    (tmp_path / "a.usda").write_text(words)
    robot = load(tmp_path / "a.usda")
    assert robot.body_names == ("link",) and any("example.org" in note for note in robot.notes)
    assert capfd.readouterr() == ("", "")


def test_damaged_binary_files_do_not_end_or_hang_the_process(tmp_path):
    good = tmp_path / "good.usdc"
    stage = pendulum()
    stage.GetRootLayer().Export(str(good))
    content, rng = good.read_bytes(), random.Random(0)
    for number in range(4):
        damaged = bytearray(content)
        for _ in range(30):
            damaged[rng.randrange(8, len(damaged))] = rng.randrange(256)
        path = tmp_path / f"{number}.usdc"
        path.write_bytes(damaged[: rng.randrange(100, len(damaged))] if number % 2 else damaged)
        try:
            load(path)
        except ModelError as error:
            assert str(error)
    assert load(good).body_names == ("link",)


def test_layers_outside_are_not_opened_without_leave(tmp_path):
    inside, outside = tmp_path / "own" / "deep" / "er", tmp_path / "else"
    inside.mkdir(parents=True)
    outside.mkdir()
    (outside / "arm.usda").write_text(text(pendulum()))
    (inside / "r.usda").write_text(f'#usda 1.0\ndef "r" (payload = @{outside / "arm.usda"}@) {{\n}}\n')
    with pytest.raises(ModelError, match="--folder"):
        load(inside / "r.usda")
    assert load(inside / "r.usda", folders=[outside]).body_names == ("link",)


def test_archives_are_read_and_their_names_lead_nowhere(tmp_path):
    layer = tmp_path / "arm.usdc"
    stage = pendulum()
    stage.GetRootLayer().Export(str(layer))
    with zipfile.ZipFile(tmp_path / "bad.usdz", "w") as archive:
        archive.writestr("../../evil.usda", text(stage))
    try:
        load(tmp_path / "bad.usdz")
    except ModelError as error:
        assert "bad.usdz" in str(error)
    assert not (tmp_path.parent / "evil.usda").exists()
    from pxr import UsdUtils

    assert UsdUtils.CreateNewUsdzPackage(Sdf.AssetPath(str(layer)), str(tmp_path / "arm.usdz"))
    assert load(tmp_path / "arm.usdz").body_names == ("link",)


def test_parts_of_models_are_no_models(tmp_path):
    (tmp_path / "arm.usda").write_text(text(pendulum()))
    (tmp_path / "look.usda").write_text('#usda 1.0\ndef Material "m" {\n}\n')
    assert [each.name for each in models_in(tmp_path)] == ["arm.usda"]


def test_without_the_extra_a_message_names_it(tmp_path, monkeypatch):
    (tmp_path / "arm.usda").write_text(text(pendulum()))
    monkeypatch.setitem(sys.modules, "pxr", None)
    with pytest.raises(OptionError, match=r"steelyard\[usd\]"):
        load(tmp_path / "arm.usda")
    with pytest.raises(ModelError, match="holds no"):
        models_in(tmp_path)
