"""The packages for npm, installed from their files in an empty folder: `npx rawline` runs the binary."""

import shutil
from pathlib import Path

from conftest import EMPTY, Steps, append_and_read, broker, package, run


def test_npm(tmp_path: Path, step: Steps) -> None:
    npm = shutil.which("npm")
    assert npm, "install Node 20 or newer with npm"
    home = EMPTY | {"HOME": str(tmp_path), "PATH": f"{Path(npm).parent}:{EMPTY['PATH']}"}
    packages = [package("rawline-linux-x64-*.tgz"), package("rawline-[0-9].[0-9].[0-9].tgz")]
    with step("install"):
        run(["npm", "install", "--offline", "--no-audit", "--no-fund", "--silent", *packages], home, cwd=tmp_path)
    npx = ["npx", "--offline", "--prefix", tmp_path, "rawline"]
    # Without npx, which a signal would end first.
    command = tmp_path / "node_modules/.bin/rawline"
    with broker(step, [command, "serve", "--listen", "127.0.0.1:0", "--storage", "memory:"], home) as url:
        append_and_read(step, npx, url, home)


def test_exit_codes_are_those_of_the_binary(tmp_path: Path) -> None:
    shutil.copytree(Path(__file__).parent.parent / "npm", tmp_path / "bin")
    (tmp_path / "package.json").write_text('{"type": "module"}', encoding="utf-8")
    binary = tmp_path / "node_modules/@rawline/linux-x64/bin/rawline"
    binary.parent.mkdir(parents=True)
    binary.write_text("#!/bin/sh\nexit 3\n", encoding="utf-8")
    binary.chmod(0o755)
    assert run(["sh", "-c", 'node bin/rawline.js; echo "$?"'], cwd=tmp_path) == "3\n"
    binary.write_text("#!/bin/sh\nkill -9 $$\n", encoding="utf-8")
    assert run(["sh", "-c", 'node bin/rawline.js; echo "$?"'], cwd=tmp_path) == "137\n"


def test_a_platform_without_a_package_is_named(tmp_path: Path) -> None:
    shutil.copytree(Path(__file__).parent.parent / "npm", tmp_path / "bin")
    (tmp_path / "package.json").write_text('{"type": "module"}', encoding="utf-8")
    printed = run(["sh", "-c", 'node bin/rawline.js 2>&1; echo "$?"'], cwd=tmp_path)
    assert "@rawline/linux-x64 is not installed" in printed and printed.endswith("\n1\n")
