"""The page and the command line list what the code has: methods, statuses, findings, formats."""

import re
from pathlib import Path

from steelyard.app.commands import result_commands as subcommand
from steelyard.job_options import options_of
from steelyard.payload import METHODS, Status
from steelyard.payload.controller_formats import FORMATS
from steelyard.payload.wrench_faults import FINDINGS
from steelyard.payload_request import Request

ROOT = Path(__file__).parents[2]
PAGE = (ROOT / "docs" / "payload.md").read_text("utf-8")
SOURCE = "\n".join(path.read_text("utf-8") for path in sorted((ROOT / "src" / "steelyard" / "payload").glob("*.py")))


def test_the_page_lists_every_method():
    for method in METHODS.values():
        needs = "shape" if method.needs_shape else ""
        row = f"| `{method.name}` | {needs} | {method.summary} | {method.held_to} |"
        assert method.name == "auto" or row in PAGE


def test_the_page_lists_every_status_and_finding():
    assert all(f"| `{status.name}` | {status.value} |" in PAGE for status in Status)
    assert all(f"| `{code}` | {kind.meaning} | {kind.remedy} |" in PAGE for code, kind in FINDINGS.items())


def test_every_code_of_a_finding_is_in_the_table():
    written = set(re.findall(r'(?:Finding|fatal)\(\s*"(\w+)"', SOURCE)) | set(re.findall(r'\("(\w+)", _\w+\)', SOURCE))
    assert written == set(FINDINGS)


def test_the_command_line_names_methods_and_formats():
    _, method = options_of(Request)["method"]
    assert method.help == f"{', '.join(METHODS)}."
    assert f"Any of {','.join(FORMATS)}:" in Path(subcommand.__file__).read_text("utf-8")
