"""conformance/results.json: the outcomes behind docs/evidence/conformance.md, kept as they come, so that
a run of some models renews their rows alone and one that is stopped loses nothing."""

import json
from dataclasses import asdict
from pathlib import Path

from conformance.models import Case
from conformance.outcome import Outcome

RESULTS = Path(__file__).parent / "results.json"


def read(path: Path = RESULTS) -> dict[str, dict[str, Outcome]]:
    """Outcomes by stage of each `package/model`."""
    if not path.exists():
        return {}
    rows = json.loads(path.read_text(encoding="utf-8"))
    return {name: {stage: Outcome(**said) for stage, said in stages.items()} for name, stages in rows.items()}


def write(results: dict[str, dict[str, Outcome]], path: Path = RESULTS):
    """Put the outcomes in place of the ones before, as a whole."""
    lines = [
        f"{json.dumps(name)}: {json.dumps({stage: _short(said) for stage, said in stages.items()}, ensure_ascii=False)}"
        for name, stages in sorted(results.items())
    ]
    beside = path.with_suffix(".new")
    beside.write_text("{\n" + ",\n".join(lines) + "\n}\n", encoding="utf-8")
    beside.replace(path)


def of_cases(results: dict[str, dict[str, Outcome]], cases: list[Case]) -> dict[Case, dict[str, Outcome]]:
    """The outcomes of models that there are, in their order."""
    return {case: results[key(case)] for case in cases if key(case) in results}


def key(case: Case) -> str:
    return f"{case.source}/{case.name}"


def _short(outcome: Outcome) -> dict:
    said = asdict(outcome) | {"seconds": round(outcome.seconds, 1)}
    return {name: value for name, value in said.items() if value or name == "status"}
