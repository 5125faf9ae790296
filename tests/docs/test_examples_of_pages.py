"""Every command and every example of README and docs/ runs as written, or stands in `doc_excerpts` with a reason."""

import re
import shlex
import shutil
import tomllib
from functools import partial
from types import SimpleNamespace

import pytest
from typer.testing import CliRunner

from brief_search import search_briefly
from doc_blocks import PAGES, ROOT, Block, blocks_of, names_used
from doc_excerpts import EXCERPTS, LANGUAGES, PROGRAMS
from doc_supplies import DEMO, FILES, FILES_ON_PAGE, Supplies
from steelyard.app import app
from steelyard.simulate import record

pytestmark = pytest.mark.claim("report.commands")

BLOCKS = {path: blocks_of(path) for path in PAGES}
RUN = {"python", "console"}


def left_out(block: Block, command: str = "") -> str | None:
    """The reason why a block, or one of its commands, is not run."""
    texts = [text for text in (block.first_line, command) if text]
    return next((why for (page, start), why in EXCERPTS.items() if page == block.page and starts(start, texts)), None)


def starts(start: str, texts: list[str]) -> bool:
    return any(text.startswith(start) for text in texts)


@pytest.fixture(scope="module")
def supplies(tmp_path_factory):
    return Supplies(tmp_path_factory.mktemp("supplies"))


@pytest.fixture
def quick(monkeypatch):
    """Motions are searched for briefly and rehearsed once, the demo records for six seconds, and no browser opens."""
    search_briefly(monkeypatch)
    monkeypatch.setattr("steelyard.app.demo_job.simulate", SimpleNamespace(record=partial(record, duration=6.0)))
    monkeypatch.setattr("steelyard.excite.rehearsal.Torques.trials", 1)
    monkeypatch.setattr("steelyard.excite.rehearsal.Torques.shares", (0.5,))
    monkeypatch.setattr("typer.launch", lambda *_: 0)


@pytest.mark.parametrize(
    "path",
    [path for path in PAGES if any(b.language in RUN and not left_out(b) for b in BLOCKS[path])],
    ids=lambda p: p.stem,
)
def test_examples_run(path, supplies, tmp_path, monkeypatch, quick):
    monkeypatch.chdir(tmp_path)
    blocks = [block for block in BLOCKS[path] if block.language in RUN and not left_out(block)]
    for name in files_named(blocks):
        source = supplies.file(name, blocks[0].page)
        (shutil.copytree if source.is_dir() else shutil.copy)(source, tmp_path / name)
    variables: dict = {}
    for block in blocks:
        if block.language == "python":
            run_python(block, variables, supplies)
        else:
            run_commands(block)


def files_named(blocks: list[Block]) -> list[str]:
    """Files that the examples name. The demo is run once and copied: README, installation and tutorial show it."""
    text = "\n".join(block.text for block in blocks)
    return [
        name
        for name in FILES.keys() | FILES_ON_PAGE.get(blocks[0].page, {}).keys()
        if re.search(rf"(?<![\w./-]){re.escape(name)}(?![\w.-])", text)
    ]


def run_python(block: Block, variables: dict, supplies: Supplies) -> None:
    for name in sorted(names_used(block.text) - variables.keys()):
        try:
            variables[name] = supplies.variable(block.page, name)
        except KeyError:
            continue  # set in the block itself, or a builtin; a name that is neither fails below
    code = compile("\n" * block.line + block.text, str(ROOT / block.page), "exec")
    exec(code, variables)


def run_commands(block: Block) -> None:
    for command, output in block.commands:
        words = shlex.split(command)
        if words[0] in PROGRAMS or left_out(block, command) or command == DEMO:
            continue
        if words[0] == "cp":
            shutil.copy(*words[1:])
            continue
        assert words[0] == "steelyard", f"{block.page}:{block.line}: {command}"
        done = CliRunner().invoke(app, words[1:], catch_exceptions=False)
        refused = output.startswith("steelyard: ")
        assert done.exit_code in ((2,) if refused else (0, 1)), f"{command}\n{done.output}"
        assert "".join(output.split()) in "".join(done.output.split()), f"{command} says otherwise:\n{done.output}"


@pytest.mark.parametrize("path", PAGES, ids=lambda p: str(p.relative_to(ROOT)))
def test_other_blocks_are_what_they_say(path):
    for block in BLOCKS[path]:
        assert block.language in RUN | {"toml"} | LANGUAGES.keys(), f"{block.page}:{block.line}"
        if block.language == "toml":
            assert tomllib.loads(block.text)


def test_excerpts_are_still_there_and_have_reasons():
    blocks = [block for found in BLOCKS.values() for block in found]
    for page, start in EXCERPTS:
        here = [block for block in blocks if block.page == page]
        texts = [block.first_line for block in here] + [c for block in here for c, _ in block.commands]
        assert starts(start, texts), f"{page} has no longer: {start}"
    assert {block.language for block in blocks} >= LANGUAGES.keys()
    assert all({**EXCERPTS, **LANGUAGES, **PROGRAMS}.values())
