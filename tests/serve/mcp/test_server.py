"""POST /mcp: HTTP rules, revisions, keys and budgets, outages, the official client, and messages drawn at random."""

import concurrent.futures
import contextlib
import itertools
import json
import socket
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import duckdb
import httpx2
import orjson
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from jsonschema import Draft202012Validator  # type: ignore[import-untyped]
from mcp import Client
from mcp.client.streamable_http import streamable_http_client
from mcp.shared.exceptions import MCPError

from serve.http.keys import create_key
from tests.support.replica.replica import publish, write_pointer
from tests.support.servers.api_server import Api, free_port, in_one_minute, running, some_address, until
from tests.support.servers.mcp_calls import ARGUMENTS, HEADERS, HELLO, MODERN, PING, TOOLS, Mcp, refused


@pytest.mark.requirement("mcp:get")
@pytest.mark.parametrize("method", ["GET", "DELETE", "PUT", "PATCH", "HEAD", "BREW"])
def test_another_http_method_is_405(mcp: Mcp, method: str) -> None:
    for path in ("/mcp", "/mcp/"):
        answer = mcp.send(b"", method, path, Content_Type=None)
        assert (answer.status, answer.headers["allow"]) == (405, "POST")
        if method != "HEAD":
            assert method in refused(answer, 405, -32600)["message"]


@pytest.mark.requirement("mcp:origin", "mcp:cors")
def test_pages_of_other_sites_are_refused(mcp: Mcp) -> None:
    for origin in ("http://evil.example.com", "https://localhost.evil.example", "null", "http://[", "file://", ""):
        answer = mcp.send(PING, Origin=origin)
        assert "TIDEMARK_PUBLIC_HOSTS" in refused(answer, 403, -32011)["message"]
        assert "access-control-allow-origin" not in answer.headers
    for origin in ("http://localhost:6274", "http://127.0.0.1:8080", "http://[::1]:80", "https://mcp.example.org"):
        answer = mcp.send(PING, Origin=origin)
        assert (answer.status, answer.headers["access-control-allow-origin"]) == (200, origin)
        assert (answer.headers["vary"], "Retry-After" in answer.headers["access-control-expose-headers"]) == (
            "Origin",
            True,
        )
        asked = mcp.send(b"", "OPTIONS", Origin=origin, Access_Control_Request_Method="POST", Content_Type=None)
        assert (asked.status, asked.body, asked.headers["access-control-allow-origin"]) == (204, b"", origin)
        assert {"X-API-Key", "MCP-Protocol-Version"} <= set(asked.headers["access-control-allow-headers"].split(", "))
    assert "access-control-allow-origin" not in mcp.send(PING).headers
    assert mcp.send(b"", "OPTIONS", Origin="http://evil.example.com").status == 403


@pytest.mark.requirement("mcp:host")
@pytest.mark.parametrize(
    ("host", "status"),
    [("localhost", 200), ("localhost:1", 200), ("127.0.0.1:99", 200), ("[::1]:8080", 200), ("mcp.example.org", 200),
     ("MCP.example.org:443", 200), ("evil.example.com", 403), ("localhost.evil.example", 403), ("x@evil.example", 403),
     ("localhost:x", 403), ("evil@localhost", 403), ("localhost/x", 403), ("localhost?x", 403), ("localhost:1:2", 403),
     ("::1", 403), ("[", 403), ("", 403), ("169.254.169.254", 403)],
)  # fmt: skip
def test_names_that_only_pretend_to_be_this_machine_are_refused(mcp: Mcp, host: str, status: int) -> None:
    assert mcp.send(PING, Host=host).status == status


@pytest.mark.requirement("mcp:version")
@pytest.mark.parametrize("version", ["1999-01-01", "2025-03-26", "2026-07-28", "latest", "2025-11-25x"])
def test_an_unsupported_revision_is_400(mcp: Mcp, version: str) -> None:
    error = refused(mcp.send(PING, MCP_Protocol_Version=version), 400, -32600, 7)
    assert error["data"] == {"supported": ["2025-11-25", "2025-06-18"], "requested": version}


