"""Texts that make patterns of readers try every way to split them are read in a moment, not in hours."""

import subprocess
import sys

import pytest

TOO_LONG = 60  # seconds, where each of these takes a hundredth of one; without care they take from minutes to for ever
N = 200_000

READERS = {
    "model": (
        "from pathlib import Path; from steelyard.model.xml import decoded",
        "decoded(text.encode(), Path('a.urdf'))",
    ),
    "attributes": (
        "from lxml import etree; from steelyard.model.xml import ATTRIBUTE",
        "list(ATTRIBUTE.finditer(text.encode()))",
    ),
    "column": ("from steelyard.log.table_columns import split_unit", "split_unit(text)"),
    "columns": (
        "from steelyard.log.raw_channels import ReadRequest; from steelyard.log.signals import recognised",
        "recognised([text, text + 'x'], ReadRequest())",
    ),
    "header": ("from steelyard.log.csv_header import parse_header", "parse_header(text)"),
}
TEXTS = {
    "comments before the root": ("model", "'<!-- a --> ' * {n} + '<robot/>'"),
    "white space before the root": ("model", "' ' * {n} + '<robot/>'"),
    "white space behind an attribute": ("attributes", "'<a b=\"1\"' + ' ' * {n} + '/>'"),
    "open brackets": ("column", "'(' * {n}"),
    "white space in a name": ("column", "'a' + ' ' * {n} + 'a'"),
    "a number for a name": ("columns", "'1' * {n}"),
    "brackets that do not close": ("header", "'(1' * {n}"),
}


@pytest.mark.parametrize("what", TEXTS)
def test_is_read_in_a_moment(what):
    reader, text = TEXTS[what]
    imports, call = READERS[reader]
    code = f"{imports}\ntext = {text.format(n=N)}\n{call}"
    subprocess.run([sys.executable, "-c", code], check=True, timeout=TOO_LONG)
