"""The page of faults, from their catalogue: `python -m tools.troubleshooting` writes docs/troubleshooting.md.

A test compares the page with the catalogue.
"""

from pathlib import Path

from steelyard.diagnose.fault_record import FaultRecord
from steelyard.diagnose.faults import CATALOGUE

PAGE = Path(__file__).parents[1] / "docs" / "troubleshooting.md"
HEAD = """# Troubleshooting

Every finding of `steelyard identify` and `steelyard inspect` has a code and ends with a remedy. Fatal findings make the
identified masses meaningless, and `identify` refuses the log; `--accept CODE` continues in spite of those marked *.
Read warnings before you use the result. Tests behind the codes: [diagnosis](diagnosis.md), [health](logs.md#health).
"""
HEADINGS = {
    "diagnosis": "Faults of model, mounting and drives",
    "log": "Faults of a log",
    "inspection": "Further findings of `inspect`",
}


def page() -> str:
    """Markdown of the whole page."""
    lines = [HEAD]
    for origin, heading in HEADINGS.items():
        lines += [f"## {heading}\n", "| code | severity | meaning | remedy | option |", "|---|---|---|---|---|"]
        lines += [_row(each) for each in CATALOGUE.values() if each.origin == origin]
        lines.append("")
    return "\n".join(lines)


def _row(record: FaultRecord) -> str:
    remedy = record.remedy.format(joint="JOINT")
    option = f"`{record.option}`" if record.option else ""
    severity = f"{record.severity}{' *' if record.acceptable else ''}"
    return f"| `{record.code}` | {severity} | {record.meaning} | {remedy} | {option} |"


if __name__ == "__main__":
    PAGE.write_text(page(), encoding="utf-8")