@pytest.mark.requirement("mcp:version")
@pytest.mark.parametrize("version", [None, "2025-11-25", "2025-06-18", " 2025-06-18 "])
def test_supported_revisions_and_none_are_served(mcp: Mcp, version: str | None) -> None:
    assert mcp.result("ping", MCP_Protocol_Version=version) == {}


@pytest.mark.requirement("mcp:initialize")
@pytest.mark.parametrize(
    ("asked", "spoken"),
    [("2025-11-25", "2025-11-25"), ("2025-06-18", "2025-06-18"), ("2024-11-05", "2025-11-25"),
     ("2026-07-28", "2025-11-25"), ("nonsense", "2025-11-25"), ("", "2025-11-25")],
)  # fmt: skip
def test_initialize_makes_a_counter_offer(mcp: Mcp, asked: str, spoken: str) -> None:
    for header in (None, asked or None):
        got = mcp.result("initialize", {**HELLO, "protocolVersion": asked}, MCP_Protocol_Version=header)
        assert (got["protocolVersion"], got["serverInfo"]["name"]) == (spoken, "tidemark")
        assert got["capabilities"] == {
            "tools": {"listChanged": False},
            "resources": {"subscribe": False, "listChanged": False},
            "prompts": {"listChanged": False},
        }
        assert "market_snapshot" in got["instructions"]


@pytest.mark.requirement("mcp:initialize")
def test_initialize_with_missing_parameters_is_invalid_params(mcp: Mcp) -> None:
    for missing in HELLO:
        params = {name: value for name, value in HELLO.items() if name != missing}
        error = refused(mcp.ask("initialize", params), 200, -32602, 7)
        assert missing in error["message"]
        assert error["data"]["argument"] == f"params.{missing}"


@pytest.mark.requirement("mcp:accept")
@pytest.mark.parametrize(
    ("accept", "status"),
    [(None, 200), ("*/*", 200), ("application/*", 200), ("application/json", 200), ("text/event-stream", 406),
     ("text/html, application/JSON;q=0.5", 200), ("text/html", 406), ("", 406)],
)  # fmt: skip
def test_accept(mcp: Mcp, accept: str | None, status: int) -> None:
    answer = mcp.send(PING, Accept=accept)
    assert answer.status == status
    if status == 406:
        assert "send Accept: application/json, text/event-stream" in refused(answer, 406, -32600)["message"]


@pytest.mark.requirement("mcp:content-type")
@pytest.mark.parametrize(
    ("kind", "status"),
    [("application/json", 200), ("Application/JSON; charset=utf-8", 200), ("text/plain", 415), (None, 415),
     ("application/x-www-form-urlencoded", 415), ("application/json-rpc", 415)],
)  # fmt: skip
def test_content_type(mcp: Mcp, kind: str | None, status: int) -> None:
    answer = mcp.send(PING, Content_Type=kind)
    assert answer.status == status
    if status == 415:
        assert "application/json" in refused(answer, 415, -32600)["message"]


@pytest.mark.requirement("mcp:size")
def test_a_body_may_have_32_kib(mcp: Mcp) -> None:
    start = b'{"jsonrpc":"2.0","id":7,"method":"ping","params":{"_meta":{"x":"'
    exact = start + b"x" * (32 * 1024 - len(start) - 4) + b'"}}}'
    assert (len(exact), mcp.send(exact).status) == (32768, 200)
    for size in (1, 40_000, 10_000_000):
        with socket.create_connection(("127.0.0.1", mcp.api.port), timeout=30) as connection:
            length = 32_768 + size
            lines = ["POST /mcp HTTP/1.1", "Host: localhost", f"Content-Length: {length}"]
            lines += [f"{name}: {text}" for name, text in HEADERS.items()]
            # Only a body within what the server reads at all is sent: it may close the connection before the rest.
            body = b"x" * length if length < 60_000 else b""
            connection.sendall("\r\n".join(lines).encode() + b"\r\n\r\n" + body)
            got = connection.recv(4096)
        assert got.startswith(b"HTTP/1.1 413 "), got
        assert b'"code":-32600' in got
        assert b"at most 32768 bytes" in got


