"""Nouns say what they are in a few lines, in a terminal and in a notebook; hostile names stay text."""

import re
from dataclasses import dataclass, fields, is_dataclass, replace
from functools import cached_property

import numpy as np

import steelyard as sy
from steelyard.cards import LINES, Card, short
from steelyard.information import accumulate, accumulate_blocks

LONGEST = 900  # characters
HOSTILE = "<script>alert(1)</script>"


class Nouns:
    """One run of everything, made once."""

    @cached_property
    def all(self) -> dict[str, object]:
        robot = sy.library.puma560()
        recording = sy.simulate.record(robot, duration=4.0)
        log = sy.filters.differentiate(recording.log)
        info = accumulate(robot, log)
        estimate = sy.fit.consistent(info, prior=robot)
        result = sy.identify(robot, recording.log)
        blocks = accumulate_blocks(robot, log)
        found = {
            "robot": robot,
            "joint": robot.joints[0],
            "link": robot.links[0],
            "recording": recording,
            "log": log,
            "information": info,
            "estimate": estimate,
            "layout": info.layout,
            "basis": info.basis,
            "result": result,
            "identifiability": sy.identifiability(robot),
            "program": sy.fit.build(info, prior=robot),
            "uncertainty": sy.fit.uncertainty(estimate, blocks),
            "derivatives": sy.inverse_dynamics_derivatives(robot, *np.zeros((3, 2, 6))),
        }
        inside = {each.name: getattr(result, each.name) for each in fields(result)}
        return found | {f"result.{name}": value for name, value in inside.items() if is_dataclass(value)}


NOUNS = Nouns()


def test_short():
    for name, noun in NOUNS.all.items():
        text = repr(noun)
        assert len(text) < LONGEST and text.count("\n") <= LINES, name
        assert "array([" not in text or name == "result.job", name


def test_what_they_say():
    said = repr(NOUNS.all["result"])
    assert said.startswith("Identification of 'puma560' from 1 log(s)")
    assert re.search(r"torque error on held-out samples: [\d.]+ % \(nominal model [\d.]+ %\)", said)
    assert repr(NOUNS.all["log"]).splitlines()[0].endswith("at 500 Hz, 3.798 s)")
    assert repr(NOUNS.all["robot"]) == "Robot('puma560', 6 bodies, 6 degrees of freedom, fixed base)"
    assert "row groups: joint1, joint2, joint3, joint4, ... (6)" in repr(NOUNS.all["information"])
    assert "status: solved; every certificate holds" in repr(NOUNS.all["estimate"])


def test_tables_of_notebooks():
    cards = {name: noun for name, noun in NOUNS.all.items() if isinstance(noun, Card)}
    assert len(cards) > 10
    for name, noun in cards.items():
        page = noun._repr_html_()
        assert page.startswith("<table>") and page.endswith("</table>") and "<script" not in page, name
        assert page.count("<tr>") == page.count("</tr>") <= LINES, name


def test_hostile_names_are_text():
    log = replace(NOUNS.all["log"], name=HOSTILE, joint_names=tuple(f"{HOSTILE}{k}" for k in range(6)))
    page = log._repr_html_()
    assert HOSTILE not in page and "&lt;script&gt;" in page
    assert repr(replace(log, name="two\nlines")).count("\n") <= LINES


def test_fields_by_default():
    @dataclass(frozen=True, eq=False, repr=False)
    class Noun(Card):
        numbers: np.ndarray
        names: tuple
        nothing: None = None

    said = repr(Noun(np.zeros((30, 4)), tuple("abcdef")))
    assert said == "Noun\n  numbers: array of shape (30, 4)\n  names: a, b, c, d, ... (6)"
    assert short("x" * 500).endswith("...") and len(short("x" * 500)) == 72


def test_completion_shows_what_users_meet():
    assert [name for name in dir(sy) if name.startswith("_")] == ["__version__"]
    assert set(dir(sy)) - {"__version__"} == set(sy.__all__)
    assert {"Result", "Estimate", "Validation", "Uncertainty"} <= set(dir(sy))
