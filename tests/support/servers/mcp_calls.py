"""Sends requests to POST /mcp of a running server, byte for byte, and validates the results against the tools'
schemas."""

import http.client
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any

import orjson
from jsonschema import Draft202012Validator  # type: ignore[import-untyped]

from serve.mcp import tools as declared
from tests.support.servers.api_server import Answer, Api, some_address

TOOLS = [
    "market_snapshot", "coin_overview", "data_coverage", "explain_number", "funding_history", "oi_history",
    "liquidations_history", "metric_history", "market_indices", "list_metrics", "options_summary", "spike_feed",
    "spike_outcomes", "xray_risk_ranking", "xray_risk_history",
]  # fmt: skip
# The smallest valid arguments of each tool.
ARGUMENTS: dict[str, dict[str, Any]] = {
    "market_snapshot": {"base": "BTC"},
    "coin_overview": {"base": "BTC"},
    "data_coverage": {},
    "explain_number": {"metric": "oi", "base": "BTC", "t": "2026-06-15T11:30:00Z"},
    "funding_history": {"base": "BTC"},
    "oi_history": {"market": "binance:perp:BTCUSDT"},
    "liquidations_history": {"base": "BTC"},
    "metric_history": {"metric": "basis", "base": "BTC"},
    "market_indices": {},
    "list_metrics": {},
    "options_summary": {"coin": "BTC"},
    "spike_feed": {},
    "spike_outcomes": {"ids": [1]},
    "xray_risk_ranking": {},
    "xray_risk_history": {"market": "binance:perp:BTCUSDT"},
}
MODERN = "2026-07-28"
HELLO = {"protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": {"name": "tests", "version": "1"}}
PING = b'{"jsonrpc":"2.0","id":7,"method":"ping"}'
META = {"io.modelcontextprotocol/protocolVersion": MODERN, "io.modelcontextprotocol/clientCapabilities": {}}
HEADERS = {"Content-Type": "application/json", "Accept": "application/json, text/event-stream"}


@dataclass
class Mcp:
    """The endpoint of a running server. By default each request comes from a different client address."""

    api: Api
    schemas: dict[str, Draft202012Validator] = field(default_factory=dict)
    whole: dict[str, Draft202012Validator] = field(default_factory=dict)

    def send(self, body: bytes, method: str = "POST", path: str = "/mcp", **headers: Any) -> Answer:
        """Any bytes. Header names with underscores for dashes; None leaves a usual one out."""
        named = {name.replace("_", "-"): text for name, text in headers.items()}
        sent = {**HEADERS, "X-Forwarded-For": some_address(), **named}
        connection = http.client.HTTPConnection("127.0.0.1", self.api.port, timeout=30)
        try:
            connection.request(method, path, body, {name: text for name, text in sent.items() if text is not None})
            response = connection.getresponse()
            got = {name.lower(): value for name, value in response.getheaders()}
            return Answer(response.status, got, response.read())
        finally:
            connection.close()

    def ask(self, method: str, params: Any = None, **headers: Any) -> Answer:
        """A request with the id 7."""
        body = {"jsonrpc": "2.0", "id": 7, "method": method, **({} if params is None else {"params": params})}
        return self.send(orjson.dumps(body), **headers)

    def result(self, method: str, params: Any = None, **headers: Any) -> Any:
        """The result of a request that must succeed."""
        answer = self.ask(method, params, **headers)
        assert (answer.status, set(answer.json)) == (200, {"jsonrpc", "id", "result"}), answer
        assert (answer.json["jsonrpc"], answer.json["id"]) == ("2.0", 7)
        return answer.json["result"]

    def tools(self) -> dict[str, Any]:
        """The definitions by name."""
        return {tool["name"]: tool for tool in self.result("tools/list")["tools"]}

    def call(self, name: str, arguments: Any = None, **headers: Any) -> Any:
        """The envelope of a tool's answer, which satisfies the tool's schema and is the same as text."""
        if not self.schemas:
            self.schemas |= {tool: Draft202012Validator(said["outputSchema"]) for tool, said in self.tools().items()}
            # What is published is an outline of what holds.
            self.whole |= {tool.name: Draft202012Validator(tool.schema) for tool in declared.TOOLS}
        result = self.result("tools/call", {"name": name, "arguments": arguments or {}}, **headers)
        assert set(result) == {"content", "structuredContent", "isError"}
        [block] = result["content"]
        envelope = result["structuredContent"]
        assert (block["type"], orjson.loads(block["text"])) == ("text", envelope)
        self.schemas[name].validate(envelope)
        self.whole[name].validate(envelope)
        assert result["isError"] == (envelope["status"] == "unavailable")
        return envelope

    def wrong(self, name: str, arguments: Any, **headers: Any) -> Any:
        """The error of a call with invalid arguments: its data agrees with its message."""
        answer = self.ask("tools/call", {"name": name, "arguments": arguments}, **headers)
        assert (answer.status, answer.json["id"]) == (200, 7), answer
        error = answer.json["error"]
        assert (error["code"], set(error["data"])) == (-32602, {"argument", "value", "allowed", "nearest"}), error
        return error


def warned(envelope: Any) -> list[str]:
    """The codes of the warnings."""
    return [warning["code"] for warning in envelope["warnings"]]


def refused(answer: Answer, status: int, code: int, number: Any = None) -> Any:
    """The error of a response, which must be JSON-RPC with this status, code and id."""
    assert (answer.status, set(answer.json)) == (status, {"jsonrpc", "id", "error"}), answer
    assert (answer.json["id"], answer.json["error"]["code"]) == (number, code), answer
    assert answer.headers["cache-control"] == "no-store"
    return answer.json["error"]


def iso(ms: int) -> str:
    return datetime.fromtimestamp(ms / 1000, UTC).strftime("%Y-%m-%dT%H:%M:%SZ")


def ms(text: str) -> int:
    return int(datetime.fromisoformat(text).timestamp() * 1000)


def near(value: Any, exact: Any, digits: int = 6) -> bool:
    """Whether a number is another one with so many significant digits; null is null."""
    if exact is None or value is None:
        return value is exact
    return bool(value == float(f"{exact:.{digits}g}"))
