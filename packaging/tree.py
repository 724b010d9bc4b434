"""Lays out the files of a package below its prefix: the binary, what it generates, its unit, its documents.

`tree.py BINARY PREFIX FOLDER LICENSES`, with PREFIX as on the machine where it will be installed. The binary runs
on this machine: it writes its completions and its manual pages itself.
"""

import gzip
import os
import shutil
import subprocess
import sys
from pathlib import Path

from project import ROOT, commit_time

COMPLETIONS = {
    "bash": "share/bash-completion/completions/rawline",
    "zsh": "share/zsh/site-functions/_rawline",
    "fish": "share/fish/vendor_completions.d/rawline.fish",
}
# The binary's path in the unit, which is that of the archive.
UNIT_PREFIX = "/usr/local"


def write(file: Path, content: bytes) -> None:
    """A new file with its folders."""
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_bytes(content)


def lay_out(binary: Path, prefix: str, folder: Path, licenses: Path) -> None:
    """All files."""
    shutil.rmtree(folder, ignore_errors=True)
    (folder / "bin").mkdir(parents=True)
    shutil.copy(binary, folder / "bin/rawline")
    (folder / "bin/rawline").chmod(0o755)
    for shell, path in COMPLETIONS.items():
        script = subprocess.run([binary, "completions", shell], check=True, capture_output=True).stdout
        write(folder / path, script)
    pages = folder / "share/man/man1"
    subprocess.run([binary, "man", pages], check=True, stdout=subprocess.DEVNULL)
    for page in sorted(pages.iterdir()):
        write(page.with_name(f"{page.name}.gz"), gzip.compress(page.read_bytes(), mtime=0))
        page.unlink()
    systemd = ROOT / "deploy/systemd"
    unit = (systemd / "rawline.service").read_text(encoding="utf-8").replace(f"{UNIT_PREFIX}/bin", f"{prefix}/bin")
    write(folder / "lib/systemd/system/rawline.service", unit.encode())
    write(folder / "lib/sysusers.d/rawline.conf", (systemd / "rawline.sysusers").read_bytes())
    documents = folder / "share/doc/rawline"
    for file in (ROOT / "LICENSE", ROOT / "CHANGELOG.md", systemd / "rawline.env", licenses):
        write(documents / file.name, file.read_bytes())
    for file in folder.rglob("*"):
        os.utime(file, (commit_time(), commit_time()))


def main() -> None:
    """See above."""
    binary, prefix, folder, licenses = sys.argv[1:]
    lay_out(Path(binary), prefix, Path(folder), Path(licenses))


if __name__ == "__main__":
    main()
