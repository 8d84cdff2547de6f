"""Servers of MCP: of both revisions, and one whose newest data is of its clock's now."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.support.replica.replica import AS_OF_MS, DAY, publish
from tests.support.servers.api_server import Api, free_port, running
from tests.support.servers.mcp_calls import MODERN, Mcp


@pytest.fixture(scope="session")
def mcp(api: Api) -> Mcp:
    """The endpoint of the server that all tests of the room ask."""
    return Mcp(api)


@pytest.fixture(scope="session")
def modern(api: Api) -> Iterator[Mcp]:
    """The same replica, served in the next revision too."""
    with running(api.serving, free_port(), revision=MODERN) as served:
        yield Mcp(served)


@pytest.fixture(scope="session")
def sql(api: Api) -> Iterator[Mcp]:
    """The same replica, and SQL may be sent."""
    with running(api.serving, free_port(), sql=True) as served:
        yield Mcp(served)


@pytest.fixture(scope="session")
def today(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Mcp]:
    """A server whose newest data is of now."""
    serving = tmp_path_factory.mktemp("today") / "serving"
    publish(serving, 7, AS_OF_MS + DAY, max_days=3)
    with running(serving, free_port(), now_ms=AS_OF_MS + DAY) as api:
        yield Mcp(api)


@pytest.fixture
def serving(tmp_path: Path) -> Path:
    """A replica of the test's own."""
    publish(tmp_path / "serving", 1842, max_days=2)
    return tmp_path / "serving"