@pytest.mark.requirement("mcp:method")
def test_an_unknown_method_gets_the_list_of_methods(mcp: Mcp) -> None:
    for method in ("tools/lst", "resources/subscribe", "completion/complete", "server/discover", "", "x" * 5000):
        error = refused(mcp.ask(method), 200, -32601, 7)
        assert "initialize, ping, tools/list, tools/call, resources/list" in error["message"]
    assert "did you mean 'tools/list'?" in refused(mcp.ask("tools/lst"), 200, -32601, 7)["message"]


@pytest.mark.requirement("mcp:arguments")
def test_errors_for_an_unknown_tool_and_invalid_params_list_the_allowed_values(mcp: Mcp) -> None:
    error = mcp.wrong("market_snapshots", {"base": "BTC"})
    assert error["data"]["nearest"] == "market_snapshot"
    assert all(tool in error["message"] for tool in TOOLS)
    for params in (None, {}, {"name": 5}, {"name": None}, {"name": "spike_feed", "arguments": []}):
        assert refused(mcp.ask("tools/call", params), 200, -32602, 7)["data"]["argument"].startswith("params.")
    for method in ("tools/list", "resources/list", "resources/templates/list", "prompts/list"):
        cursor = refused(mcp.ask(method, {"cursor": "x"}), 200, -32602, 7)
        assert (cursor["data"]["argument"], cursor["data"]["value"]) == ("cursor", "x")


@pytest.mark.requirement("mcp:tools-list")
def test_the_tools(mcp: Mcp) -> None:
    listed = mcp.result("tools/list")["tools"]
    assert [tool["name"] for tool in listed] == TOOLS
    assert listed == mcp.result("tools/list", MCP_Protocol_Version="2025-06-18")["tools"]
    for tool in listed:
        assert tool["title"]
        assert len(tool["description"]) > 100
        hints = {name: value for name, value in tool["annotations"].items() if name != "title"}
        assert hints == {
            "readOnlyHint": True, "destructiveHint": False, "idempotentHint": True, "openWorldHint": False,
        }  # fmt: skip
        for schema in (tool["inputSchema"], tool["outputSchema"]):
            Draft202012Validator.check_schema(schema)
            assert schema["type"] == "object"
        assert tool["inputSchema"]["additionalProperties"] is False
        assert all(said["description"] and "type" in said for said in tool["inputSchema"]["properties"].values())
    described = {tool["name"]: tool for tool in listed}
    limit = described["market_snapshot"]["inputSchema"]["properties"]["limit"]
    assert (limit["minimum"], limit["maximum"], limit["default"]) == (1, 50, 20)
    # What a metric is comes from its definition.
    assert "The quoted (predicted) rate, not settlements" in described["funding_history"]["description"]
    assert described["funding_history"]["inputSchema"]["properties"]["type"]["enum"] == ["perp", "all"]


@pytest.mark.requirement("mcp:tools-list", "mcp:definitions")
def test_the_definitions_of_all_tools_stay_small(mcp: Mcp) -> None:
    """9,000 tokens, by four bytes a token."""
    assert len(mcp.ask("tools/list").body) < 36_000


