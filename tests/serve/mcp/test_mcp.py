"""POST /mcp as a protocol: each row of PROTOCOLS.md 1.3, budgets, keys, origins, and the revision 2026-07-28."""

import base64
import socket
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import orjson
import pytest
from jsonschema import Draft202012Validator  # type: ignore[import-untyped]

from serve.http.keys import create_key
from tests.support.replica.replica import publish
from tests.support.servers.api_server import Answer, free_port, in_one_minute, running, some_address, until
from tests.support.servers.mcp_calls import HEADERS, MODERN, TOOLS, Mcp

HELLO = {"protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": {"name": "tests", "version": "1"}}
PING = b'{"jsonrpc":"2.0","id":7,"method":"ping"}'
META = {"io.modelcontextprotocol/protocolVersion": MODERN, "io.modelcontextprotocol/clientCapabilities": {}}


@pytest.fixture(scope="module")
def serving(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("mcp") / "serving"
    publish(folder, 1842, max_days=20)
    return folder


@pytest.fixture(scope="module")
def mcp(serving: Path) -> Iterator[Mcp]:
    with running(serving, free_port()) as api:
        yield Mcp(api)


@pytest.fixture(scope="module")
def modern(serving: Path) -> Iterator[Mcp]:
    with running(serving, free_port(), revision=MODERN) as api:
        yield Mcp(api)


def refused(answer: Answer, status: int, code: int, number: Any = None) -> Any:
    """The error of a response, which must be JSON-RPC with this status, code and id."""
    assert (answer.status, set(answer.json)) == (status, {"jsonrpc", "id", "error"}), answer
    assert (answer.json["id"], answer.json["error"]["code"]) == (number, code), answer
    assert answer.headers["cache-control"] == "no-store"
    return answer.json["error"]


@pytest.mark.requirement("mcp:get")
@pytest.mark.parametrize("method", ["GET", "DELETE", "PUT", "PATCH", "HEAD", "BREW"])
def test_another_http_method_is_405(mcp: Mcp, method: str) -> None:
    for path in ("/mcp", "/mcp/"):
        answer = mcp.send(b"", method, path, Content_Type=None)
        assert (answer.status, answer.headers["allow"]) == (405, "POST")
        if method != "HEAD":
            assert method in refused(answer, 405, -32600)["message"]


@pytest.mark.requirement("mcp:batch", "mcp:session")
def test_batches_and_sessions_are_405(mcp: Mcp) -> None:
    for body in (b"[" + PING + b"]", b"[]", b"[1]"):
        assert "batch" in refused(mcp.send(body), 405, -32600)["message"]
    answer = mcp.send(PING, Mcp_Session_Id="abc")
    assert "session" in refused(answer, 405, -32600)["message"]
    assert answer.headers["allow"] == "POST"


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
     ("[", 403), ("", 403), ("169.254.169.254", 403)],
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
        assert got["capabilities"] == {"tools": {"listChanged": False}}
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


@pytest.mark.requirement("mcp:json")
@pytest.mark.parametrize(
    "body",
    [b"", b"{", b"nonsense", b"\xff\xfe", b'{"jsonrpc":"2.0","id":NaN,"method":"ping"}', b'{"id":"\xed\xa0\x80"}',
     b'{"jsonrpc":"2.0","id":"\\ud800","method":"ping"}', b"[" * 5000 + b"]" * 5000],
)  # fmt: skip
def test_invalid_json_is_a_parse_error(mcp: Mcp, body: bytes) -> None:
    refused(mcp.send(body), 400, -32700)


@pytest.mark.requirement("mcp:json")
@pytest.mark.parametrize(
    "body",
    ["1", "null", '"ping"', "{}", '{"id":7,"method":"ping"}', '{"jsonrpc":"1.0","id":7,"method":"ping"}',
     '{"jsonrpc":2.0,"id":7,"method":"ping"}', '{"jsonrpc":"2.0","id":7}', '{"jsonrpc":"2.0","id":7,"method":5}',
     '{"jsonrpc":"2.0","id":7,"result":{}}', '{"jsonrpc":"2.0","id":null,"method":"ping"}',
     '{"jsonrpc":"2.0","id":1.5,"method":"ping"}', '{"jsonrpc":"2.0","id":true,"method":"ping"}',
     '{"jsonrpc":"2.0","id":[7],"method":"ping"}', '{"jsonrpc":"2.0","id":7,"method":"ping","params":[1]}',
     '{"jsonrpc":"2.0","id":123456789012345678901234567890,"method":"ping"}'],
)  # fmt: skip
def test_json_that_is_no_request_is_an_invalid_request(mcp: Mcp, body: str) -> None:
    refused(mcp.send(body.encode()), 400, -32600)


@pytest.mark.requirement("mcp:json")
@pytest.mark.parametrize("number", [0, -1, 2**53, "7", "", "ü\u0000"])
def test_an_id_comes_back_as_it_was(mcp: Mcp, number: int | str) -> None:
    answer = mcp.send(orjson.dumps({"jsonrpc": "2.0", "id": number, "method": "ping"}))
    assert (answer.json["id"], type(answer.json["id"])) == (number, type(number))


