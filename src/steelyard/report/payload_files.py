"""The files of a payload run."""

from collections.abc import Mapping
from pathlib import Path

from steelyard.payload import Outcome, Request
from steelyard.report.files import FILES, write
from steelyard.report.outputs import staged
from steelyard.report.payload import payload_record
from steelyard.report.record import Record


def write_payload(outcome: Outcome, request: Request, exports: Mapping[str, str], out) -> Record:
    """Write summary, report and curves of a payload run to a folder, all together or not at all. Returns the Record.

    Raises OptionError when they cannot be written.
    """
    record = payload_record(outcome, request, exports, out=out, files=FILES)
    inputs = [Path(path) for path in (request.log, request.shape, request.arm, request.hand) if path is not None]
    with staged(out, inputs=inputs) as stage:
        write(record, stage)
    return record
