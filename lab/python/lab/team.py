"""Several processes that do the same at once, one per core: the throughput of all cores. Threads would take turns under
the GIL."""

import os
import struct
from collections.abc import Callable

_COMMAND = struct.Struct("<Q")
_ANSWER = struct.Struct("<d")


class Team:
    """Forked children that each run `seconds(loops)` on request; they end with their parent."""

    def __init__(self, size: int, seconds: Callable[[int], float]) -> None:
        self._members = [_member(core, seconds) for core in sorted(os.sched_getaffinity(0))[:size]]
        self.size = len(self._members)

    def seconds(self, loops: int) -> float:
        """Seconds of the slowest member, divided by the members: the cost of one operation when all cores are busy."""
        for command, _ in self._members:
            os.write(command, _COMMAND.pack(loops))
        return max(_ANSWER.unpack(os.read(answer, _ANSWER.size))[0] for _, answer in self._members) / self.size


def _member(core: int, seconds: Callable[[int], float]) -> tuple[int, int]:
    """Forks a child on that core; its pipe for commands, and the one for its answers."""
    command_out, command_in = os.pipe()
    answer_out, answer_in = os.pipe()
    if os.fork():
        os.close(command_out)
        os.close(answer_in)
        return command_in, answer_out
    try:
        os.close(command_in)
        os.close(answer_out)
        os.sched_setaffinity(0, {core})
        while command := os.read(command_out, _COMMAND.size):
            os.write(answer_in, _ANSWER.pack(seconds(*_COMMAND.unpack(command))))
    finally:
        os._exit(0)
