"""Cost of TLS for the broker: CPU and time of reads and appends, and memory of idle connections.

    python3 tools/tls_speed.py RAWLINE [MIB] [ROUNDS]

Starts brokers with and without TLS on /dev/shm, in turns; clients are `rawline consume` and `rawline produce`.
"""

import os
import socket
import ssl
import subprocess
import sys
import tempfile
import time
from pathlib import Path

CONNECTIONS = 500
RECORD_BYTES = 1024


def make_certificate(folder: Path) -> list[str]:
    """A certificate and its key for localhost: flags of the broker."""
    certificate, key = folder / "cert.pem", folder / "key.pem"
    kind = "req -x509 -newkey ec -pkeyopt ec_paramgen_curve:prime256v1 -nodes -days 2 -subj /CN=localhost"
    extensions = "-addext subjectAltName=DNS:localhost,IP:127.0.0.1 -addext basicConstraints=critical,CA:FALSE"
    command = ["openssl", *kind.split(), *extensions.split(), "-keyout", key, "-out", certificate]
    subprocess.run(command, check=True, capture_output=True)
    return ["--tls-cert", str(certificate), "--tls-key", str(key)]


class Broker:
    """A broker, until the block ends."""

    def __init__(self, program: str, storage: Path | str, flags: list[str]) -> None:
        command = [
            program,
            "serve",
            "--listen",
            "127.0.0.1:0",
            "--storage",
            str(storage),
            "--connections-max",
            "2000",
        ]
        self.process = subprocess.Popen([*command, *flags], stderr=subprocess.PIPE, text=True)
        assert self.process.stderr is not None
        self.url = next(line.split()[-1] for line in self.process.stderr if "listening on http" in line)

    def __enter__(self) -> "Broker":
        return self

    def __exit__(self, *_: object) -> None:
        self.process.terminate()
        self.process.communicate()

    def cpu(self) -> float:
        """Of its threads, in seconds: finer than the clock ticks of the process' own figure."""
        threads = Path(f"/proc/{self.process.pid}/task").iterdir()
        return sum(int((thread / "schedstat").read_text().split()[0]) for thread in threads) / 1e9

    def resident(self) -> int:
        status = Path(f"/proc/{self.process.pid}/smaps_rollup").read_text()
        return next(int(line.split()[1]) << 10 for line in status.splitlines() if line.startswith("Anonymous:"))


def timed(broker: Broker, command: list[str], source: Path | None, size: int) -> str:
    """Runs a command; its rate, and the broker's CPU."""
    cpu, began = broker.cpu(), time.monotonic()
    with open(source or os.devnull, "rb") as stdin:
        subprocess.run(command, check=True, stdin=stdin, stdout=subprocess.DEVNULL)
    took, cpu = time.monotonic() - began, broker.cpu() - cpu
    return f"{size / took / 1e6:7.0f} MB/s {cpu / (size / 1e9):6.3f} CPU s/GB"


def idle_bytes(broker: Broker, context: ssl.SSLContext | None) -> float:
    """Memory of an idle connection that has had one response."""
    host, port = broker.url.split("://")[1].split(":")
    opened = []
    before = 0
    for number in range(2 * CONNECTIONS):
        if number == CONNECTIONS:
            before = broker.resident()
        connection = socket.create_connection((host, int(port)))
        if context is not None:
            connection = context.wrap_socket(connection, server_hostname="localhost")
        connection.sendall(b"GET /health HTTP/1.1\r\nhost: localhost\r\n\r\n")
        connection.recv(4096)
        opened.append(connection)
    return (broker.resident() - before) / CONNECTIONS


def main() -> None:
    program = sys.argv[1]
    mebibytes, rounds = (int(number) for number in (sys.argv[2:4] + ["1024", "3"][len(sys.argv) - 2 :]))
    with tempfile.TemporaryDirectory(dir="/dev/shm") as name:
        folder = Path(name)
        flags = make_certificate(folder)
        context = ssl.create_default_context(cafile=flags[1])
        os.environ["RAWLINE_CA"] = flags[1]
        source = folder / "records"
        size = mebibytes << 20
        record = (os.urandom(RECORD_BYTES // 2 - 2).hex() + "xyz").encode()[: RECORD_BYTES - 1] + b"\n"
        with source.open("wb") as file:
            for _ in range(mebibytes):
                file.write(record * (1024 * 1024 // RECORD_BYTES))
        for turn in range(rounds):
            for kind, options, trusted in (
                ("plain", [], None),
                ("tls", flags, context),
            ):
                with Broker(
                    program,
                    folder / f"{kind}-{turn}",
                    ["--durability", "page-cache", *options],
                ) as broker:
                    at = ["--broker", broker.url]
                    print(f"{kind:5} append {timed(broker, [program, 'produce', 't', *at], source, size)}")
                    read = [program, "consume", "t", "--format", "length-prefixed", *at]
                    timed(broker, read, None, size)
                    print(f"{kind:5} read   {timed(broker, read, None, size)}")
                    print(
                        f"{kind:5} idle connection {idle_bytes(broker, trusted) / 1024:.1f} KiB",
                        flush=True,
                    )
                subprocess.run(["rm", "-r", folder / f"{kind}-{turn}"], check=True)


if __name__ == "__main__":
    main()
