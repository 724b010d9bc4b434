"""Writes the licenses of everything that is compiled into the binary: crates, the console's libraries, Rust's own.

`licenses.py TARGET > THIRD-PARTY-LICENSES.txt`. A crate's license is in its source, which Cargo has downloaded.
`cargo deny` checks whether we accept it (deny.toml).
"""

import json
import re
import subprocess
import sys
from collections import defaultdict
from collections.abc import Iterable
from pathlib import Path

from project import ROOT

# The name of a file with a license or a notice that must accompany copies.
LICENSE = re.compile(r"(licen[cs]e|copying|unlicense|notice|copyright)", re.IGNORECASE)
# Sources that a crate brings along, such as zstd's, are in folders of their own license.
DEPTH_MAX = 2
# Not a license of what is compiled: choices that we don't take.
NOT_CHOSEN = re.compile(r"gpl|copying", re.IGNORECASE)

# What a license's own text says without the names of authors, for crates that are published without a file.
TEXTS = {"Apache-2.0": ROOT / "LICENSE"}

RUST = (
    "The Rust standard library, which is compiled in: MIT OR Apache-2.0, Copyright (c) The Rust Project Contributors."
)


def crates(target: str) -> Iterable[tuple[str, str, Path]]:
    """Name and version, license, and folder of each crate from a registry that is compiled in."""
    tree = ["cargo", "tree", "--locked", "--package=rawline-cli", "--features=full,lab", f"--target={target}"]
    tree += ["--edges=normal", "--prefix=none", "--format={p}"]
    used = {" ".join(line.split()[:2]) for line in output(tree).splitlines()}
    metadata = json.loads(
        output(["cargo", "metadata", "--locked", "--all-features", "--format-version=1", f"--filter-platform={target}"])
    )
    for package in sorted(metadata["packages"], key=lambda package: (package["name"], package["version"])):
        name = f"{package['name']} v{package['version']}"
        if name in used and package["source"]:
            yield name, package["license"] or "", Path(package["manifest_path"]).parent


def console() -> Iterable[tuple[str, str, Path]]:
    """The same of the libraries in the console's script."""
    modules = ROOT / "console" / "node_modules"
    for name in json.loads((ROOT / "console" / "package.json").read_text(encoding="utf-8"))["dependencies"]:
        manifest = json.loads((modules / name / "package.json").read_text(encoding="utf-8"))
        yield f"{name} v{manifest['version']}", manifest["license"], modules / name


def output(command: list[str]) -> str:
    """What a command prints."""
    return subprocess.run(command, cwd=ROOT, check=True, capture_output=True, text=True).stdout


def texts(folder: Path) -> list[str]:
    """The licenses in a folder of sources."""
    files = (file for file in sorted(folder.rglob("*")) if len(file.relative_to(folder).parts) <= DEPTH_MAX)
    found = [
        file for file in files if file.is_file() and LICENSE.match(file.name) and file.suffix not in (".rs", ".py")
    ]
    return [
        file.read_text(encoding="utf-8", errors="replace").strip()
        for file in found
        if not NOT_CHOSEN.search(file.name) or len(found) == 1
    ]


def main() -> None:
    """Each text once, with the names of what it is the license of."""
    users = defaultdict(list)
    listed = [*crates(sys.argv[1]), *console()]
    without = []
    for name, terms, folder in listed:
        found = texts(folder) or [text.read_text(encoding="utf-8") for key, text in TEXTS.items() if key in terms]
        if not found:
            without.append(f"{name}: {terms}")
        for text in found:
            users[text].append(name)
    print("Rawline contains the software listed here, under the licenses that follow the list.\n")
    for name, terms, _ in listed:
        print(f"{name}: {terms}")
    print(f"\n{RUST}")
    if without:
        print("\nPublished without the text of their license:\n")
        print("\n".join(without))
    for text, names in sorted(users.items(), key=lambda item: (-len(item[1]), item[1])):
        print(f"\n{'=' * 100}\n{', '.join(names)}\n{'-' * 100}\n{text}")


if __name__ == "__main__":
    main()
