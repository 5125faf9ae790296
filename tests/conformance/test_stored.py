"""Kept outcomes of the conformance suite: what is read is what was written, and the page is made of all of it."""

from pathlib import Path

from conformance.models import Case
from conformance.outcome import FAIL, judged
from conformance.page import page
from conformance.stored import key, of_cases, read, write

ARM, LEG = (Case("package", name, Path(f"{name}.urdf")) for name in ("arm", "leg"))
OUTCOMES = {
    key(ARM): {"regressor": judged(True, "", regressor="5e-16")},
    key(LEG): {"regressor": judged(False, "differs by ½ | <b>", regressor="0.5")},
    "package/gone": {"regressor": judged(True, "")},
}


def test_what_is_read_is_what_was_written(tmp_path):
    kept = tmp_path / "results.json"
    assert read(kept) == {}
    write(OUTCOMES, kept)
    assert read(kept) == OUTCOMES
    assert [path.name for path in tmp_path.iterdir()] == ["results.json"]


def test_the_page_shows_the_models_that_there_are(tmp_path):
    kept = of_cases(OUTCOMES, [LEG, ARM])
    assert list(kept) == [LEG, ARM]
    text = page(kept, "machine")
    assert "| arm |" in text and f"`leg`, regressor, {FAIL}: differs by ½" in text
    assert "gone" not in text
