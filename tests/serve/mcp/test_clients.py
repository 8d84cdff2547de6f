"""/mcp by the official Python client in each of its modes, and by whatever hypothesis thinks of."""

import contextlib
import json
from collections.abc import AsyncIterator, Iterator
from pathlib import Path
from typing import Any

import httpx2
import orjson
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from mcp import Client
from mcp.client.streamable_http import streamable_http_client
from mcp.shared.exceptions import MCPError

from tests.support.replica.replica import publish
from tests.support.servers.api_server import Api, free_port, running, some_address
from tests.support.servers.mcp_calls import ARGUMENTS, MODERN, TOOLS, Mcp


@pytest.fixture(scope="module")
def serving(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("clients") / "serving"
    publish(folder, 1842, max_days=3)
    return folder


@pytest.fixture(scope="module")
def mcp(serving: Path) -> Iterator[Mcp]:
    with running(serving, free_port()) as api:
        yield Mcp(api)


@pytest.fixture(scope="module")
def modern(serving: Path) -> Iterator[Mcp]:
    with running(serving, free_port(), revision=MODERN) as api:
        yield Mcp(api)


@contextlib.asynccontextmanager
async def client(api: Api, mode: Any) -> AsyncIterator[Client]:
    """The official client, connected as its users connect it."""
    async with httpx2.AsyncClient(headers={"X-Forwarded-For": some_address()}) as http:
        transport = streamable_http_client(f"http://127.0.0.1:{api.port}/mcp", http_client=http)
        async with Client(transport, mode=mode) as connected:
            yield connected


@pytest.mark.requirement("mcp:clients")
@pytest.mark.parametrize(
    ("server", "mode", "spoken"),
    [("mcp", "legacy", "2025-11-25"), ("mcp", "auto", "2025-11-25"), ("modern", "legacy", "2025-11-25"),
     ("modern", "auto", MODERN), ("modern", MODERN, MODERN)],
)  # fmt: skip
async def test_the_official_client(server: str, mode: str, spoken: str, request: pytest.FixtureRequest) -> None:
    endpoint: Mcp = request.getfixturevalue(server)
    async with client(endpoint.api, mode) as connected:
        assert connected.protocol_version == spoken
        if mode != MODERN:
            assert "market_snapshot" in (connected.instructions or "")
        if mode == "legacy":
            await connected.send_ping()
        listed = await connected.list_tools()
        assert [tool.name for tool in listed.tools] == TOOLS
        for name, arguments in ARGUMENTS.items():
            # The client holds the result against the tool's schema.
            result = await connected.call_tool(name, arguments)
            assert result.structured_content is not None
            assert not result.is_error
            assert result.structured_content["status"] in ("ok", "partial")
            [block] = result.content
            assert block.type == "text"
            assert orjson.loads(block.text) == result.structured_content
        with pytest.raises(MCPError) as raised:
            await connected.call_tool("market_snapshot", {"base": "BTX"})
        assert raised.value.error.code == -32602
        assert raised.value.error.data["nearest"] == "BTC"


# Leaves that have broken servers before: numbers that no float or 64-bit integer holds, and text beyond ASCII.
LEAVES = st.one_of(
    st.none(),
    st.booleans(),
    st.integers(),
    st.integers(min_value=2**63, max_value=2**80),
    st.floats(allow_nan=False, allow_infinity=False),
    st.text(max_size=40),
    st.sampled_from(["BTC", "binance:perp:BTCUSDT", "1d", "2026-06-14T00:00:00Z", "buy", "", "null", "'; --", "\x00"]),
)
JSON = st.recursive(
    LEAVES,
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=10), inner, max_size=4),
    max_leaves=12,
)
NAMES = [
    "base", "market", "range", "start", "end", "step", "venue", "type", "side", "min_sig", "limit", "cursor", "ids",
    "band_pct", "min_oi_usd", "_meta",
]  # fmt: skip
CALL = st.fixed_dictionaries(
    {"name": st.sampled_from(TOOLS), "arguments": st.dictionaries(st.sampled_from(NAMES), JSON, max_size=5)}
)
PARAMS = CALL | JSON | st.dictionaries(st.sampled_from(["name", "arguments", "cursor", "_meta", "task"]), JSON)
METHODS = st.sampled_from(["initialize", "ping", "tools/list", "tools/call", "server/discover", "tools/x"]) | JSON
MESSAGE = st.fixed_dictionaries(
    {"jsonrpc": st.just("2.0") | JSON, "method": METHODS}, optional={"id": st.integers(0, 9) | JSON, "params": PARAMS}
)
CALLS = st.fixed_dictionaries(
    {"jsonrpc": st.just("2.0"), "id": st.integers(0, 9), "method": st.just("tools/call"), "params": CALL}
)


