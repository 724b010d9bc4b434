"""The container image: started without anything else in it, as its user, it keeps a record."""

import json
import os
import shutil
import signal
from collections.abc import Iterator

import pytest
from conftest import EMPTY, Steps, append_and_read, broker, package, run

STORE = EMPTY | {"HOME": os.environ.get("HOME", "/root")}


@pytest.fixture
def container(step: Steps) -> Iterator[str]:
    """A container of the image, not started."""
    image = package("rawline-*-linux-x86_64.oci.tar")
    if not shutil.which("buildah", path=EMPTY["PATH"]):
        pytest.skip("buildah is missing: apt-get install buildah")
    with step("install"):
        name = run(["buildah", "from", "--pull-never", f"oci-archive:{image}"], STORE).split()[-1]
    yield name
    run(["buildah", "rm", name], STORE)


def test_image(container: str, step: Steps) -> None:
    config = json.loads(run(["buildah", "inspect", container], STORE))["OCIv1"]["config"]
    assert config["User"] == "65532:65532"
    assert config["Entrypoint"] == ["/usr/bin/rawline"]
    # The image's own command, with a free port. Isolation without control groups, which many machines lack.
    command = [argument if argument != "0.0.0.0:51313" else "127.0.0.1:0" for argument in config["Cmd"]]
    # Finds the broker among the machine's processes.
    mark = f"test-{os.getpid()}"
    inside = ["buildah", "run", "--isolation=chroot", container, "--", *config["Entrypoint"]]

    def served() -> tuple[int, str]:
        """Process and user of the broker."""
        processes = [line.split() for line in run(["ps", "-eo", "pid,uid,args"]).splitlines()]
        ((process, user),) = [line[:2] for line in processes if line[2] == "/usr/bin/rawline" and mark in line]
        return int(process), user

    # buildah passes a signal on as SIGKILL, and to its own process.
    def stop(_: object) -> None:
        os.kill(served()[0], signal.SIGTERM)

    with broker(step, [*inside, *command, "--zone", mark], STORE, stop) as url:
        try:
            append_and_read(step, inside, url, STORE)
            assert served()[1] == "65532"
        except BaseException:
            stop(None)
            raise
