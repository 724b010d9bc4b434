"""Finds the program `rawline`, which is the broker and the command line."""

import os
import shutil
import sysconfig
from pathlib import Path


def path() -> Path:
    """The program at `RAWLINE_BIN`, else the one that was installed with this package, else the one on `PATH`.

    Raises `FileNotFoundError` if none exists.
    """
    if given := os.environ.get("RAWLINE_BIN"):
        if is_program(Path(given)):
            return Path(given)
        raise FileNotFoundError(f"RAWLINE_BIN is {given}, which is not a program; set it to the path of rawline")
    if installed := next(filter(is_program, places()), None):
        return installed
    if found := shutil.which("rawline"):
        return Path(found)
    raise FileNotFoundError(
        "no program rawline next to this package or on PATH; install a package that has it, or build it with "
        "`cargo build --release --bin rawline` and set RAWLINE_BIN to its path"
    )


def places() -> list[Path]:
    """Where an installer puts a package's programs, most specific first."""
    package = Path(__file__).resolve().parent
    user = sysconfig.get_path("scripts", sysconfig.get_preferred_scheme("user"))
    # `pip install --target DIR` puts modules into DIR and programs into DIR/bin.
    folders = [Path(sysconfig.get_path("scripts")), package.parent / "bin", Path(user)]
    return [folder / f"rawline{sysconfig.get_config_var('EXE') or ''}" for folder in folders]


def is_program(file: Path) -> bool:
    return file.is_file() and os.access(file, os.X_OK)


__all__ = ["path"]
