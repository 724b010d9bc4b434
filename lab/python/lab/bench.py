"""Times every row: plans the tasks, runs them a core each, several times over, and appends a line a task to the
results."""

import itertools
import json
import os
import queue
import re
import subprocess
import sys
import tempfile
import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from lab.case import SIZES, case_names
from lab.line import Lines
from lab.places import PYTHON
from lab.row import Row, rows
from lab.task import OPERATIONS, Task

# How often a task is measured, each time in a fresh process. The times are spread over the whole run, so that what
# disturbs the machine for a while does not fall on all of them.
TIMES_QUICK = 3
TIMES_FULL = 4
# The grown sizes are there for how a cost grows, which is seen in steps of ten.
TIMES_GROWN = 3

# pyperf's values a process, and the least time of a value. Shorter, the clock and the loop's start would show.
VALUES = 3
TIME_MIN_S = 0.015


@dataclass(frozen=True)
class Job:
    """Tasks of one row and case that one process runs in order."""

    row: Row
    tasks: tuple[Task, ...]


def jobs(quick: bool, pattern: str, cores: int, time: int) -> list[Job]:
    """What is done the first, second ... time (0, 1 ...). `pattern` is looked for in
    `FORMAT/LIBRARY+VARIANT CASE SIZE MESSAGES OPERATION PROCESSES`."""
    planned = []
    due = [task for task, times in _tasks(quick, cores) if time < times]
    for row in rows():
        for _, tasks in itertools.groupby(due, key=lambda task: (task.case, task.processes)):
            wanted = tuple(task for task in tasks if re.search(pattern, f"{row.id} {str(task).replace(':', ' ')}"))
            if wanted:
                planned.append(Job(row, wanted))
    return planned


def _tasks(quick: bool, cores: int) -> Iterator[tuple[Task, int]]:
    """Every task, with how often it is measured."""
    if quick:
        for name in ["zeek", "pingpong"]:
            for operation in ["encode", "decode", "field"]:
                yield Task(name, "base", "varied", operation), TIMES_QUICK
        return
    for name in case_names():
        for operation in OPERATIONS:
            yield Task(name, "base", "varied", operation), TIMES_FULL
        for operation in ["encode", "decode"]:
            yield Task(name, "base", "one", operation), TIMES_FULL
        # Of the cases that are flat and of one kind, the ends of the scale.
        for size in SIZES if name in ("pingpong", "zeek", "order") else ["10k", "1m"]:
            if size != "base":
                for operation in ["encode", "decode", "field"]:
                    yield Task(name, size, "varied", operation), TIMES_GROWN
    if cores > 1:
        for name in ["pingpong", "zeek"]:
            for operation in ["encode", "decode"]:
                yield Task(name, "base", "varied", operation, cores), TIMES_QUICK


def bench(quick: bool, pattern: str, cores: list[int]) -> int:
    """Runs the jobs on these cores; returns how many tasks have no figure because theirs failed."""
    times = [jobs(quick, pattern, len(cores), time) for time in range(max(TIMES_QUICK, TIMES_FULL))]
    progress = _Progress(sum(len(job.tasks) for planned in times for job in planned))
    gathered = _Gathered()
    with tempfile.TemporaryDirectory(prefix="lab-") as folder:
        try:
            for planned in times:
                _run_all(planned, cores, Path(folder), gathered, progress)
        finally:
            gathered.append_to(Lines(quick=quick, jobs=len(cores)))
    return len(gathered.failed)


class _Gathered:
    """The results of all times for each row and task."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._rows: dict[str, Row] = {}
        self._measured: dict[str, dict[str, dict[str, Any]]] = {}
        self.failed: set[tuple[str, Task]] = set()

    def add(self, row: Row, measured: list[dict[str, Any]]) -> None:
        """Puts a time's values to those of the times before."""
        with self._lock:
            self._rows[row.id] = row
            tasks = self._measured.setdefault(row.id, {})
            for one in measured:
                if one["task"] in tasks:
                    tasks[one["task"]]["values"] += one["values"]
                else:
                    tasks[one["task"]] = one

    def append_to(self, lines: Lines) -> None:
        """Appends the lines; a task that failed once has none."""
        for row_id, tasks in self._measured.items():
            whole = [one for one in tasks.values() if (row_id, Task.parse(one["task"])) not in self.failed]
            lines.append(self._rows[row_id], whole)


def _run_all(planned: list[Job], cores: list[int], folder: Path, gathered: _Gathered, progress: "_Progress") -> None:
    """Runs the jobs once, side by side; what needs all cores after all others."""
    free: queue.SimpleQueue[int] = queue.SimpleQueue()
    for core in cores:
        free.put(core)

    def run_on_a_core(job: Job) -> None:
        core = free.get()
        try:
            _run(job, core, folder, gathered, progress)
        finally:
            free.put(core)

    # The slowest first, so that none is left over at the end.
    side_by_side = sorted((job for job in planned if job.tasks[0].processes == 1), key=_weight, reverse=True)
    with ThreadPoolExecutor(len(cores)) as pool:
        try:
            for done in [pool.submit(run_on_a_core, job) for job in side_by_side]:
                done.result()
        except BaseException:
            # Ctrl-C too: no further task is begun.
            pool.shutdown(cancel_futures=True)
            raise
    for job in planned:
        if job.tasks[0].processes > 1:
            _run(job, None, folder, gathered, progress)


def _weight(job: Job) -> tuple[bool, int]:
    return job.row.format in ("flatbuffers", "capnp", "avro"), len(job.tasks)


def _run(job: Job, core: int | None, folder: Path, gathered: _Gathered, progress: "_Progress") -> None:
    """Runs a job in its own process, whose workers stay on that core; if a task fails, the following ones run in
    another."""
    kept = folder / re.sub(r"\W+", "-", f"{job.row.id} {job.tasks[0].case}")
    kept.mkdir(exist_ok=True)
    left = [task for task in job.tasks if (job.row.id, task) not in gathered.failed]
    while left:
        lines = kept / "lines.jsonl"
        lines.write_text("")
        ended = subprocess.run(_command(job.row, left, kept, lines, core), cwd=PYTHON, capture_output=True, text=True)
        measured = [json.loads(line) for line in lines.read_text(encoding="utf-8").splitlines()]
        gathered.add(job.row, measured)
        if ended.returncode == 0:
            break
        failed, left = left[len(measured)], left[len(measured) + 1 :]
        gathered.failed.add((job.row.id, failed))
        progress.say(f"{job.row.id}: failed at {failed}: {ended.stderr.strip()[-2000:]}")
    progress.step(job)


def _command(row: Row, tasks: list[Task], kept: Path, lines: Path, core: int | None) -> list[str]:
    command = [
        sys.executable, "-m", "lab.measure", "--quiet", "--row", row.id, "--tasks", ",".join(map(str, tasks)),
        "--folder", str(kept), "--lines", str(lines), "--processes", "1", "--values", str(VALUES), "--warmups", "1",
        "--min-time", str(TIME_MIN_S), "--copy-env",
    ]
    if core is not None and hasattr(os, "sched_setaffinity"):
        command.append(f"--affinity={core}")
    return command


class _Progress:
    """Tells on stderr how far the run is."""

    def __init__(self, total: int) -> None:
        self._total, self._done, self._lock = total, 0, threading.Lock()

    def step(self, job: Job) -> None:
        with self._lock:
            self._done += len(job.tasks)
            self.say(f"[{self._done}/{self._total}] {job.row.id} {job.tasks[0].case}")

    def say(self, text: str) -> None:
        print(text, file=sys.stderr, flush=True)
