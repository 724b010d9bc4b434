"""Certificates for tests, made by OpenSSL when they run."""

import subprocess
from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True)
class Pair:
    """Files of a certificate and its private key."""

    certificate: Path
    key: Path


class Authority:
    """An authority with its files in a folder."""

    def __init__(self, folder: Path) -> None:
        folder.mkdir()
        self.folder = folder
        self.pair = Pair(folder / "ca.pem", folder / "ca.key")
        self.file = self.pair.certificate
        extension = "basicConstraints=critical,CA:TRUE"
        self._openssl("-keyout", self.pair.key, "-out", self.file, "-subj", "/CN=authority", "-addext", extension)

    def issue(self, name: str, names: str = "DNS:localhost,IP:127.0.0.1") -> Pair:
        """A certificate for these names."""
        pair = Pair(self.folder / f"{name}.pem", self.folder / f"{name}.key")
        by = ("-CA", self.pair.certificate, "-CAkey", self.pair.key)
        extensions = ("-addext", f"subjectAltName={names}", "-addext", "basicConstraints=critical,CA:FALSE")
        self._openssl("-keyout", pair.key, "-out", pair.certificate, "-subj", f"/CN={name}", *by, *extensions)
        return pair

    @staticmethod
    def _openssl(*arguments: str | Path) -> None:
        key = ("-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes")
        subprocess.run(["openssl", "req", "-x509", "-days", "2", *key, *arguments], check=True, capture_output=True)
