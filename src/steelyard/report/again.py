"""`steelyard report`: the report of one result drawn again, or several results compared."""

from collections.abc import Sequence
from pathlib import Path

from steelyard.report.comparison import comparison
from steelyard.report.files import COMPARED, render, write_comparison
from steelyard.report.outputs import staged
from steelyard.report.record import SUMMARY, read
from steelyard.report.view import View, view_of, view_of_comparison


def again(folders: Sequence[Path], out=None) -> View:
    """View of one result or of a comparison, written to a folder.

    folders: of results. out: of the report; by default that of the result itself, and none for a comparison. Raises
    OptionError for folders without result and damaged ones.
    """
    if len(folders) == 1:
        read(folders[0])  # refused before a folder is made
        with staged(folders[0] if out is None else out) as stage:
            record = read(folders[0])
            render(record, stage, source=folders[0])
        return view_of(record)
    records = [read(folder) for folder in folders]
    found = comparison(records, list(folders), out=out, files=COMPARED if out is not None else ())
    view = view_of_comparison(found)
    if out is not None:
        with staged(out, inputs=[folder / SUMMARY for folder in folders]) as stage:
            write_comparison(view, stage)
    return view
