"""MCP revision 2026-07-28: requests that describe themselves in `_meta` and in headers."""

import base64
from typing import Any

import pytest

from tests.support.servers.api_server import Answer
from tests.support.servers.mcp_calls import HELLO, META, MODERN, Mcp, refused


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
