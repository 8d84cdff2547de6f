"""JSON-RPC 2.0 over HTTP: one message per request, one response with the matching HTTP status."""

from collections.abc import Mapping
from typing import Any, NamedTuple

import orjson
from mcp_types.jsonrpc import INVALID_REQUEST, PARSE_ERROR
from sanic.response import HTTPResponse

from serve.contract.errors import NESTED_TOO_DEEPLY, as_json, quote
from serve.contract.serialize import JSON
from serve.http.responses import NO_STORE

REPEATED_CHARS = 200  # of a received value that an error repeats unchanged


class RpcError(Exception):
    """An error response: its HTTP status, JSON-RPC code, message, further data and headers."""

    def __init__(
        self,
        status: int,
        code: int,
        message: str,
        data: Mapping[str, Any] | None = None,
        headers: Mapping[str, str] | None = None,
    ) -> None:
        super().__init__(message)
        self.status = status
        self.code = code
        self.message = message
        self.data = data
        self.headers = dict(headers or {})


class Message(NamedTuple):
    """A request, or a notification where `id` is None."""

    id: int | str | None
    method: str
    params: dict[str, Any]


def read_message(body: bytes) -> Message:
    """The message in a body; raises RpcError unless it is exactly one valid message."""
    try:
        content = orjson.loads(body)
    except orjson.JSONDecodeError as error:
        raise RpcError(400, PARSE_ERROR, f"the body is not JSON: {error}") from None
    if isinstance(content, list):
        raise RpcError(
            405, INVALID_REQUEST, "batches are not served: send one request a POST", headers={"allow": "POST"}
        )
    if not isinstance(content, dict) or content.get("jsonrpc") != "2.0":
        raise RpcError(400, INVALID_REQUEST, 'the body must be one JSON-RPC object with "jsonrpc": "2.0"')
    method, params = content.get("method"), content.get("params")
    if not isinstance(method, str):
        raise RpcError(400, INVALID_REQUEST, "method: a string is required")
    if not isinstance(params, dict | None):
        raise RpcError(400, INVALID_REQUEST, "params: an object is required, or nothing")
    number = content.get("id")
    if "id" in content and (isinstance(number, bool) or not isinstance(number, int | str)):
        raise RpcError(400, INVALID_REQUEST, "id: a string or a whole number is required; leave it out to notify")
    return Message(number, method, params or {})


def response(number: int | str, result: bytes, headers: Mapping[str, str]) -> HTTPResponse:
    """A result that is already JSON."""
    body = b'{"jsonrpc":"2.0","id":%b,"result":%b}' % (orjson.dumps(number), result)
    return HTTPResponse(body, 200, {"cache-control": NO_STORE, **headers}, JSON)


def error_response(error: RpcError, number: int | str | None, headers: Mapping[str, str]) -> HTTPResponse:
    """An error; `number` is None if the request could not be parsed."""
    content: dict[str, Any] = {"code": error.code, "message": error.message.encode("utf-8", "replace").decode()}
    if error.data:
        content["data"] = {name: _short(value) for name, value in error.data.items()}
    body = orjson.dumps({"jsonrpc": "2.0", "id": number, "error": content})
    return HTTPResponse(body, error.status, {"cache-control": NO_STORE, **error.headers, **headers}, JSON)


def _short(value: Any) -> Any:
    text = as_json(value)
    return value if len(text) <= REPEATED_CHARS and text != NESTED_TOO_DEEPLY else quote(text)
