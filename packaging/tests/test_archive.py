"""The archive: unpacked into an empty folder, its binary runs; it is small, and needs no new C library."""

import hashlib
import lzma
import re
import subprocess
import tarfile
from pathlib import Path

import pytest
from conftest import DIST, EMPTY, Steps, append_and_read, broker, package, run

# Limits that we hold: bytes of the stripped binary, and of the archive.
BINARY_BYTES_MAX = 40_000_000
ARCHIVE_BYTES_MAX = 15_000_000
# The oldest C library that packages promise to run with.
GLIBC_MAX = (2, 17)


@pytest.fixture
def unpacked(tmp_path: Path) -> Path:
    """The archive's folder."""
    with tarfile.open(package("rawline-*-linux-x86_64.tar.xz")) as archive:
        archive.extractall(tmp_path, filter="data")
    (folder,) = tmp_path.iterdir()
    return folder


def test_archive(tmp_path: Path, step: Steps) -> None:
    with step("install"):
        run(["tar", "--extract", "--file", package("rawline-*-linux-x86_64.tar.xz"), "--directory", tmp_path])
    (folder,) = tmp_path.iterdir()
    binary = folder / "bin/rawline"
    with broker(step, [binary, "serve", "--listen", "127.0.0.1:0", "--storage", tmp_path / "data"]) as url:
        append_and_read(step, [binary], url)


def test_the_version_names_commit_and_features(unpacked: Path) -> None:
    assert re.fullmatch(r"rawline \d+\.\d+\.\d+ \(commit \S+, full\)\n", run([unpacked / "bin/rawline", "--version"]))


def test_manual_pages_and_completions_are_in_the_archive(unpacked: Path) -> None:
    page = run(["gzip", "--decompress", "--stdout", unpacked / "share/man/man1/rawline-serve.1.gz"])
    assert "RAWLINE_STORAGE" in page
    completions = unpacked / "share/bash-completion/completions/rawline"
    assert "rawline" in run(["bash", "-c", f"source {completions} && complete -p rawline"])
    for path in ("share/zsh/site-functions/_rawline", "share/fish/vendor_completions.d/rawline.fish"):
        assert (unpacked / path).stat().st_size > 1000


def test_licenses_of_all_dependencies_are_in_the_archive(unpacked: Path) -> None:
    licenses = (unpacked / "share/doc/rawline/THIRD-PARTY-LICENSES.txt").read_text(encoding="utf-8")
    for name in ("tokio v", "zstd-sys v", "ring v", "preact v", "The Rust standard library", "Copyright (c) Meta"):
        assert name in licenses, name
    assert "Apache License" in (unpacked / "share/doc/rawline/LICENSE").read_text(encoding="utf-8")


def test_the_binary_is_small(unpacked: Path, tmp_path: Path) -> None:
    stripped = tmp_path / "stripped"
    run(["strip", "-o", stripped, unpacked / "bin/rawline"])
    assert stripped.stat().st_size <= BINARY_BYTES_MAX
    assert package("rawline-*-linux-x86_64.tar.xz").stat().st_size <= ARCHIVE_BYTES_MAX


def test_the_binary_runs_with_an_old_c_library(unpacked: Path) -> None:
    versions = re.findall(rb"GLIBC_(\d+)\.(\d+)", (unpacked / "bin/rawline").read_bytes())
    needed = max((int(major), int(minor)) for major, minor in versions)
    assert needed <= GLIBC_MAX, f"it needs the C library {needed}"


def test_the_unit_is_one_that_systemd_accepts(unpacked: Path, tmp_path: Path) -> None:
    unit = tmp_path / "rawline.service"
    text = (unpacked / "lib/systemd/system/rawline.service").read_text(encoding="utf-8")
    unit.write_text(text.replace("/usr/local/bin/rawline", str(unpacked / "bin/rawline")), encoding="utf-8")
    done = subprocess.run(["systemd-analyze", "verify", "--man=no", unit], env=EMPTY, capture_output=True, text=True)
    # About other units of this machine it complains too.
    assert "rawline.service" not in done.stderr, done.stderr


def test_archives_are_whole() -> None:
    with lzma.open(package("rawline-*-linux-x86_64.tar.xz")) as archive:
        while archive.read(1 << 20):
            pass
    for line in package("SHA256SUMS").read_text(encoding="utf-8").splitlines():
        digest, name = line.split()
        assert hashlib.sha256((DIST / name).read_bytes()).hexdigest() == digest, name
