"""One row on one case under pyperf: `python -m lab.measure`, which `lab bench` starts, and which starts pyperf's
workers.

Every task is one of pyperf's benchmarks: a fresh process that warms up and then measures. `lab bench` does this several
times, at different times. For each task a JSON line goes to --lines.
"""

import json
import os
from collections.abc import Callable
from functools import cached_property
from pathlib import Path
from typing import Any

import pyperf

from lab.case import Type, case, difference
from lab.row import Codec, row
from lab.task import Task, inputs, seconds
from lab.team import Team


class _Timed:
    """A task's function and its argument, made only in the processes that come to call it."""

    def __init__(self, row_id: str, task: Task, folder: Path) -> None:
        self.row_id, self.task, self.folder = row_id, task, folder

    @cached_property
    def codec(self) -> Codec:
        return row(self.row_id).bind(case(self.task.case))

    @cached_property
    def values(self) -> list[Any]:
        return inputs(self.task, self.codec, self.folder)

    @property
    def function(self) -> Callable[[Any], Any]:
        return getattr(self.codec, self.task.operation)

    @cached_property
    def team(self) -> Team:
        function, values = self.function, self.values
        return Team(self.task.processes, lambda loops: seconds(function, values, loops))

    def seconds(self, loops: int) -> float:
        """What pyperf calls."""
        return seconds(self.function, self.values, loops) if self.task.processes == 1 else self.team.seconds(loops)

    def loops(self, time_min_s: float) -> int:
        """How many loops take about that long, found in this process: pyperf would start one for it."""
        loops = 1
        while (taken := seconds(self.function, self.values, loops)) < time_min_s / 4:
            loops *= 2
        return max(1, round(loops * time_min_s / taken))

    def wrong(self) -> str | None:
        """The error in the first message, read back: a row that fails the round trip is not timed."""
        here = case(self.task.case)
        message = here.messages(self.task.size)[0]
        data = bytes(self.codec.encode(self.codec.native(message)))
        return difference(Type("record", record=here.record), message, self.codec.plain(self.codec.decode(data)))


def main() -> None:
    runner = pyperf.Runner(program_args=("-m", "lab.measure"), add_cmdline_args=_for_worker)
    runner.argparser.add_argument("--row", required=True)
    runner.argparser.add_argument("--tasks", required=True, help="tasks with commas between")
    runner.argparser.add_argument("--folder", required=True, help="folder of files for the workers and the next run")
    runner.argparser.add_argument("--lines", help="file to which a JSON line is written for each task")
    arguments = runner.parse_args()
    tasks = [Task.parse(text) for text in arguments.tasks.split(",")]
    if arguments.worker:
        # pyperf counts the calls and runs the one that its worker is for.
        for task in tasks:
            runner.bench_time_func(str(task), _Timed(arguments.row, task, Path(arguments.folder)).seconds)
        return
    if arguments.affinity:
        # On the workers' core, which is idle while this process is not, so that other cores are left in peace.
        os.sched_setaffinity(0, {int(arguments.affinity)})
    with open(arguments.lines, "w", encoding="utf-8") as out:
        for task in tasks:
            print(json.dumps(_measured(runner, task)), file=out, flush=True)


def _measured(runner: pyperf.Runner, task: Task) -> dict[str, Any]:
    """The task's line: seconds an operation, for each value of pyperf's, and the bytes held."""
    known = Path(runner.args.folder) / f"{str(task).replace(':', '.')}.json"
    timed = _Timed(runner.args.row, task, known.parent)
    if not known.exists():
        known.write_text(json.dumps(_known(runner, task, timed)))
    facts = json.loads(known.read_text())
    runner.args.loops = facts["loops"]
    benchmark = runner.bench_time_func(str(task), timed.seconds)
    return {"task": str(task), "values": list(benchmark.get_values()), "held_bytes": facts["held_bytes"]}


def _known(runner: pyperf.Runner, task: Task, timed: _Timed) -> dict[str, Any]:
    """Checks done once for all times: that the row is right, how many loops it takes, and the bytes held."""
    from lab import memory

    if error := timed.wrong():
        raise SystemExit(f"{runner.args.row} on {task.case} {task.size} does not give back what it was given: {error}")
    seen = task.processes == 1 and row(runner.args.row).heap_seen
    return {
        "loops": timed.loops(runner.args.min_time),
        "held_bytes": memory.held_bytes(timed.function, timed.values) if seen else None,
    }


def _for_worker(command: list[str], arguments: Any) -> None:
    command += ["--row", arguments.row, "--tasks", arguments.tasks, "--folder", arguments.folder]


if __name__ == "__main__":
    main()