@pytest.mark.requirement("mcp:key")
def test_a_key_is_read_from_the_header_only(mcp: Mcp) -> None:
    _, key = create_key(mcp.api.keys, "mcp")
    until(lambda: mcp.ask("ping", X_API_Key=key).status, lambda status: status == 200)
    for url in (f"/mcp?api_key={key}", "/mcp?api_key=x", f"/mcp?%61pi_key={key}"):
        answer = mcp.send(PING, path=url)
        assert "X-API-Key" in refused(answer, 400, -32600)["message"]
        assert key.encode() not in answer.body
    answer = mcp.ask("ping", X_API_Key="tm_wrong")
    refused(answer, 401, -32011, 7)
    assert answer.headers["www-authenticate"]
    # A key raises what may be asked.
    wrong = mcp.wrong("oi_history", {"base": "BTC", "range": "3y"})
    assert "730d (3650d with an API key)" in wrong["message"]
    assert mcp.call("oi_history", {"base": "BTC", "range": "3y"}, X_API_Key=key)["status"] in ("ok", "partial")


@pytest.mark.requirement("mcp:budget", "mcp:429")
def test_tool_calls_share_the_series_budget_and_all_else_has_its_own(mcp: Mcp) -> None:
    call = {"name": "market_snapshot", "arguments": {"base": "BTC"}}

    def scenario() -> list[Any]:
        me = some_address()
        others = [mcp.ask("ping", X_Forwarded_For=me).status for _ in range(59)]
        others.append(mcp.ask("tools/call", {"name": "nope"}, X_Forwarded_For=me).status)
        spent = mcp.ask("tools/list", X_Forwarded_For=me)
        rejected = mcp.ask("tools/call", {"name": "nope"}, X_Forwarded_For=me).status
        rest = mcp.api.get("/api/series/price?base=BTC&range=2h", X_Forwarded_For=me)
        calls = [mcp.ask("tools/call", call, X_Forwarded_For=me) for _ in range(30)]
        after = mcp.api.get("/api/series/price?base=BTC&range=2h", X_Forwarded_For=me)
        return [others, spent, rejected, rest, calls, after]

    others, spent, rejected, rest, calls, after = in_one_minute(scenario)
    assert set(others) == {200}
    assert "60" in refused(spent, 429, -32010, 7)["message"]
    assert 1 <= int(spent.headers["retry-after"]) <= 60
    assert (spent.headers["x-ratelimit-limit"], spent.headers["x-ratelimit-remaining"]) == ("60", "0")
    assert rejected == 429
    # Cached answers count: all calls are equal. The 30th is one too many, for the series had one.
    assert (rest.status, [answer.status for answer in calls], after.status) == (200, [200] * 29 + [429], 429)
    assert [int(answer.headers["x-ratelimit-remaining"]) for answer in calls[:29]] == list(range(28, -1, -1))
    assert "an API key raises it" in refused(calls[-1], 429, -32010, 7)["message"]


@pytest.mark.requirement("mcp:budget")
def test_a_key_has_120_calls_and_no_more_of_the_rest(mcp: Mcp) -> None:
    _, key = create_key(mcp.api.keys, "mcp budget")
    until(lambda: mcp.ask("ping", X_API_Key=key).status, lambda status: status == 200)
    call = mcp.ask("tools/call", {"name": "market_snapshot", "arguments": {"base": "BTC"}}, X_API_Key=key)
    assert call.headers["x-ratelimit-limit"] == "120"
    assert mcp.ask("ping", X_API_Key=key).headers["x-ratelimit-limit"] == "60"


# Spikes that are not read within the server's time limit.
SLOW = """
alter table spikes rename to stored_spikes;
create view spikes as
select * from stored_spikes where (select count(*) from range(100000000000) as r(n) where n % 7 = 3) > 0;
"""


