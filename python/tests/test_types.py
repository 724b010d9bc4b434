"""The stubs say what the native module has, and the package is typed."""

import subprocess
import sys
from pathlib import Path

HERE = Path(__file__).parent


def check(*arguments: str, folder: Path) -> None:
    done = subprocess.run([sys.executable, "-m", *arguments], capture_output=True, text=True, cwd=folder)
    assert done.returncode == 0, done.stdout + done.stderr


def test_the_stubs_are_the_native_modules(tmp_path: Path) -> None:
    check("mypy.stubtest", "rawline._rawline", "--allowlist", str(HERE / "stubtest_allowlist.txt"), folder=tmp_path)


def test_the_package_and_what_uses_it_are_typed(tmp_path: Path) -> None:
    check("mypy", "--strict", "-p", "rawline", folder=tmp_path)
    users = [HERE / "typed.py", HERE.parent / "bench.py", *sorted((HERE.parent / "examples").glob("*.py"))]
    check("mypy", "--strict", *map(str, users), folder=tmp_path)
