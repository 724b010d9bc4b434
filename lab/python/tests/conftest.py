"""The messages of the cases are made if nobody has made them yet."""

import subprocess
import sys

import pytest

from lab.places import CASES, MESSAGES


@pytest.fixture(scope="session", autouse=True)
def messages_made():
    if not (MESSAGES / "pingpong.base.jsonl").exists():
        subprocess.run([sys.executable, str(CASES / "generate.py")], check=True)
