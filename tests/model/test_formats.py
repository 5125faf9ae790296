"""A format that is no XML is a document and a record: whoever reads, checks, draws or writes models takes it."""

import json
from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path

import numpy as np
import pytest

import steelyard as sy
from steelyard import check
from steelyard.errors import ModelError
from steelyard.inertia import from_com_inertia, solids, to_com_inertia
from steelyard.model import Joint, formats, revolute_subspace, write_back
from steelyard.model.assemble import Segment, assemble
from steelyard.model.bounding import bounding_ellipsoids
from steelyard.model.changes import Draft, find_changes
from steelyard.model.document import ModelDocument, read_bytes
from steelyard.model.formats import models_in
from steelyard.model.meshes import Piece
from steelyard.model.robot import WORLD, ModelSource
from steelyard.model.sketch import Inertial, Place, Shape, Sketch, SketchJoint, SketchPart
from steelyard.spatial import GRAVITY

SIZE = [0.05, 0.05, 0.15]
LINK = {"at": [0, 0, 0.3], "mass": 1.5, "com": [0.02, 0, 0.1], "moments": [0.003, 0.003, 0.001]}
LINKS = [LINK | {"name": f"l{i}", "axis": axis} for i, axis in enumerate(([0, 0, 1], [0, 1, 0]))]


@dataclass(frozen=True, eq=False)
class Chain(ModelDocument):
    """A chain of hinges in JSON."""

    @cached_property
    def links(self) -> list[dict]:
        try:
            return json.loads(read_bytes(self.path))
        except ValueError as error:
            raise ModelError(f"{self.path} is no chain: {error}.") from error

    def referenced(self) -> Iterator[Path]:
        return iter(())

    def robot(self, *, floating, gravity):
        parts = [Segment("ground", WORLD, np.eye(3), np.zeros(3), (), np.zeros(10), False)]
        for i, link in enumerate(self.links):
            joint = Joint(f"j{i}", "revolute", revolute_subspace(link["axis"]), np.eye(3), np.array(link["at"]))
            theta = from_com_inertia(link["mass"], np.array(link["com"]), np.diag(link["moments"]))
            parts.append(Segment(link["name"], i, np.eye(3), np.zeros(3), (joint,), theta, True))
        gravity = GRAVITY if gravity is None else gravity
        source = ModelSource(self.path.absolute(), "chain", self.folders)
        return assemble(self.path.stem, parts, floating=floating, gravity=gravity, source=source)

    def sketch(self, *, meshes=True):
        parts, joints = [], []
        for i, link in enumerate(self.links):
            place, com = Place(self.path, i + 1, f"link '{link['name']}'"), np.array(link["com"], dtype=float)
            tensor = np.diag(np.array(link["moments"], dtype=float))
            inertial = Inertial(
                replace(place, element=f"{place.element} > inertial"), link["mass"], com, np.eye(3), tensor
            )
            shape = Shape(place, "collision", solids.box(np.array(SIZE)) + com, None, "box")
            above = i - 1 if i else None
            parts.append(
                SketchPart(link["name"], place, above, np.eye(3), np.array(link["at"]), True, inertial, (shape,))
            )
            joints.append(SketchJoint(f"j{i}", place, "revolute", i, {}))
        return Sketch(self.path, "chain", "link", tuple(parts), tuple(joints), ())

    def pieces(self):
        for link in self.links:
            yield Piece(
                link["name"], "visual", key=("box",), vertices=solids.box(np.array(SIZE)) + np.array(link["com"])
            )

    def edited(self, robot, reference, target):
        changes = find_changes(
            robot, reference, format="CHAIN", hosts=lambda i: i > 0, writable=lambda joint, field: False, drives={}
        )
        states = {index - 1: to_com_inertia(theta) for index, theta in changes.links.items()}
        return Draft(((target, self._stating(states)),), changes.expected, ("inertials",), changes.notes)

    def with_inertials(self, sketch, inertials, target):
        states = {index: (each.mass, each.com, each.tensor_in_part) for index, each in inertials.items()}
        return [(target, self._stating(states))]

    def _stating(self, states) -> bytes:
        links = [dict(link) for link in self.links]
        for index, (mass, com, tensor) in states.items():
            links[index] |= {"mass": float(mass), "com": list(map(float, com)), "moments": np.diag(tensor).tolist()}
        return json.dumps(links).encode()


@pytest.fixture
def chain(monkeypatch, tmp_path):
    def holds(path: Path) -> bool:
        return path.suffix == ".json"

    def new(robot, target) -> Draft:
        raise AssertionError("edited only")

    own = formats.Format("chain", "a chain", ".json", (".json",), holds, Chain, new)
    known = (*formats.FORMATS, own)
    for module in (formats, write_back):
        monkeypatch.setattr(module, "FORMATS", known)
    monkeypatch.setitem(formats.BY_NAME, "chain", own)
    monkeypatch.setitem(formats.BY_SUFFIX, ".json", own)
    monkeypatch.setattr(formats, "MODEL_SUFFIXES", tuple(formats.BY_SUFFIX))
    path = tmp_path / "arm.json"
    path.write_text(json.dumps(LINKS))
    return path


def test_it_is_read_drawn_and_written_back(chain):
    robot = sy.load(chain)
    assert robot.joint_names == ("j0", "j1") and not bounding_ellipsoids(robot)[1]
    assert sy.save(robot.with_inertias(1.1 * robot.inertias), chain.with_name("new.json")).changed == ("inertials",)
    np.testing.assert_allclose(sy.load(chain.with_name("new.json")).inertias, 1.1 * robot.inertias)
    sy.save(robot, chain.with_name("arm.urdf"))
    q, v, a = np.random.default_rng(0).normal(size=(3, 4, 2))
    other = sy.load(chain.with_name("arm.urdf"))
    np.testing.assert_allclose(sy.inverse_dynamics(robot, q, v, a), sy.inverse_dynamics(other, q, v, a), atol=1e-12)
    assert '"link":"l1"' in sy.view(chain, path=chain.with_name("view.html")).read_text("utf-8")
    assert chain in models_in(chain.parent)


def test_it_is_checked_and_repaired(chain):
    assert check.run(chain).ok
    chain.write_text(json.dumps([LINKS[0], LINKS[1] | {"moments": [0.1, 0.01, 0.01]}]))
    assert "SY203" in check.run(chain).codes
    repaired = check.repair(chain, chain.with_name("mended.json"))
    assert repaired.names == ("l1",) and not repaired.remaining.counts["error"]


def test_what_is_none_of_it_is_refused_in_its_words(chain):
    chain.write_text("<robot/>")
    for read in (sy.load, check.run):
        with pytest.raises(ModelError, match="is no chain"):
            read(chain)
