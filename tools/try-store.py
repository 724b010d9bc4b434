"""Tries a running S3 server: what it does with the requests that Rawline sends, and whether Rawline runs on it.

    python3 tools/try-store.py http://127.0.0.1:9000 target/debug/rawline

AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY are the server's. Creates a bucket, and prints a row of the table in
docs/operating.md.
"""

import hashlib
import hmac
import http.client
import os
import random
import re
import subprocess
import sys
import tempfile
import time
import urllib.error
import urllib.parse
import urllib.request
from collections.abc import Iterable, Mapping
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from pathlib import Path

THREADS = 16
RACES = 20
KEYS = 25
LINES = 20_000


Query = Iterable[tuple[str, str]]
Response = tuple[int, Mapping[str, str], bytes]


class Server:
    """A server, and a new bucket on it."""

    def __init__(self, endpoint: str) -> None:
        self.endpoint = endpoint
        self.host = urllib.parse.urlparse(endpoint).netloc
        self.bucket = f"try-{random.randrange(10**9)}"
        self.key, self.secret = os.environ["AWS_ACCESS_KEY_ID"], os.environ["AWS_SECRET_ACCESS_KEY"]

    def request(self, method: str, key: str = "", query: Query = (), body: bytes = b"", **headers: str) -> Response:
        """Sends a signed request. Returns status, headers and body."""
        path = urllib.parse.quote(f"/{self.bucket}/{key}" if key else f"/{self.bucket}")
        query_text = "&".join(f"{name}={urllib.parse.quote(value, safe='')}" for name, value in sorted(query))
        now = time.strftime("%Y%m%dT%H%M%SZ", time.gmtime())
        payload = "UNSIGNED-PAYLOAD" if method == "PUT" else hashlib.sha256(body).hexdigest()
        headers = {name.replace("_", "-"): value for name, value in headers.items()}
        headers |= {"host": self.host, "x-amz-content-sha256": payload, "x-amz-date": now}
        headers["content-type"] = "application/octet-stream"
        names = ";".join(sorted(headers))
        signed = "".join(f"{name}:{headers[name]}\n" for name in sorted(headers))
        scope = f"{now[:8]}/us-east-1/s3/aws4_request"
        request = hashlib.sha256(f"{method}\n{path}\n{query_text}\n{signed}\n{names}\n{payload}".encode()).hexdigest()
        secret = b"AWS4" + self.secret.encode()
        for part in scope.split("/"):
            secret = hmac.digest(secret, part.encode(), "sha256")
        signature = hmac.digest(secret, f"AWS4-HMAC-SHA256\n{now}\n{scope}\n{request}".encode(), "sha256").hex()
        credential = f"{self.key}/{scope}, SignedHeaders={names}, Signature={signature}"
        headers["authorization"] = f"AWS4-HMAC-SHA256 Credential={credential}"
        url = f"{self.endpoint}{path}" + (f"?{query_text}" if query_text else "")
        sent = urllib.request.Request(
            url, data=body if method in ("PUT", "POST") else None, headers=headers, method=method
        )
        try:
            with urllib.request.urlopen(sent, timeout=30) as response:
                return response.status, response.headers, response.read()
        except urllib.error.HTTPError as error:
            return error.code, error.headers, error.read()
        except (OSError, http.client.HTTPException) as error:
            return 0, {}, str(error).encode()


def condition(server: Server) -> str:
    """Whether `If-None-Match: *` is honored, one request after the other."""
    statuses = [server.request("PUT", "lone", body=body, if_none_match="*")[0] for body in (b"first", b"second")]
    kept = server.request("GET", "lone")[2] == b"first"
    return (
        "yes"
        if statuses == [200, 412] and kept
        else f"**no** ({statuses[0]}, {statuses[1]}{'' if kept else ', overwritten'})"
    )


def races(server: Server) -> str:
    """Whether one of many writers of a key wins, if all write at the same time."""
    worst = 1

    def put(key: str, racer: int) -> int:
        return server.request("PUT", key, body=b"%d" % racer, if_none_match="*")[0]

    with ThreadPoolExecutor(THREADS) as pool:
        for key in (f"race-{race}" for race in range(RACES)):
            won = [racer for racer, status in enumerate(pool.map(partial(put, key), range(THREADS))) if status == 200]
            is_kept = server.request("GET", key)[2] == b"%d" % (won or [-1])[0]
            worst = max(worst, len(won)) if won and (is_kept or len(won) > 1) else THREADS + 1
    return {1: "1 wins", THREADS + 1: "**lost**"}.get(worst, f"**{worst} win**")


