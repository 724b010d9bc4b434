"""The command line: `python -m lab --help`."""

import argparse
import os
import sys

EPILOG = """\
In order, from the repository's root:

  python3 lab/cases/generate.py              the messages (lab/out/cases)
  lab/python/setup.sh                        lab/.venv with every library, in exact versions
  cd lab/python
  ../.venv/bin/python -m lab rows            what is compared
  ../.venv/bin/python -m lab conform write   every row writes every case    (lab/out/wire/python)
  ../.venv/bin/python -m lab conform read    and reads what all languages wrote (lab/out/conformance.jsonl)
  ../.venv/bin/python -m lab bench --quick   time them                      (lab/out/results.jsonl)

A filter is a regular expression looked for in `FORMAT/LIBRARY[+VARIANT] CASE SIZE [MESSAGES OPERATION PROCESSES]`:

  ... -m lab bench --full --filter 'orjson|msgspec'
  ... -m lab bench --full --filter '^avro/.* zeek .* decode'
"""


def main() -> int:
    parser = argparse.ArgumentParser(
        prog="python -m lab", description="The Python side of the laboratory of wire formats.",
        epilog=EPILOG, formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    commands = parser.add_subparsers(dest="command", required=True, metavar="COMMAND")

    commands.add_parser("rows", help="list the rows: format, library, version, variant, and what to know")

    show = commands.add_parser("show", help="print the code generated for a row and a case, if any")
    show.add_argument("row", metavar="ROW", help="as `rows` prints it: protobuf/protobuf")
    show.add_argument("case", metavar="CASE", help="such as zeek")

    conform = commands.add_parser("conform", help="write the cases' messages, or read and compare what was written")
    conform.add_argument("direction", choices=["write", "read"])
    conform.add_argument("--filter", default="", metavar="REGEX")

    bench = commands.add_parser("bench", help="time the rows under pyperf, a core each")
    effort = bench.add_mutually_exclusive_group(required=True)
    effort.add_argument("--quick", action="store_true", help="two cases at their base size; half a minute on 4 cores")
    effort.add_argument("--full", action="store_true",
        help="all cases, sizes and operations; about 8 minutes on 4 cores")
    bench.add_argument("--filter", default="", metavar="REGEX")
    bench.add_argument(
        "--jobs", type=int, metavar="N",
        help="benchmarks side by side, each on its own core (default: as many as there are cores; 1 disturbs least)",
    )
    arguments = parser.parse_args()

    from lab.places import Missing

    try:
        return _COMMANDS[arguments.command](arguments)
    except (Missing, KeyError) as error:
        print(error.args[0], file=sys.stderr)
        return 2
    except ModuleNotFoundError as error:
        print(f"{error}: run lab/python/setup.sh, and then lab/.venv/bin/python -m lab", file=sys.stderr)
        return 2


def _rows(_: argparse.Namespace) -> int:
    from lab.row import rows

    for row in rows():
        print(f"{row.id:<40} {row.version:<10} {row.note}")
    return 0


def _show(arguments: argparse.Namespace) -> int:
    from lab.case import case
    from lab.row import row

    print("\n".join(row(arguments.row).bind(case(arguments.case)).sources))
    return 0


def _conform(arguments: argparse.Namespace) -> int:
    from lab import conform

    return 1 if {"write": conform.write, "read": conform.read}[arguments.direction](arguments.filter) else 0


def _bench(arguments: argparse.Namespace) -> int:
    from lab.bench import bench

    cores = sorted(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else list(range(os.cpu_count() or 1))
    return 1 if bench(arguments.quick, arguments.filter, cores[: arguments.jobs]) else 0


_COMMANDS = {"rows": _rows, "show": _show, "conform": _conform, "bench": _bench}

if __name__ == "__main__":
    sys.exit(main())
