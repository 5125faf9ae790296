"""The page of faults, from their catalogue: `python -m tools.troubleshooting` writes docs/troubleshooting.md.

A test compares the page with the catalogue.
"""

from pathlib import Path

from steelyard.diagnose import CATALOGUE, FaultRecord

PAGE = Path(__file__).parents[1] / "docs" / "troubleshooting.md"
HEAD = """# Troubleshooting

Every finding of `steelyard identify` and `steelyard inspect` has a code, and ends with what to do. Fatal ones make the
identified masses meaningless, so `identify` refuses the log; for those marked * `--accept CODE` goes on all the same.
Warnings are to be looked at before the result is used. How faults are told apart: [diagnosis](diagnosis.md); what
checks of a log look at: [is this log usable?](log_checks.md).
"""
HEADINGS = {
    "diagnosis": "Faults of model, mounting and drives",
    "log": "Faults of a log",
    "inspection": "What `inspect` says of a log beside",
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
