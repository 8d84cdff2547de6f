"""prompts/list and prompts/get: each names tools that there are, with arguments that they take."""

import re
from typing import Any

import pytest

from tests.serve.mcp.test_server import client
from tests.support.servers.mcp_calls import MODERN, TOOLS, Mcp, refused

ARGUMENTS: dict[str, dict[str, str]] = {
    "explain_move": {"base": "BTC", "range": "6h"},
    "compare_funding": {"base": "ETH"},
    "market_overview": {},
    "check_liquidation_risk": {"base": "BTC"},
}


@pytest.mark.requirement("mcp:prompts")
def test_every_prompt_is_filled_with_its_arguments(mcp: Mcp) -> None:
    listed = mcp.result("prompts/list")["prompts"]
    assert [one["name"] for one in listed] == list(ARGUMENTS)
    for one in listed:
        given = ARGUMENTS[one["name"]]
        required = {argument["name"] for argument in one.get("arguments", []) if argument["required"]}
        assert required <= set(given) <= {argument["name"] for argument in one.get("arguments", [])}
        assert one["title"]
        assert all(argument["description"] for argument in one.get("arguments", []))
        got = mcp.result("prompts/get", {"name": one["name"], "arguments": given})
        [message] = got["messages"]
        text = message["content"]["text"]
        assert (message["role"], got["description"], "{" in text) == ("user", one["description"], False)
        assert all(value in text for value in given.values())
        # What looks like a tool is one.
        named = set(re.findall(r"\b[a-z]+(?:_[a-z]+)+\b", text))
        assert named <= set(TOOLS), named - set(TOOLS)
        assert len(named) > 1


@pytest.mark.requirement("mcp:prompts")
def test_arguments_without_a_value_have_their_default(mcp: Mcp) -> None:
    for given in ({"base": "SOL"}, {"base": "SOL", "range": ""}):
        got = mcp.result("prompts/get", {"name": "explain_move", "arguments": given})
        assert "What moved SOL in the last 1d?" in got["messages"][0]["content"]["text"]


@pytest.mark.requirement("mcp:prompts")
@pytest.mark.parametrize(
    ("params", "argument"),
    [
        ({"name": "explain_moves", "arguments": {"base": "BTC"}}, "name"),
        ({"name": "explain_move"}, "base"),
        ({"name": "explain_move", "arguments": {"base": "BTC", "length": "1d"}}, "length"),
        ({"name": "explain_move", "arguments": {"base": "BTC", "range": "soon"}}, "range"),
        ({"name": "explain_move", "arguments": {"base": "binance:perp:BTCUSDT"}}, "base"),
        ({"name": "explain_move", "arguments": {"base": "B T C"}}, "base"),
        ({"name": "market_overview", "arguments": {"base": "BTC"}}, "base"),
    ],
)
def test_wrong_arguments_are_named(mcp: Mcp, params: dict[str, Any], argument: str) -> None:
    error = refused(mcp.ask("prompts/get", params), 200, -32602, 7)
    assert error["data"]["argument"] == argument
    for malformed in ({}, {"name": 5}, {"name": "explain_move", "arguments": {"base": 5}}):
        refused(mcp.ask("prompts/get", malformed), 200, -32602, 7)


@pytest.mark.requirement("mcp:prompts", "mcp:clients")
@pytest.mark.parametrize(("server", "mode"), [("mcp", "legacy"), ("modern", MODERN)])
async def test_the_official_client_gets_them(server: str, mode: str, request: pytest.FixtureRequest) -> None:
    endpoint: Mcp = request.getfixturevalue(server)
    async with client(endpoint.api, mode) as connected:
        listed = await connected.list_prompts()
        assert [one.name for one in listed.prompts] == list(ARGUMENTS)
        got = await connected.get_prompt("explain_move", {"base": "ETH"})
        assert "coin_overview for ETH" in got.messages[0].content.text  # type: ignore[union-attr]
