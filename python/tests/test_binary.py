"""The program `rawline` is found where installers put it."""

import sysconfig
from pathlib import Path

import pytest

from rawline import _binary


def program(folder: Path) -> Path:
    folder.mkdir(parents=True, exist_ok=True)
    file = folder / "rawline"
    file.write_text("#!/bin/sh\n")
    file.chmod(0o755)
    return file


def test_the_program_is_found_in_this_order(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    given, installed, in_path = (program(tmp_path / name) for name in ("given", "scripts", "path"))
    found = sysconfig.get_path

    def get_path(name: str, scheme: str = "") -> str:
        folders = {"": str(installed.parent)}
        return folders.get(scheme, str(tmp_path / "user")) if name == "scripts" else found(name)

    monkeypatch.setattr(sysconfig, "get_path", get_path)
    monkeypatch.setenv("PATH", str(in_path.parent))
    monkeypatch.setenv("RAWLINE_BIN", str(given))
    assert _binary.path() == given
    monkeypatch.delenv("RAWLINE_BIN")
    assert _binary.path() == installed
    installed.chmod(0o644)
    assert _binary.path() == in_path
    of_user = program(tmp_path / "user")
    assert _binary.path() == of_user


def test_a_missing_program_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(_binary, "places", lambda: [tmp_path / "rawline"])
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.delenv("RAWLINE_BIN", raising=False)
    with pytest.raises(FileNotFoundError, match="set RAWLINE_BIN to its path"):
        _binary.path()
    monkeypatch.setenv("RAWLINE_BIN", str(tmp_path / "nothing"))
    with pytest.raises(FileNotFoundError, match=r"nothing, which is not a program; set it to the path of rawline"):
        _binary.path()
