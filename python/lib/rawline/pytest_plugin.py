"""Fixtures of pytest: `rawline_broker` for a test, `rawline_session_broker` for all tests. See docs/testing.md."""

import sys
from collections.abc import Iterable, Iterator

import pytest

from rawline.testing import Broker


def pytest_configure(config: pytest.Config) -> None:
    config.addinivalue_line(
        "markers",
        'rawline(scope="test", storage="memory", flags=()): the broker of the fixture rawline_broker. The scope '
        '"session" is one broker for all such tests; the storage "directory" can be restarted; flags are those of '
        "`rawline serve`",
    )


@pytest.fixture(scope="session")
def rawline_session_broker() -> Iterator[Broker]:
    """A broker in memory for all tests of the session."""
    with Broker() as broker:
        yield broker


@pytest.fixture
def rawline_broker(request: pytest.FixtureRequest) -> Iterator[Broker]:
    """A broker for this test, in memory; `pytest.mark.rawline` changes that."""
    marker = request.node.get_closest_marker("rawline")
    settings = _settings(*marker.args, **marker.kwargs) if marker else ("memory", ())
    if settings is None:
        broker = request.getfixturevalue("rawline_session_broker")
        broker.check()
        yield broker
        _check_alive(broker)
        return
    storage, flags = settings
    with Broker(storage, flags) as broker:
        yield broker
        # Shown if the test fails.
        sys.stderr.write(broker.log)
        _check_alive(broker)


def _settings(
    scope: str = "test", storage: str = "memory", flags: Iterable[str] = ()
) -> tuple[str, Iterable[str]] | None:
    """Storage and flags that the marker asks for; `None` for the session's broker."""
    if scope == "test":
        return storage, flags
    if scope != "session":
        raise pytest.UsageError(f'pytest.mark.rawline: scope is {scope!r}; give "test" or "session"')
    if storage != "memory" or flags:
        raise pytest.UsageError("pytest.mark.rawline: the session's broker has no settings; omit them, or the scope")
    return None


def _check_alive(broker: Broker) -> None:
    """Fails the test if the broker has ended by itself; a test may stop it."""
    if not broker.is_stopped:
        broker.check()
