"""Adds the binary to the module's wheel, as the command `rawline`, with the licenses of what is in it.

`wheel.py WHEEL TREE`, with the tree of packaging/tree.py. maturin could add a folder that its settings name, but then
no wheel could be built without that folder: `pip install ./python` would need a built binary.
"""

import base64
import hashlib
import sys
import time
import zipfile
from collections.abc import Iterable
from pathlib import Path

from project import commit_time, version


def additions(tree: Path) -> Iterable[tuple[str, bytes, int]]:
    """Path in the wheel, content and permissions of each file. Installers move `scripts` and `data` to their places."""
    data = f"rawline-{version()}.data"
    yield f"{data}/scripts/rawline", (tree / "bin/rawline").read_bytes(), 0o755
    for file in sorted((tree / "share/doc/rawline").glob("*LICENSE*")):
        yield f"{data}/data/share/doc/rawline/{file.name}", file.read_bytes(), 0o644


def entry(name: str, mode: int) -> zipfile.ZipInfo:
    """A file of the wheel, with the time of the commit."""
    made = zipfile.ZipInfo(name, time.gmtime(commit_time())[:6])
    made.external_attr = (0o100000 | mode) << 16
    made.compress_type = zipfile.ZIP_DEFLATED
    return made


def main() -> None:
    """Copies the wheel with the additions, and with the list of files that installers check."""
    wheel, tree = Path(sys.argv[1]), Path(sys.argv[2])
    record = f"rawline-{version()}.dist-info/RECORD"
    new = wheel.with_suffix(".new")
    with zipfile.ZipFile(wheel) as old, zipfile.ZipFile(new, "w") as packed:
        lines = old.read(record).decode()
        for info in old.infolist():
            if info.filename != record:
                packed.writestr(info, old.read(info), compresslevel=9)
        for name, content, mode in additions(tree):
            packed.writestr(entry(name, mode), content, compresslevel=9)
            digest = base64.urlsafe_b64encode(hashlib.sha256(content).digest()).rstrip(b"=").decode()
            lines += f"{name},sha256={digest},{len(content)}\n"
        packed.writestr(entry(record, 0o644), lines)
    new.rename(wheel)


if __name__ == "__main__":
    main()
