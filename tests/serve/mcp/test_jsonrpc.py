"""JSON-RPC 2.0 over HTTP: what is no message, ids, notifications, batches."""

import orjson
import pytest

from tests.support.servers.mcp_calls import PING, Mcp, refused


@pytest.mark.requirement("mcp:batch", "mcp:session")
def test_batches_and_sessions_are_405(mcp: Mcp) -> None:
    for body in (b"[" + PING + b"]", b"[]", b"[1]"):
        assert "batch" in refused(mcp.send(body), 405, -32600)["message"]
    answer = mcp.send(PING, Mcp_Session_Id="abc")
    assert "session" in refused(answer, 405, -32600)["message"]
    assert answer.headers["allow"] == "POST"


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
