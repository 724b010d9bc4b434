"""The files of the archive: the binary, what it generates, the unit, the licenses."""

import re
import shutil
import subprocess
import time
from pathlib import Path

import pytest
from conftest import EMPTY, Steps, append_and_read, broker, run


def test_the_version_names_commit_and_features(tree: Path) -> None:
    assert re.fullmatch(
        r"rawline \d+\.\d+\.\d+ \(commit \S+, full(, debug)?\)\n", run([tree / "bin/rawline", "--version"])
    )


def test_manual_pages_and_completions_are_complete(tree: Path) -> None:
    page = run(["gzip", "--decompress", "--stdout", tree / "share/man/man1/rawline-serve.1.gz"])
    assert "RAWLINE_STORAGE" in page
    completions = tree / "share/bash-completion/completions/rawline"
    assert "rawline" in run(["bash", "-c", f"source {completions} && complete -p rawline"])
    for path in ("share/zsh/site-functions/_rawline", "share/fish/vendor_completions.d/rawline.fish"):
        assert (tree / path).stat().st_size > 1000


def test_licenses_of_all_dependencies_are_complete(tree: Path) -> None:
    licenses = (tree / "share/doc/rawline/THIRD-PARTY-LICENSES.txt").read_text(encoding="utf-8")
    for name in ("tokio v", "zstd-sys v", "ring v", "preact v", "The Rust standard library", "Copyright (c) Meta"):
        assert name in licenses, name
    assert "Apache License" in (tree / "share/doc/rawline/LICENSE").read_text(encoding="utf-8")


def need(*programs: str) -> None:
    """Skips a test on a machine without these."""
    for program in programs:
        if not shutil.which(program, path=EMPTY["PATH"]):
            pytest.skip(f"{program} is missing")


def test_the_unit_is_one_that_systemd_accepts(tree: Path, tmp_path: Path) -> None:
    need("systemd-analyze")
    unit = tmp_path / "rawline.service"
    text = (tree / "lib/systemd/system/rawline.service").read_text(encoding="utf-8")
    unit.write_text(text.replace("/usr/local/bin/rawline", str(tree / "bin/rawline")), encoding="utf-8")
    done = subprocess.run(["systemd-analyze", "verify", "--man=no", unit], env=EMPTY, capture_output=True, text=True)
    # About other units of this machine it complains too.
    assert "rawline.service" not in done.stderr, done.stderr


def allowed_calls(unit: str) -> set[str]:
    """The system calls that the unit's filter allows, with those of the groups in it."""
    groups: dict[str, list[str]] = {}
    members: list[str] = []
    for line in run(["systemd-analyze", "--no-pager", "syscall-filter"]).splitlines():
        word = re.sub(r"\x1b\[[0-9;]*m", "", line).strip()
        if word.startswith("@") and not line.startswith(" "):
            members = groups.setdefault(word, [])
        elif word and not word.startswith("#"):
            members.append(word)

    def calls(names: list[str]) -> set[str]:
        return {call for name in names for call in (calls(groups[name]) if name.startswith("@") else [name])}

    (names,) = re.findall(r"^SystemCallFilter=(.*)$", unit, re.MULTILINE)
    return calls([*names.split(), "@default"])


def test_the_unit_allows_every_system_call_that_the_broker_makes(tree: Path, tmp_path: Path, step: Steps) -> None:
    need("strace", "systemd-analyze")
    trace = tmp_path / "trace"
    binary = tree / "bin/rawline"
    # As the parent of strace, the broker gets the signal itself.
    traced = ["strace", "--daemonize", "--follow-forks", "--quiet=all", "--output", trace, binary]
    with broker(step, [*traced, "serve", "--listen", "127.0.0.1:0", "--storage", tmp_path / "data"]) as url:
        append_and_read(step, [binary], url)
    # strace writes the rest of its file after the broker's end.
    deadline = time.monotonic() + 30
    while "exit_group(" not in trace.read_text(encoding="utf-8"):
        assert time.monotonic() < deadline, "strace doesn't end"
        time.sleep(0.05)
    # Numbers of processes are padded to five columns.
    made = set(re.findall(r"^\d+ +(\w+)\(", trace.read_text(encoding="utf-8"), re.MULTILINE))
    unit = (tree / "lib/systemd/system/rawline.service").read_text(encoding="utf-8")
    assert {"pwritev", "fdatasync", "mincore"} <= made, made
    assert made <= allowed_calls(unit), made - allowed_calls(unit)
