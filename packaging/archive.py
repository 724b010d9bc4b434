"""Packs a folder as an archive whose bytes depend on the commit only: `archive.py FOLDER NAME.tar.xz`."""

import sys
import tarfile
from pathlib import Path

from project import commit_time


def main() -> None:
    """Entries in the order of their names, of root, with the time of the commit."""
    folder, archive = Path(sys.argv[1]), Path(sys.argv[2])
    top = archive.name.removesuffix(".tar.xz")
    time = commit_time()

    def normalized(entry: tarfile.TarInfo) -> tarfile.TarInfo:
        entry.uid = entry.gid = 0
        entry.uname = entry.gname = "root"
        entry.mtime = time
        entry.mode = 0o755 if entry.isdir() or entry.mode & 0o100 else 0o644
        return entry

    with tarfile.open(archive, "w:xz", preset=6) as packed:
        for file in [folder, *sorted(folder.rglob("*"))]:
            packed.add(file, f"{top}/{file.relative_to(folder)}".removesuffix("/."), recursive=False, filter=normalized)


if __name__ == "__main__":
    main()