def ranges(server: Server) -> str:
    """Whether a range is returned, and one after the end is refused."""
    server.request("PUT", "range", body=b"0123456789")
    status, _, body = server.request("GET", "range", range="bytes=2-4")
    after = server.request("GET", "range", range="bytes=10-12")[0]
    return "yes" if (status, body, after) == (206, b"234", 416) else f"**no** ({status}, {after})"


def listing(server: Server) -> str:
    """Whether a listing of several pages is whole, in order, and can begin after a key."""
    keys = [f"list/{number:03}" for number in range(KEYS)]
    for key in [*random.sample(keys, KEYS), "list/folder/key"]:
        server.request("PUT", key, body=b"x")

    def pages(*more: tuple[str, str]) -> list[str]:
        found: list[str] = []
        query = [("list-type", "2"), ("prefix", "list/"), ("delimiter", "/"), ("max-keys", "7"), *more]
        token: list[tuple[str, str]] = []
        for _ in range(KEYS):
            text = server.request("GET", query=[*query, *token])[2].decode()
            found += re.findall(r"<Contents>.*?<Key>(.*?)</Key>", text, re.DOTALL)
            token = [
                ("continuation-token", found_token) for found_token in re.findall("<NextContinuationToken>(.*?)<", text)
            ]
            if not token:
                break
        return found

    found, after = pages(), pages(("start-after", keys[9]))
    faults = [] if sorted(found) == keys else [f"**{len(set(found) & set(keys))} of {KEYS} keys**"]
    faults += [] if found == sorted(found) else ["any order"]
    faults += [] if sorted(after) == keys[10:] else [f"no start-after ({len(after)} of {KEYS - 10})"]
    return ", ".join(faults) or "yes"


def checksum(server: Server) -> str:
    """Whether a body that doesn't match its checksum is refused."""
    status = server.request("PUT", "checksum", body=b"body", x_amz_checksum_crc64nvme="AAAAAAAAAAA=")[0]
    return "yes" if status == 400 else f"no ({status})"


def rawline(server: Server, program: str) -> str:
    """Whether a broker runs: it is killed, starts again without a cache, and has all lines, twice."""
    expected = ""
    for run in range(3):
        with tempfile.TemporaryDirectory() as cache, tempfile.NamedTemporaryFile("w+") as log:
            flags = ["--listen", "127.0.0.1:0", "--cache-dir", cache, "--batch-wait", "5ms"]
            variables = os.environ | {"AWS_ENDPOINT_URL": server.endpoint}
            command = [program, "serve", "--storage", f"s3://{server.bucket}/p", *flags]
            broker = subprocess.Popen(command, env=variables, stderr=log)
            try:
                while not (url := re.search(r"listening on (\S+)", said := Path(log.name).read_text())):
                    if broker.poll() is not None:
                        return f"**refused**: {said.strip().splitlines()[-1]}"
                    time.sleep(0.1)
                lines = "".join(f"run {run} line {number}\n" for number in range(LINES))
                produced = client(program, "produce", url[1], lines)
                expected += lines
                consumed = client(program, "consume", url[1], "")
                if produced.returncode or consumed.stdout != expected:
                    return f"**fails** in run {run}: {produced.stderr} {consumed.stderr} {Path(log.name).read_text()}"
            finally:
                broker.kill()
                broker.wait()
    return "runs"


def client(program: str, command: str, url: str, given: str) -> subprocess.CompletedProcess[str]:
    arguments = [program, command, "topic", "--broker", url]
    return subprocess.run(arguments, input=given, capture_output=True, text=True, timeout=120)


def main() -> None:
    server = Server(sys.argv[1])
    status, _, body = server.request("PUT")
    assert status in (200, 204), f"can't create a bucket: {status} {body.decode()}"
    has_date = "Date" in server.request("GET", "missing")[1]
    columns = [condition(server), races(server), ranges(server), listing(server), checksum(server)]
    columns += ["yes" if has_date else "**no**", rawline(server, sys.argv[2])]
    print(" | ".join(columns))


main()
