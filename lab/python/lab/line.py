"""The lines of lab/out/results.jsonl: each measurement, with its place, time and versions."""

import json
import os
import platform
import subprocess
import threading
from datetime import UTC, datetime
from importlib.metadata import version
from pathlib import Path
from typing import Any

from lab import memory
from lab.interval import CONFIDENCE, interval
from lab.places import LAB, RESULTS
from lab.row import Row
from lab.task import Task


class Lines:
    """Appends a run's lines; from several threads."""

    def __init__(self, quick: bool, jobs: int) -> None:
        self._lock = threading.Lock()
        self._common = {
            "run": os.environ.get("LAB_RUN") or datetime.now(UTC).strftime("%Y%m%dT%H%M%SZ"),
            "commit": os.environ.get("LAB_COMMIT") or _commit(),
        }
        self._with = {
            "machine": _machine(),
            "language": "python",
            "runtime": f"{platform.python_implementation()} {platform.python_version()}",
            "harness": f"pyperf {version('pyperf')}",
            # How many benchmarks ran side by side, a core each.
            "jobs": jobs,
        }
        if quick:
            self._with["quick"] = True

    def append(self, row: Row, measured: list[dict[str, Any]]) -> None:
        """Appends a line for each task: its values in seconds, and the bytes held."""
        text = "".join(json.dumps(self._line(row, one)) + "\n" for one in measured)
        with self._lock:
            RESULTS.parent.mkdir(parents=True, exist_ok=True)
            with RESULTS.open("a", encoding="utf-8") as out:
                out.write(text)

    def _line(self, row: Row, measured: dict[str, Any]) -> dict[str, Any]:
        task = Task.parse(measured["task"])
        mean, low, high = (round(seconds * 1e9, 2) for seconds in interval(measured["values"]))
        line = {
            **self._common,
            "time": datetime.now(UTC).isoformat(timespec="seconds").replace("+00:00", "Z"),
            **self._with,
            "format": row.format, "library": row.library, "version": row.version, "variant": row.variant,
            "case": task.case, "size": task.size, "messages": task.messages, "operation": task.operation,
            "threads": task.processes, "ns": mean, "ns_low": low, "ns_high": high, "confidence": CONFIDENCE,
            "alloc_bytes": measured["held_bytes"],
        }
        notes = [row.note] if row.note else []
        if measured["held_bytes"] is not None:
            notes.append(f"alloc_bytes: {memory.NOTE}")
        if task.processes > 1:
            line["jobs"] = 1
            notes.append("processes instead of threads, which the GIL lets run one at a time")
        return line | {"note": "; ".join(notes)}


def _machine() -> dict[str, Any]:
    kib = float((_value("/proc/meminfo", "MemTotal", ":") or "0").split()[0])
    return {
        "cpu": _value("/proc/cpuinfo", "model name", ":") or platform.processor(),
        "cores": os.cpu_count(),
        "os": _value("/etc/os-release", "PRETTY_NAME", "=") or platform.system(),
        "memory_gb": round(kib / 1024 / 1024),
    }


def _value(path: str, key: str, separator: str) -> str:
    """The value of a key in one of the system's line-oriented files; empty if the system doesn't report it."""
    try:
        lines = Path(path).read_text(encoding="utf-8").splitlines()
    except OSError:
        return ""
    pairs = (line.partition(separator) for line in lines)
    return next((value.strip().strip('"') for found, _, value in pairs if found.strip() == key), "")


def _commit() -> str:
    try:
        return subprocess.run(["git", "rev-parse", "HEAD"], cwd=LAB, capture_output=True, text=True,
            check=True).stdout.strip()
    except (OSError, subprocess.CalledProcessError):
        return ""
