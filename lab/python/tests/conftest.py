"""Generates the messages of the cases if they don't exist."""

import subprocess
import sys

import pytest

from lab.places import CASES, MESSAGES


@pytest.fixture(scope="session", autouse=True)
def messages_made():
    if not (MESSAGES / "pingpong.base.jsonl").exists():
        subprocess.run([sys.executable, str(CASES / "generate.py")], check=True)
