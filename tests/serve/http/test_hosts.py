"""Which names are this server's own. The whole way, over HTTP, is in tests/serve/mcp/test_server.py."""

import pytest

from serve.http.hosts import Hosts

HOSTS = Hosts(("mcp.example.org",))


@pytest.mark.requirement("mcp:host")
@pytest.mark.parametrize(
    ("host", "ours"),
    [
        ("localhost", True),
        ("LOCALHOST:80", True),
        ("[::1]:1", True),
        ("mcp.example.org", True),
        ("mcp.example.org.", False),
        ("localhost:", False),
        ("localhost:123456", False),
        ("user@localhost", False),
        ("localhost\n", False),
        (" localhost", False),
        ("localhost#", False),
    ],
)
def test_a_name_is_compared_as_a_whole(host: str, ours: bool) -> None:
    assert HOSTS.has(host) is ours
    assert HOSTS.has_origin(f"https://{host}") is ours


@pytest.mark.requirement("mcp:origin")
@pytest.mark.parametrize("origin", ["", "null", "localhost", "http://", "http://localhost/", "http://http://localhost"])
def test_an_origin_is_a_scheme_and_a_host(origin: str) -> None:
    assert not HOSTS.has_origin(origin)
