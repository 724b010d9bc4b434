"""A timed task: one operation of a row, on the messages of one case and size."""

import itertools
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from lab.case import case
from lab.conform import framed, frames
from lab.row import Codec

OPERATIONS = ["encode", "decode", "field", "fields"]


@dataclass(frozen=True)
class Task:
    """Written as `case:size:messages:operation:processes`, so that it can be handed to another process."""

    case: str
    size: str
    messages: str
    """varied: round robin through the file's messages; one: the first one repeated."""
    operation: str
    processes: int = 1

    @classmethod
    def parse(cls, text: str) -> "Task":
        name, size, messages, operation, processes = text.split(":")
        return cls(name, size, messages, operation, int(processes))

    def __str__(self) -> str:
        return f"{self.case}:{self.size}:{self.messages}:{self.operation}:{self.processes}"


def inputs(task: Task, codec: Codec, folder: Path) -> list[Any]:
    """The operation's argument: owned objects for encode, bytes for all others, which are made once in
    `folder`."""
    if task.operation == "encode":
        made = [codec.native(message) for message in case(task.case).messages(task.size)]
    else:
        path = folder / f"{task.case}.{task.size}.bin"
        if not path.exists():
            messages = case(task.case).messages(task.size)
            path.write_bytes(b"".join(framed(codec.encode(codec.native(message))) for message in messages))
        made = list(frames(path.read_bytes()))
    return made if task.messages == "varied" else made[:1]


def seconds(function: Callable[[Any], Any], values: list[Any], loops: int) -> float:
    """How long that many calls take, going round the values.

    The loop itself and the call are in the time, some 20 ns. CPython leaves no call out because its result is not
    used, so
    nothing is done with it here; that it is right is seen by conformance.
    """
    turns = itertools.islice(itertools.cycle(values), loops)
    start = time.perf_counter()
    for value in turns:
        function(value)
    return time.perf_counter() - start
