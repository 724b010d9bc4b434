"""Builds the packages for npm: one for this platform with the binary, and `rawline`, which runs it.

`npm.py TARGET TREE FOLDER`: the tree of packaging/tree.py, and where the packages go. The optional dependencies of
`rawline` are the platforms; npm leaves out all but the one that it runs on.
"""

import json
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

from project import PLATFORMS, ROOT, Platform, version

ABOUT = {
    "version": version(),
    "description": "Rawline, an event broker on object storage: the broker and its command line",
    "license": "Apache-2.0",
    "keywords": ["broker", "events", "kafka", "log", "object-storage"],
}
README = """# Rawline

`npx rawline serve` runs an event broker: topics in a directory or in a bucket, over HTTP and Kafka's protocol.
`npx rawline --help` lists the commands.
"""


def package_name(platform: Platform) -> str:
    """The name of a platform's package, of which Node knows both parts."""
    return f"@rawline/{platform.npm_os}-{platform.npm_cpu}"


def pack(folder: Path, manifest: dict[str, object], out: Path) -> None:
    """One package."""
    (folder / "package.json").write_text(json.dumps(manifest, indent=2) + "\n", encoding="utf-8")
    (folder / "README.md").write_text(README, encoding="utf-8")
    shutil.copy(ROOT / "LICENSE", folder)
    subprocess.run(["npm", "pack", "--silent", f"--pack-destination={out}"], cwd=folder, check=True)


def platform_package(platform: Platform, tree: Path, out: Path) -> None:
    """The binary with its licenses."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        (folder / "bin").mkdir()
        shutil.copy(tree / "bin/rawline", folder / "bin")
        shutil.copy(tree / "share/doc/rawline/THIRD-PARTY-LICENSES.txt", folder)
        # With another C library than glibc, the binary doesn't start.
        only = {"os": [platform.npm_os], "cpu": [platform.npm_cpu], "libc": ["glibc"], "preferUnplugged": True}
        pack(folder, {"name": package_name(platform), **ABOUT, **only}, out)


def main_package(out: Path) -> None:
    """The command."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        (folder / "bin").mkdir()
        shutil.copy(ROOT / "packaging/npm/rawline.js", folder / "bin")
        platforms = {package_name(platform): version() for platform in PLATFORMS.values()}
        manifest = {
            "type": "module",
            "bin": {"rawline": "bin/rawline.js"},
            "files": ["bin"],
            "engines": {"node": ">=20"},
        }
        pack(folder, {"name": "rawline", **ABOUT, **manifest, "optionalDependencies": platforms}, out)


def main() -> None:
    """See above."""
    target, tree, out = sys.argv[1], Path(sys.argv[2]), Path(sys.argv[3]).resolve()
    platform_package(PLATFORMS[target], tree, out)
    main_package(out)


if __name__ == "__main__":
    main()
