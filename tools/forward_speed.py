"""Cost of a forwarded append for the brokers: CPU of two brokers on one bucket, by turns through each of them.

    python3 tools/forward_speed.py RAWLINE [MIB] [ROUNDS] [tls]

Starts the S3 server of the tests on /dev/shm, and for each measurement two brokers on a new prefix. The client is
`rawline produce`, whose requests go to the owner of the journal or to the other broker, which forwards them. Both
brokers' CPU time counts, while the client runs, and that of nothing else. A first run of the client on each pair warms
up. With 32 MiB, the default, nothing is merged meanwhile: merges begin with 48 MiB.
"""

import json
import os
import shutil
import socket
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from statistics import median

from tls_speed import RECORD_BYTES, Broker, make_certificate

REPOSITORY = Path(__file__).resolve().parents[1]
KEYS = {"AWS_ACCESS_KEY_ID": "test", "AWS_SECRET_ACCESS_KEY": "testtesttest"}
SERVER_KEYS = {"ROOT_ACCESS_KEY": "test", "ROOT_SECRET_KEY": "testtesttest"}


def start_server(folder: Path) -> subprocess.Popen[bytes]:
    """The S3 server, with a bucket; its address goes to the brokers' environment."""
    (folder / "objects" / "bucket").mkdir(parents=True)
    with socket.create_server(("127.0.0.1", 0)) as free:
        address = f"127.0.0.1:{free.getsockname()[1]}"
    command = [REPOSITORY / ".tools/bin/versitygw", "--port", address, "--quiet", "posix", folder / "objects"]
    process = subprocess.Popen(command, env={**os.environ, **SERVER_KEYS}, stdout=subprocess.DEVNULL)
    os.environ.update(KEYS, AWS_ENDPOINT_URL=f"http://{address}")
    while True:
        try:
            socket.create_connection(address.split(":")).close()  # type: ignore[arg-type]
        except OSError:
            time.sleep(0.05)
        else:
            return process


def owner_of(program: str, url: str) -> str:
    """The address of the owner, once both brokers are live."""
    while True:
        asked = subprocess.run([program, "brokers", "--json", "--broker", url], check=True, capture_output=True)
        listed = json.loads(asked.stdout)
        live = [broker for broker in listed if broker["state"] == "live"]
        owners = [broker["url"] for broker in live if broker["is_owner"]]
        if len(live) == 2 and owners:
            return str(owners[0])
        time.sleep(0.1)


def broker(program: str, folder: Path, name: str, flags: list[str]) -> Broker:
    cache = ["--cache-dir", str(folder / f"cache-{name}"), "--cache-bytes", "1GiB"]
    return Broker(program, f"s3://bucket/{name[:-2]}", [*flags, *cache])


def append(program: str, to: Broker, source: Path) -> None:
    with source.open("rb") as stdin:
        command = [program, "produce", "t", "--broker", to.url]
        subprocess.run(command, check=True, stdin=stdin, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)


def main() -> None:
    program = sys.argv[1]
    mebibytes, rounds = (int(number) for number in (sys.argv[2:4] + ["32", "10"][len(sys.argv[2:4]) :]))
    with tempfile.TemporaryDirectory(dir="/dev/shm") as name:
        folder = Path(name)
        flags = ["--batch-wait", "10ms"]
        if "tls" in sys.argv:
            flags += make_certificate(folder)
            os.environ["RAWLINE_CA"] = flags[3]
        server = start_server(folder)
        source = folder / "records"
        record = os.urandom(RECORD_BYTES // 2).hex().encode()[: RECORD_BYTES - 1] + b"\n"
        source.write_bytes(record * (mebibytes << 20 >> 10))
        size = mebibytes << 20
        warm_up = folder / "warm-up"
        warm_up.write_bytes(record * (8 << 20 >> 10))

        costs: dict[str, list[float]] = {"direct": [], "forwarded": []}
        try:
            for turn in range(rounds):
                for kind in costs:
                    pair = [f"{turn}-{kind}-{number}" for number in range(2)]
                    started = [broker(program, folder, name, flags) for name in pair]
                    with started[0] as first, started[1] as second:
                        owner = owner_of(program, first.url)
                        assert owner == owner_of(program, second.url)
                        direct, other = (first, second) if first.url == owner else (second, first)
                        target = direct if kind == "direct" else other
                        append(program, target, warm_up)
                        before, began = [direct.cpu(), other.cpu()], time.monotonic()
                        append(program, target, source)
                        took = time.monotonic() - began
                        after = [direct.cpu(), other.cpu()]
                        assert owner == owner_of(program, first.url), "another broker became the owner"
                    shutil.rmtree(folder / "objects" / "bucket" / pair[0][:-2])
                    for name in pair:
                        shutil.rmtree(folder / f"cache-{name}")
                    spent = [end - start for start, end in zip(before, after, strict=True)]
                    of_owner, of_other = (seconds / (size / 1e9) for seconds in spent)
                    costs[kind].append(of_owner + of_other)
                    print(
                        f"{kind:9} {size / took / 1e6:5.0f} MB/s, CPU s/GB: "
                        f"owner {of_owner:.3f}, other {of_other:.3f}, both {of_owner + of_other:.3f}"
                    )
            direct_cost, forwarded_cost = median(costs["direct"]), median(costs["forwarded"])
            ratio = forwarded_cost / direct_cost
            print(f"medians: direct {direct_cost:.3f}, forwarded {forwarded_cost:.3f}, ratio {ratio:.2f}")
        finally:
            server.kill()
            server.wait()


if __name__ == "__main__":
    main()
