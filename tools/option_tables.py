"""What is made of the options: tables of docs/command_line.md, keywords of `identify`.

`python tools/option_tables.py` writes them; tests/app/test_option_tables.py holds both up to date. Options of a
subcommand are those that Typer has of it; those that are fields of a `Job` are spelled out for `identify` alone.
"""

import re
import textwrap
from collections.abc import Callable
from inspect import Parameter, getdoc, signature
from pathlib import Path
from types import GenericAlias

from typer.main import get_command

import steelyard
from steelyard.app import app
from steelyard.corrections import NOTHING, Corrections
from steelyard.diagnose.faults import ACCEPTABLE
from steelyard.job import Job
from steelyard.job_options import flag, options_of

ROOT = Path(__file__).parents[1]
STUB = ROOT / "src" / "steelyard" / "__init__.pyi"
PAGE = ROOT / "docs" / "command_line.md"
SECTION = re.compile(r"^## `steelyard (\w+)`\n(?:(?!^## ).*\n)*", re.MULTILINE)
TABLE = re.compile(r"(?<=\| option \| meaning \|\n\|---\|---\|\n)(?:\|.*\n)+")
MORE = {  # what the page says beside the help, in Markdown
    ("identify", "--accept"): f"One of {', '.join(f'`{code}`' for code in sorted(ACCEPTABLE))}.",
    ("fleet", "--out"): "And `information.npz`.",
    ("fleet", "--scheduler"): "By default this process does all.",
    ("validate", "--against"): "On the same samples.",
    ("inspect", "--html"): "The same tables, and figures of time steps and of each joint's spectrum with the cutoff; "
    "opens offline, appears whole or not at all.",
    ("analyze", "--motors"): "See [side file](side_file.md).",
    ("analyze", "--sensors"): "`base` is a six-axis sensor under the robot.",
    ("analyze", "--format"): "`json` has `count`, `parameters` with their `status`, `base_parameters` with "
    "expressions, `scales` of drives, `explained`, `excitation`.",
    ("excite", "--out"): "Samples are at 1 kHz, with predicted torques.",
    ("excite", "--criterion"): "See [which](excitation.md#criterion).",
    ("excite", "--target"): "A miss is explained, with exit status 1.",
    ("excite", "--seed"): "The same seed gives the same motion.",
    ("excite", "--preview"): "See [3D view](report.md#3d-view).",
    ("report", "--out"): "For several results it gets a `summary.json` too; by default there is none for them.",
    ("check", "--fix"): "`--fix=all` repairs warnings too, `--fix=CODES` these rules' findings alone.",
    ("convert", "--json"): "It has `files`, `changed` and `notes`.",
    ("payload", "--method"): "`auto` is `density` with a shape, `geo` without.",
    ("payload", "--hand"): "Gravity's direction, too.",
    ("payload", "--shape-pose"): "Angles are those of URDF.",
    ("payload", "--out"): "And `report.md`, `curves.npz` and `draws.npz`; see [reports](report.md#payloads).",
    ("view", "--estimate"): "See [3D view](report.md#3d-view).",
}
COMMANDS = get_command(app).commands  # type: ignore[attr-defined]


def table(name: str = "identify") -> str:
    """Rows of a subcommand's options in the order of its help, those that it shares with `identify` in the last one."""
    own = {flag(key, how): how for record in (Job, Corrections) for key, (_, how) in options_of(record, name).items()}
    rows, shared = [], []
    for each in COMMANDS[name].params:
        if each.param_type_name != "option" or each.name == "help":
            continue
        names = sorted([*each.opts, *each.secondary_opts], key=lambda text: not text.startswith("--"))
        if each.opts[0] in own and name != "identify":
            shared += names
            continue
        names[-1] += f" {each.metavar}" if each.metavar else ""
        more = [own[each.opts[0]].more if each.opts[0] in own else "", MORE.get((name, names[0].split()[0]), "")]
        default = _default(each)
        rows.append((_code(names), " ".join(part for part in (each.help, *more, default) if part)))
    if shared:
        rows.append((_code(shared), "As in [`identify`](#steelyard-identify)."))
    return "".join("| " + " | ".join(cell.replace("|", r"\|") for cell in row) + " |\n" for row in rows)


def _default(option) -> str:
    """The sentence on the default of an option, where its help does not say it."""
    value = option.default
    if isinstance(value, bool):
        value = option.opts[0] if value and option.secondary_opts else ""
    told = option.show_default and isinstance(value, str | float | int | Path) and value != ""
    return f"Default: `{value}`." if told else ""


def _code(words) -> str:
    return ", ".join(f"`{word}`" for word in words)


def page(text: str) -> str:
    """The page with the table of options of every subcommand as it should be."""
    return SECTION.sub(lambda part: TABLE.sub(lambda _: table(part[1]), part[0], count=1), text)


def stub(function: Callable) -> str:
    """The function with all its keywords, as a stub file has it."""
    lines = [f"def {function.__name__}("]
    star = False
    for each in signature(function).parameters.values():
        if each.kind is Parameter.KEYWORD_ONLY and not star:
            lines.append("    *,")
            star = True
        kind = each.annotation if isinstance(each.annotation, str) else _text(each.annotation)
        default = "NOTHING" if each.default is NOTHING else repr(each.default).replace("'", '"')
        lines.append(f"    {each.name}: {kind}" + ("," if each.default is Parameter.empty else f" = {default},"))
    doc = textwrap.indent((getdoc(function) or "").rstrip(), "    ")
    return "\n".join([*lines, ") -> Result:", f'    """{doc.strip()}', '    """'])


def _text(kind) -> str:
    """A type as it is written, without the modules of its names."""
    plain = kind.__name__ if isinstance(kind, type) and not isinstance(kind, GenericAlias) else str(kind)
    plain = plain.replace("collections.abc.Callable[[str, float], None]", "Progress")
    return re.sub(r"\b(?:\w+\.)+(\w+)", r"\1", plain)


def keywords(text: str) -> str:
    """The stub of the package with `identify` at its end, as it should be."""
    return text.partition("def identify(")[0] + stub(steelyard.identify) + "\n"


if __name__ == "__main__":
    for path, made in ((STUB, keywords), (PAGE, page)):
        path.write_text(made(path.read_text("utf-8")), "utf-8")