@pytest.mark.requirement("mcp:notification")
@pytest.mark.parametrize("method", ["notifications/initialized", "notifications/cancelled", "anything/else", "ping"])
def test_a_notification_is_202_without_a_body(mcp: Mcp, method: str) -> None:
    answer = mcp.send(orjson.dumps({"jsonrpc": "2.0", "method": method, "params": {"requestId": 1}}))
    assert (answer.status, answer.body) == (202, b"")


@pytest.mark.requirement("mcp:method")
def test_an_unknown_method_gets_the_list_of_methods(mcp: Mcp) -> None:
    for method in ("tools/lst", "resources/list", "prompts/list", "server/discover", "", "x" * 5000):
        error = refused(mcp.ask(method), 200, -32601, 7)
        assert "initialize, ping, tools/list, tools/call" in error["message"]
    assert "did you mean 'tools/list'?" in refused(mcp.ask("tools/lst"), 200, -32601, 7)["message"]


@pytest.mark.requirement("mcp:arguments")
def test_errors_for_an_unknown_tool_and_invalid_params_list_the_allowed_values(mcp: Mcp) -> None:
    error = mcp.wrong("market_snapshots", {"base": "BTC"})
    assert error["data"]["nearest"] == "market_snapshot"
    assert all(tool in error["message"] for tool in TOOLS)
    for params in (None, {}, {"name": 5}, {"name": None}, {"name": "spike_feed", "arguments": []}):
        assert refused(mcp.ask("tools/call", params), 200, -32602, 7)["data"]["argument"].startswith("params.")
    cursor = refused(mcp.ask("tools/list", {"cursor": "x"}), 200, -32602, 7)
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


@pytest.mark.requirement("mcp:tools-list")
def test_the_definitions_of_all_tools_stay_small(mcp: Mcp) -> None:
    assert len(mcp.ask("tools/list").body) < 40_000


@pytest.mark.requirement("mcp:key")
def test_a_key_comes_in_the_header_alone(mcp: Mcp) -> None:
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


@pytest.mark.requirement("mcp:modern")
def test_the_next_revision_is_off_unless_it_is_set(mcp: Mcp) -> None:
    refused(mcp.ask("server/discover", {"_meta": META}), 200, -32601, 7)
    refused(mcp.ask("server/discover", {"_meta": META}, MCP_Protocol_Version=MODERN), 400, -32600, 7)
    assert "resultType" not in mcp.result("tools/list")


@pytest.mark.requirement("mcp:modern")
def test_the_next_revision(modern: Mcp) -> None:
    def ask(method: str, params: dict[str, Any] | None = None, **headers: Any) -> Answer:
        named: dict[str, Any] = {"MCP_Protocol_Version": MODERN, "Mcp_Method": method, **headers}
        return modern.ask(method, {"_meta": META, **(params or {})}, **named)

    found = ask("server/discover").json["result"]
    assert found["supportedVersions"] == [MODERN, "2025-11-25", "2025-06-18"]
    assert found["_meta"]["io.modelcontextprotocol/serverInfo"]["name"] == "tidemark"
    listed = ask("tools/list").json["result"]
    assert (listed["resultType"], listed["cacheScope"], listed["ttlMs"] > 0) == ("complete", "public", True)
    call = {"name": "market_snapshot", "arguments": {"base": "BTC"}}
    # Whitespace around a header's value is no part of it; a name that no header can hold comes as base64.
    encoded = f"=?base64?{base64.b64encode(b'market_snapshot').decode()}?="
    for name in ("market_snapshot", " market_snapshot  ", encoded):
        answer = ask("tools/call", call, Mcp_Name=name)
        assert (answer.status, answer.json["result"]["resultType"]) == (200, "complete"), answer
    for other in (None, "spike_feed", "=?base64?%%?=", "=?base64?/w==?="):
        refused(ask("tools/call", call, Mcp_Name=other), 400, -32020, 7)
    refused(ask("tools/list", Mcp_Method="tools/call"), 400, -32020, 7)
    refused(ask("tools/list", Mcp_Method=None), 400, -32020, 7)
    refused(ask("tools/list", MCP_Protocol_Version="2025-11-25"), 400, -32020, 7)
    refused(modern.ask("tools/list", {}, MCP_Protocol_Version=MODERN, Mcp_Method="tools/list"), 400, -32602, 7)
    refused(ask("initialize", HELLO), 404, -32601, 7)
    refused(ask("ping"), 404, -32601, 7)
    refused(ask("tools/call", {"name": "nope"}, Mcp_Name="nope"), 400, -32602, 7)
    strange = {"_meta": {**META, "io.modelcontextprotocol/protocolVersion": "1900-01-01"}}
    error = refused(ask("tools/list", strange, MCP_Protocol_Version="1900-01-01"), 400, -32022, 7)
    assert error["data"] == {"supported": [MODERN], "requested": "1900-01-01"}
    # The older ones are served as before, and an unknown one gets the list of all.
    assert "resultType" not in modern.result("tools/list", MCP_Protocol_Version="2025-06-18")
    assert modern.result("initialize", {**HELLO, "protocolVersion": MODERN})["protocolVersion"] == "2025-11-25"
    error = refused(modern.ask("ping", MCP_Protocol_Version="1900-01-01"), 400, -32022, 7)
    assert error["data"]["supported"] == [MODERN, "2025-11-25", "2025-06-18"]
