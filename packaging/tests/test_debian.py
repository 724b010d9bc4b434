"""The Debian package, installed in an empty Debian: user, unit, settings that stay, and a broker that runs as the user.

Debian comes from its own packages, by debootstrap, and is kept in target/packages for the next run.
"""

import os
import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest
from conftest import EMPTY, ROOT, Steps, append_and_read, broker, package, run

BASE = ROOT / "target/packages/debian"
SUITE = "bookworm"


@pytest.fixture(scope="module")
def base() -> Path:
    """A minimal Debian."""
    if os.geteuid() != 0:
        pytest.skip("changing the root folder takes root")
    if not shutil.which("debootstrap", path=EMPTY["PATH"]):
        pytest.skip("debootstrap is missing: apt-get install debootstrap")
    if not BASE.exists():
        new = BASE.with_name("debian.new")
        shutil.rmtree(new, ignore_errors=True)
        new.parent.mkdir(parents=True, exist_ok=True)
        # Where packages come from is this machine's business.
        environment = {key: value for key, value in os.environ.items() if key.lower().endswith("_proxy")} | EMPTY
        run(["debootstrap", "--variant=minbase", SUITE, new], environment)
        new.rename(BASE)
    return BASE


@pytest.fixture
def debian(base: Path, tmp_path: Path) -> Iterator[Path]:
    """A copy of it, as a root folder."""
    root = tmp_path / "root"
    run(["cp", "--archive", "--reflink=auto", base, root])
    yield root
    shutil.rmtree(root)


def test_debian(debian: Path, step: Steps) -> None:
    deb = package("rawline_*_amd64.deb")
    shutil.copy(deb, debian / "tmp/rawline.deb")

    def inside(*command: str) -> str:
        return run(["chroot", debian, *command])

    with step("install"):
        inside("dpkg", "--install", "/tmp/rawline.deb")
    assert inside("dpkg", "--verify", "rawline") == ""
    assert inside("stat", "--format=%U %a", "/var/lib/rawline").strip() == "rawline 750"
    assert inside("stat", "--format=%G %a", "/etc/rawline/rawline.env").strip() == "rawline 640"

    # As the unit starts it: with the settings, as its user.
    start = "set -a; . /etc/rawline/rawline.env; RAWLINE_LISTEN=127.0.0.1:0; exec rawline serve"
    user = ["chroot", "--userspec=rawline:rawline", debian]
    with broker(step, [*user, "sh", "-c", start]) as url:
        append_and_read(step, [*user, "rawline"], url)

    settings = debian / "etc/rawline/rawline.env"
    settings.write_text(settings.read_text(encoding="utf-8") + "RAWLINE_MEMORY=256MiB\n", encoding="utf-8")
    inside("dpkg", "--install", "/tmp/rawline.deb")
    assert "RAWLINE_MEMORY=256MiB" in settings.read_text(encoding="utf-8"), "a reinstallation keeps settings"
    inside("dpkg", "--remove", "rawline")
    assert not (debian / "usr/bin/rawline").exists()
    assert any((debian / "var/lib/rawline").iterdir()), "topics stay"
    assert "RAWLINE_MEMORY=256MiB" in settings.read_text(encoding="utf-8")
    inside("dpkg", "--purge", "rawline")
    assert not settings.exists()


def test_the_unit_runs_what_the_package_installs(tmp_path: Path) -> None:
    subprocess.run(["dpkg-deb", "--extract", package("rawline_*_amd64.deb"), tmp_path], check=True)
    unit = (tmp_path / "usr/lib/systemd/system/rawline.service").read_text(encoding="utf-8")
    (start,) = (line for line in unit.splitlines() if line.startswith("ExecStart="))
    binary = start.removeprefix("ExecStart=").split()[0]
    assert os.access(tmp_path / binary.lstrip("/"), os.X_OK)
    assert "User=rawline" in unit
