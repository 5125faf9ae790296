"""Who does the work: this process, processes of this machine, or a Dask cluster, through one interface.

All of them are executors of `concurrent.futures`; Dask has one, too. What goes wrong in a piece of work, the death of
its worker included, is a value of its future, and ends in a table instead of ending the run.
"""

import multiprocessing
import os
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import (
    FIRST_COMPLETED,
    BrokenExecutor,
    Executor,
    Future,
    ProcessPoolExecutor,
    ThreadPoolExecutor,
    wait,
)
from contextlib import ExitStack
from importlib.util import find_spec
from typing import Any

from steelyard.errors import OptionError, SteelyardError
from steelyard.extras import extra

LOCAL, PROCESSES = "local", "processes"
ANSWER = 10.0  # seconds that a scheduler has to answer
AHEAD = 4  # pieces of work a worker has waiting


class WorkerPool:
    """Workers of one kind, for a `with` block.

    scheduler: None works here, one piece after the other; "processes" on `workers` processes of this machine; "local"
    on a Dask cluster of them (plain processes where Dask is not installed); an address (`tcp://HOST:PORT`) or a
    `distributed.Client` on a cluster that runs. Raises OptionError for others.
    """

    def __init__(self, scheduler=None, workers: int | None = None):
        if workers is not None and workers < 1:
            raise OptionError(f"workers={workers}: at least one process is needed.")
        self.count = workers or (os.cpu_count() or 1)
        self._stack = ExitStack()
        self._make, self.where = self._kind(scheduler)
        self.executor = self._make()

    def _kind(self, scheduler) -> tuple[Callable[[], Executor], str]:
        if scheduler is None:
            self.count = 1
            return lambda: self._stack.enter_context(ThreadPoolExecutor(1)), "this process"
        if scheduler == PROCESSES or (scheduler == LOCAL and find_spec("distributed") is None):
            return self._processes, f"{self.count} processes"
        client = self._client(scheduler)
        self.count = max(sum(client.nthreads().values()), 1)
        return lambda: client.get_executor(pure=False), f"{self.count} Dask workers at {client.scheduler.address}"

    def _processes(self) -> Executor:
        spawn = multiprocessing.get_context("spawn")  # threads of kernels do not survive a fork
        return self._stack.enter_context(ProcessPoolExecutor(self.count, mp_context=spawn))

    def _client(self, scheduler) -> Any:
        if not isinstance(scheduler, str):
            return scheduler
        with extra(f"Scheduler {scheduler}"):
            from distributed import Client, LocalCluster

        if scheduler == LOCAL:
            options: dict[str, Any] = {"threads_per_worker": 1, "processes": True, "dashboard_address": "localhost:0"}
            cluster = LocalCluster(n_workers=self.count, **options)
            return self._stack.enter_context(Client(self._stack.enter_context(cluster)))
        try:
            return self._stack.enter_context(Client(scheduler, timeout=ANSWER))
        except (OSError, ValueError) as error:
            raise OptionError(
                f"No Dask scheduler answers at {scheduler}: {error}. Start one, or use 'local'."
            ) from error

    def __enter__(self) -> "WorkerPool":
        return self

    def __exit__(self, *reason):
        self.executor.shutdown(wait=False)
        self._stack.close()

    def renew(self):
        """New workers, after one took its whole pool down."""
        self.executor.shutdown(wait=False)
        self.executor = self._make()

    def results(self, function: Callable, tasks: Sequence[tuple], *, retries: int) -> Iterator[tuple[int, Any, int]]:
        """(place, result or exception, attempts) of `function(*task)`, as they are done. A SteelyardError is final;
        anything else is tried `retries` times more, on its own, so that one that kills its worker takes no others
        along."""
        waiting, attempts = deque(range(len(tasks))), [0] * len(tasks)
        again: deque[int] = deque()
        flying: dict[Future, int] = {}
        try:
            while waiting or again or flying:
                while waiting and len(flying) < AHEAD * self.count:
                    place = waiting.popleft()
                    flying[self._submit(function, tasks[place])] = place
                if again and not flying:
                    place = again.popleft()
                    flying[self._submit(function, tasks[place])] = place
                done, _ = wait(flying, return_when=FIRST_COMPLETED)
                if broken := any(isinstance(_error(future), BrokenExecutor) for future in done):
                    done, _ = wait(flying)  # a pool breaks as a whole
                for future in done:
                    place, error = flying.pop(future), _error(future)
                    attempts[place] += 1
                    if error is None:
                        yield place, future.result(), attempts[place]
                    elif isinstance(error, SteelyardError) or attempts[place] > retries:
                        yield place, error, attempts[place]
                    else:
                        again.append(place)
                if broken:
                    self.renew()
        finally:
            for future in flying:  # where the caller gives up
                future.cancel()

    def _submit(self, function: Callable, task: tuple) -> Future:
        try:
            return self.executor.submit(function, *task)
        except BrokenExecutor:
            self.renew()
            return self.executor.submit(function, *task)


def _error(future: Future) -> BaseException | None:
    return InterruptedError("the cluster gave it up") if future.cancelled() else future.exception()