@pytest.mark.requirement("mcp:unavailable", "mcp:envelope")
def test_without_data_every_tool_says_so_and_still_fits_its_schema(tmp_path: Path) -> None:
    with running(tmp_path / "serving", free_port()) as api:
        mcp = Mcp(api)
        assert list(mcp.tools()) == TOOLS == list(ARGUMENTS)
        for tool, arguments in ARGUMENTS.items():
            got = mcp.call(tool, arguments)
            assert (got["status"], got["data"], got["as_of"], got["freshness"]) == ("unavailable", None, None, None)
            assert "no replica" in got["reason"]
            assert got["retry_after_s"] > 0
        # Errors that need no data are reported all the same.
        assert mcp.wrong("market_snapshot", {})["data"]["argument"] == "base"
        publish(tmp_path / "serving", 1, max_days=2)
        until(lambda: mcp.call("market_snapshot", {"base": "BTC"}), lambda got: got["status"] == "ok")


@pytest.mark.requirement("mcp:unavailable")
def test_a_replica_that_is_lost_and_comes_back(serving: Path) -> None:
    with running(serving, free_port()) as api:
        mcp = Mcp(api)
        assert mcp.call("oi_history", {"base": "BTC"})["status"] in ("ok", "partial")
        pointer = (serving / "current.json").read_text()
        (serving / "current.json").unlink()
        until(lambda: mcp.call("oi_history", {"base": "BTC"}), lambda got: got["status"] == "unavailable")
        write_pointer(serving, pointer)
        until(lambda: mcp.call("oi_history", {"base": "BTC"}), lambda got: got["status"] != "unavailable")


@pytest.mark.requirement("mcp:concurrent", "mcp:429")
def test_a_fifth_call_of_a_client_at_once_is_refused_and_others_are_served(serving: Path) -> None:
    with duckdb.connect(str(serving / "replica_a.duckdb")) as con:
        con.execute(SLOW)
    with running(serving, free_port()) as api, concurrent.futures.ThreadPoolExecutor(4) as clients:
        mcp, who, hours_asked = Mcp(api), some_address(), itertools.count(1)
        cached = {"name": "market_snapshot", "arguments": {"base": "BTC"}}
        assert mcp.ask("tools/call", cached).status == 200

        def read_another() -> Any:
            """A call that nobody made before."""
            call = {"name": "oi_history", "arguments": {"base": "BTC", "range": f"{next(hours_asked)}h"}}
            return mcp.ask("tools/call", call, X_Forwarded_For=who)

        def read_spikes(hours: int) -> Any:
            """A call that lasts long; refused where the ones below were there first, then asked again."""
            slow = {"name": "spike_feed", "arguments": {"range": f"{hours}h"}}
            asked = until(lambda: mcp.ask("tools/call", slow, X_Forwarded_For=who), lambda answer: answer.status == 200)
            return asked.json["result"]

        slow = [clients.submit(read_spikes, hours) for hours in range(1, 5)]
        answer = until(read_another, lambda answer: answer.status == 429)
        # What is cached takes no place, and another client has places of its own.
        assert mcp.ask("tools/call", cached, X_Forwarded_For=who).json["result"]["isError"] is False
        assert mcp.ask("tools/call", {"name": "oi_history", "arguments": {"base": "ETH"}}).status == 200
        assert (answer.json["id"], answer.json["error"]["code"]) == (7, -32010)
        assert int(answer.headers["retry-after"]) >= 1
        assert "4 calls" in answer.json["error"]["message"]
        # It does not count, invalid arguments are reported, and other methods are served.
        assert "x-ratelimit-limit" not in answer.headers
        assert mcp.wrong("market_snapshot", {})["code"] == -32602
        assert mcp.result("ping") == {}
        assert all(future.result()["isError"] for future in slow)
        until(lambda: read_another().status, lambda status: status == 200)


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
PARAMS = CALL | JSON | st.dictionaries(st.sampled_from(["name", "arguments", "cursor", "_meta", "task", "uri"]), JSON)
METHODS = st.sampled_from(
    ["initialize", "ping", "tools/list", "tools/call", "resources/list", "resources/read", "prompts/get", "tools/x",
     "server/discover"]
) | JSON  # fmt: skip
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
