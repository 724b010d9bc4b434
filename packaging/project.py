"""What all packages share: the version, the platforms, where things are."""

import re
import subprocess
from dataclasses import dataclass
from functools import cache
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent


@dataclass(frozen=True)
class Platform:
    """A system that packages are built for: Rust's name, and Node's."""

    target: str
    npm_os: str
    npm_cpu: str


PLATFORMS = {
    platform.target: platform
    for platform in (
        Platform("x86_64-unknown-linux-gnu", "linux", "x64"),
        Platform("aarch64-unknown-linux-gnu", "linux", "arm64"),
    )
}


def version() -> str:
    """The version of everything: that of the workspace."""
    found = re.search(r'^version = "(.+)"$', (ROOT / "Cargo.toml").read_text(encoding="utf-8"), re.MULTILINE)
    assert found, "Cargo.toml has no version"
    return found[1]


@cache
def commit_time() -> int:
    """Seconds since 1970 of the packed commit. Files get this time, so that the same commit gives the same bytes."""
    command = ["git", "-C", str(ROOT), "log", "-1", "--format=%ct"]
    return int(subprocess.run(command, check=True, capture_output=True, text=True).stdout)
