"""The READMEs' Python is run as it stands."""

import re
from pathlib import Path

import pytest
from conftest import Broker

README = (Path(__file__).parents[1] / "README.md").read_text()


def test_the_readmes_blocks_run(
    broker: Broker, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("RAWLINE_BROKER", broker.url)
    blocks = re.findall(r"```python\n(.*?)```", README, re.DOTALL)
    assert len(blocks) == 2
    for block in blocks:
        exec(compile(block, "README.md", "exec"), {})
    assert capsys.readouterr().out.startswith("0\nb'hello'\nb'hello 0'\n")


def test_the_first_steps_have_the_example_that_is_tested() -> None:
    package = Path(__file__).parents[1]
    example = (package / "examples/notebook.py").read_text()
    assert f"```python\n{example}```" in (package.parent / "docs/start.md").read_text()
