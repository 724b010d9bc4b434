"""The archive: unpacked into an empty folder, its binary runs; it is small, and needs no new C library."""

import hashlib
import lzma
import re
from pathlib import Path

from conftest import DIST, Steps, append_and_read, broker, package, run

# Limits that we hold: bytes of the stripped binary, and of the archive.
BINARY_BYTES_MAX = 40_000_000
ARCHIVE_BYTES_MAX = 15_000_000
# The oldest C library that packages promise to run with.
GLIBC_MAX = (2, 17)


def test_archive(tmp_path: Path, step: Steps) -> None:
    with step("install"):
        run(["tar", "--extract", "--file", package("rawline-*-linux-x86_64.tar.xz"), "--directory", tmp_path])
    (folder,) = tmp_path.iterdir()
    binary = folder / "bin/rawline"
    with broker(step, [binary, "serve", "--listen", "127.0.0.1:0", "--storage", tmp_path / "data"]) as url:
        append_and_read(step, [binary], url)


def test_the_binary_is_small(tree: Path, tmp_path: Path) -> None:
    stripped = tmp_path / "stripped"
    run(["strip", "-o", stripped, tree / "bin/rawline"])
    assert stripped.stat().st_size <= BINARY_BYTES_MAX
    assert package("rawline-*-linux-x86_64.tar.xz").stat().st_size <= ARCHIVE_BYTES_MAX


def test_the_binary_runs_with_an_old_c_library(tree: Path) -> None:
    versions = re.findall(rb"GLIBC_(\d+)\.(\d+)", (tree / "bin/rawline").read_bytes())
    needed = max((int(major), int(minor)) for major, minor in versions)
    assert needed <= GLIBC_MAX, f"it needs the C library {needed}"


def test_archives_are_whole() -> None:
    with lzma.open(package("rawline-*-linux-x86_64.tar.xz")) as archive:
        while archive.read(1 << 20):
            pass
    for line in package("SHA256SUMS").read_text(encoding="utf-8").splitlines():
        digest, name = line.split()
        assert hashlib.sha256((DIST / name).read_bytes()).hexdigest() == digest, name
