"""Checking: rules over sketched models."""

from pathlib import Path

from steelyard.check.catalog import selected
from steelyard.check.findings import Finding, Findings
from steelyard.check.rule import Rule
from steelyard.errors import ModelError
from steelyard.model import Sketch, models_in, read_sketch


def run(path, *, select=(), ignore=(), meshes: bool = True, folders=()) -> Findings:
    """Check a URDF or MJCF file, or every model of a folder.

    select, ignore: rule codes or beginnings of codes ("SY2"). meshes: whether mesh files are read; without them, rules
    on geometry see primitive shapes only. folders: whose files models may name beside those of their own folder and
    package. Raises ModelError for a file that cannot be read at all or is no model (for a
    folder: when no file of it can), OptionError for an unknown code.
    """
    rules = selected(select, ignore)
    whole = Findings((), ())
    models = models_in(path)
    for model in models:
        try:
            whole = whole.merged(look(read_sketch(model, meshes=meshes, folders=folders), rules))
        except ModelError as error:
            if len(models) == 1:
                raise
            whole = whole.merged(Findings((), (), (str(error),)))
    if not whole.files:
        raise ModelError(whole.notes[0])
    return whole


def look(sketch: Sketch, rules: tuple[Rule, ...]) -> Findings:
    """Findings of rules on one sketch, in line order."""
    found: list[Finding] = [finding for rule in rules for finding in rule.findings(sketch)]
    return Findings(tuple(sorted(set(found))), (Path(sketch.path),), sketch.notes)
