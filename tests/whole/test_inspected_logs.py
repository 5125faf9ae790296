"""The pages of docs/evidence/inspect are what the command prints today. The logs are not part of the project."""

import re
from pathlib import Path

import pytest

from robots import SHARED_DATA
from steelyard.log import read_log
from steelyard.pipeline import inspect

ROOT = Path(__file__).parents[2]
NUMBER = re.compile(r"[-−]?\d+\.?\d*(?:e[-−+]?\d+)?")
pytestmark = [
    pytest.mark.skipif(not SHARED_DATA.is_dir(), reason="the measured logs are not part of the project"),
    pytest.mark.claim("logs.measured", "findings in four measured logs", pages=("docs/evidence/inspect/README.md",)),
]


@pytest.fixture
def pages(monkeypatch):
    monkeypatch.syspath_prepend(ROOT)
    from evidence.bench import real_logs

    return real_logs


def words_and_numbers(text):
    """Words without borders of tables, and numbers: solvers on other machines differ in the last digits."""
    plain = re.sub(r"[┏┳┓┡╇┩└┴┘━─│┃▁-█\s]+", " ", text)
    return NUMBER.sub("#", plain), [float(found.replace("−", "-")) for found in NUMBER.findall(plain)]


@pytest.mark.parametrize("name", ["ur10"])
def test_pages_are_current(name, pages):
    stored = words_and_numbers((ROOT / "docs" / "evidence" / "inspect" / f"{name}.md").read_text("utf-8"))
    found = words_and_numbers(pages.page(name, SHARED_DATA))
    assert found[0] == stored[0], "run python -m evidence.bench.real_logs"
    assert found[1] == pytest.approx(stored[1], rel=0.03, abs=1e-6)


@pytest.mark.parametrize("name", ["panda", "tx40", "kuka_kr300"])
def test_what_needs_no_model_is_current(name, pages):
    """Their fits take long, and tests/whole/test_real_logs.py has their faults."""
    stored = (ROOT / "docs" / "evidence" / "inspect" / f"{name}.md").read_text("utf-8")
    log = read_log(SHARED_DATA / f"{pages.LOGS[name]}.npz")
    found = pages.printed(inspect(log.replace(joint_names=[f"joint{i + 1}" for i in range(log.nv)])))
    lines = [line for line in found.splitlines() if re.search(r"^joint\d+ (position|speed|acceleration|torque) ", line)]
    assert len(lines) >= 18 and all(line in stored for line in [found.splitlines()[0], *lines])


def test_every_page_says_what_was_found(pages):
    index = (ROOT / "docs" / "evidence" / "inspect" / "README.md").read_text("utf-8")
    assert index == pages.index()
    for name, words in pages.WORDS.items():
        assert (
            words in (ROOT / "docs" / "evidence" / "inspect" / f"{name}.md").read_text("utf-8")
            and f"({name}.md)" in index
        )
