"""One process a robot, some at a time, each ended when its time is over."""

import multiprocessing
import os
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor, as_completed
from multiprocessing.connection import Connection
from pathlib import Path

from conformance.models import Case
from conformance.outcome import FAIL, LATE, Outcome


def run(cases: list[Case], *, workers: int, stage_limit: float, limit: float) -> Iterator[tuple[Case, dict]]:
    """Case and outcomes by stage, as they are done. stage_limit, limit: seconds a stage and a robot may take."""
    context = multiprocessing.get_context("forkserver")
    context.set_forkserver_preload(["conformance.one"])
    with ThreadPoolExecutor(workers) as threads:
        jobs = {threads.submit(_one, context, case.path, stage_limit, limit): case for case in cases}
        for job in as_completed(jobs):
            yield jobs[job], job.result()


def _one(context, path: Path, stage_limit: float, limit: float) -> dict[str, Outcome]:
    receiver, sender = context.Pipe(duplex=False)
    process = context.Process(target=_work, args=(sender, path, stage_limit))
    process.start()
    sender.close()
    try:
        if receiver.poll(limit):
            return receiver.recv()
        return {"load": Outcome(LATE, reason=f"more than {limit:.0f} s in all")}
    except EOFError:
        process.join()
        return {"load": Outcome(FAIL, reason=f"the process ended with code {process.exitcode}")}
    finally:
        process.kill()
        process.join()
        receiver.close()


def _work(sender: Connection, path: Path, stage_limit: float):
    from conformance.one import stages

    os.dup2(os.open(os.devnull, os.O_WRONLY), 2)  # engines write their warnings there
    sender.send(stages(path, stage_limit))
