"""Runs the test programs that Cargo has built, several at a time: most of them wait for servers most of the time.

`cargo test --no-run --message-format=json ... | run-tests.py` runs each in its package's directory, as Cargo does, and
shows the output of those that fail, and at the end the tests that took longest. The tests in the documentation are not
among them.
"""

import json
import os
import re
import subprocess
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path

# At the same time, each with as many tests: more than two cores' worth, for a test that waits uses none.
PROGRAMS = int(os.environ.get("TEST_PROGRAMS", "4"))
THREADS = os.environ.get("RUST_TEST_THREADS", "3")

# How many of the slowest tests are shown.
SLOWEST = 10

# The line of a test with its time, which only unstable options show.
TIMES = ["-Zunstable-options", "--report-time"]
TIMED = re.compile(r"^test (\S+)(?: - should panic)? \.\.\. \w+ <(\d+\.\d+)s>$", re.MULTILINE)


@dataclass
class Program:
    """A test program, and the directory of its package."""

    path: Path
    package: Path

    def name(self) -> str:
        """As Cargo shows it: without the hash at its end."""
        return f"{self.package.name} {self.path.name.rpartition('-')[0]}"


@dataclass
class Outcome:
    """The output of a program: the lines with its results, or all of it if it failed."""

    program: Program
    failed: bool
    output: str
    seconds: float

    def tests(self) -> list[tuple[float, str]]:
        """Seconds and name of each test."""
        return [(float(seconds), f"{self.program.name()} {name}") for name, seconds in TIMED.findall(self.output)]


def programs(messages: list[str]) -> list[Program]:
    """The test programs that Cargo names in its messages. The largest first: they have the most tests."""
    found = []
    for message in map(json.loads, messages):
        if message["reason"] == "build-finished" and not message["success"]:
            sys.exit("the tests don't compile: see the errors above")
        if message.get("executable") and message["profile"]["test"]:
            found.append(Program(Path(message["executable"]), Path(message["manifest_path"]).parent))
    return sorted(found, key=lambda program: program.path.stat().st_size, reverse=True)


def run(program: Program, libraries: str) -> Outcome:
    """Runs one to its end."""
    environment = os.environ | {
        "CARGO_MANIFEST_DIR": str(program.package),
        "RUST_TEST_THREADS": THREADS,
        "RUSTC_BOOTSTRAP": "1",
        # Macros' tests load the compiler's own libraries.
        "LD_LIBRARY_PATH": libraries,
        "DYLD_FALLBACK_LIBRARY_PATH": libraries,
    }
    started = time.monotonic()
    ended = subprocess.run(
        [program.path, *TIMES],
        cwd=program.package,
        env=environment,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        check=False,
    )
    output = ended.stdout.decode(errors="replace")
    if ended.returncode < 0:
        output += f"\nended by signal {-ended.returncode}\n"
    return Outcome(program, ended.returncode != 0, output, time.monotonic() - started)


def main() -> None:
    """Runs all, shows each as it ends, and exits with 1 if one has failed."""
    found = programs(sys.stdin.readlines())
    if not found:
        sys.exit("Cargo named no test program: run it with --no-run --message-format=json")
    libraries = subprocess.run(
        ["rustc", "--print", "target-libdir"], check=True, capture_output=True, text=True
    ).stdout.strip()
    failed, tests = [], []
    with ThreadPoolExecutor(PROGRAMS) as pool:
        for outcome in pool.map(lambda program: run(program, libraries), found):
            results = [line for line in outcome.output.splitlines() if line.startswith("test result: ")]
            if outcome.failed or not results:
                failed.append(outcome.program.name())
                print(outcome.output, flush=True)
            print(f"{outcome.program.name()}: {' '.join(results) or 'FAILED'} ({outcome.seconds:.1f} s)", flush=True)
            tests += outcome.tests()
    print("slowest tests:")
    for seconds, name in sorted(tests, reverse=True)[:SLOWEST]:
        print(f"{seconds:6.1f} s  {name}", flush=True)
    if failed:
        sys.exit(f"{len(failed)} of {len(found)} test programs failed: {', '.join(failed)}")


if __name__ == "__main__":
    main()