def dumped(content: Any) -> bytes:
    """JSON as any client might write it: integers beyond 64 bits too."""
    return json.dumps(content).encode()


def holds(answer: Any) -> None:
    """No 5xx; an error or a result, as JSON-RPC; nothing of the inside."""
    assert answer.status < 500, answer
    if answer.status == 202:
        assert answer.body == b""
        return
    content = answer.json
    assert set(content) in ({"jsonrpc", "id", "result"}, {"jsonrpc", "id", "error"}), content
    assert len(answer.body) < 1024 * 1024
    assert b"Traceback" not in answer.body


@pytest.mark.requirement("mcp:fuzz")
@settings(max_examples=400, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(message=CALLS | MESSAGE | JSON)
def test_no_message_breaks_it(mcp: Mcp, message: Any) -> None:
    holds(mcp.send(dumped(message)))


@pytest.mark.requirement("mcp:fuzz")
@settings(max_examples=100, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    message=CALLS | MESSAGE,
    version=st.sampled_from([None, MODERN, "2025-11-25", "x"]),
    method=st.sampled_from([None, "tools/call", "tools/list"]),
    name=st.sampled_from([None, *TOOLS, "=?base64?"]),
    meta=st.booleans(),
)
def test_no_message_of_the_next_revision_breaks_it(
    modern: Mcp, message: Any, version: str | None, method: str | None, name: str | None, meta: bool
) -> None:
    if meta and isinstance(message.get("params"), dict):
        about: dict[str, Any] = {
            "io.modelcontextprotocol/protocolVersion": version,
            "io.modelcontextprotocol/clientCapabilities": {},
        }
        message = {**message, "params": {**message["params"], "_meta": about}}
    holds(modern.send(dumped(message), MCP_Protocol_Version=version, Mcp_Method=method, Mcp_Name=name))


@pytest.mark.requirement("mcp:fuzz")
@pytest.mark.parametrize("depth", [100, 900, 5000])
def test_deep_nesting_does_not_break_it(mcp: Mcp, depth: int) -> None:
    for left, right in ((b"[", b"]"), (b'{"a":', b"}")):
        deep = left * depth + b"1" + right * depth
        for start, end in (
            (
                b'{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"spike_feed","arguments":{"base":',
                b"}}}",
            ),
            (b'{"jsonrpc":"2.0","id":1,"method":"ping","params":{"_meta":{"x":', b"}}}"),
            (b'{"jsonrpc":"2.0","id":', b',"method":"ping"}'),
        ):
            body = start + deep + end
            if len(body) <= 32 * 1024:
                holds(mcp.send(body))


@pytest.mark.requirement("mcp:fuzz")
@pytest.mark.parametrize(
    "number", [b"1e400", b"-1e400", b"1" * 400, b"1e-400", b"-0", b"0." + b"0" * 300 + b"1", b"9223372036854775808"]
)
def test_huge_numbers_do_not_break_it(mcp: Mcp, number: bytes) -> None:
    for name in (b"limit", b"min_sig", b"base", b"start", b"cursor"):
        holds(
            mcp.send(
                b'{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"spike_feed","arguments":{"%b":%b}}}'
                % (name, number)
            )
        )
    for tool, name in (
        (b"spike_outcomes", b"ids"),
        (b"xray_risk_ranking", b"band_pct"),
        (b"market_snapshot", b"limit"),
    ):
        value = b"[" + number + b"]" if name == b"ids" else number
        body = (
            b'{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"%b","arguments":{"base":"BTC","%b":%b}}}'
        )
        holds(mcp.send(body % (tool, name, value)))
    holds(mcp.send(b'{"jsonrpc":"2.0","id":%b,"method":"ping"}' % number))
