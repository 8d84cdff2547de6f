"""MCP revision 2026-07-28: each request describes itself in `_meta` and in headers.

There is no initialize; a client that wants to know the server's revisions beforehand calls server/discover.
"""

import base64
import binascii
import re
from collections.abc import Mapping
from typing import Any

from mcp_types import CLIENT_CAPABILITIES_META_KEY, PROTOCOL_VERSION_META_KEY, SERVER_INFO_META_KEY
from mcp_types.jsonrpc import (
    HEADER_MISMATCH,
    INVALID_PARAMS,
    INVALID_REQUEST,
    METHOD_NOT_FOUND,
    UNSUPPORTED_PROTOCOL_VERSION,
)
from mcp_types.version import LATEST_MODERN_VERSION

from serve.mcp.jsonrpc import Message, RpcError

REVISION = LATEST_MODERN_VERSION
STATUS = {INVALID_PARAMS: 400, INVALID_REQUEST: 400, METHOD_NOT_FOUND: 404}
FIRST_METHODS = ("server/discover",)
TTL_MS = 60_000
NAMED = {"tools/call": "name", "prompts/get": "name", "resources/read": "uri"}
BASE64 = re.compile(r"=\?base64\?(.*)\?=")


def is_modern(message: Message, version: str | None) -> bool:
    """Whether a message has this revision, in its header or in `_meta`."""
    return version == REVISION or PROTOCOL_VERSION_META_KEY in _meta(message)


def check(message: Message, headers: Mapping[str, str]) -> None:
    """Raises RpcError unless `_meta` and headers (names in lower case) match the message."""
    meta = _meta(message)
    missing = [key for key in (PROTOCOL_VERSION_META_KEY, CLIENT_CAPABILITIES_META_KEY) if key not in meta]
    if missing:
        raise RpcError(400, INVALID_PARAMS, f"params._meta: {' and '.join(missing)} are required")
    version = meta[PROTOCOL_VERSION_META_KEY]
    expected = {"mcp-protocol-version": version, "mcp-method": message.method}
    if message.method in NAMED:
        expected["mcp-name"] = message.params.get(NAMED[message.method])
    for name, value in expected.items():
        if _plain(headers.get(name)) != value:
            raise RpcError(400, HEADER_MISMATCH, f"header {name} must say what the body says: {value!r}")
    if version != REVISION:
        raise unsupported(version, (REVISION,))


def result_fields(server: dict[str, str]) -> dict[str, Any]:
    """Fields that this revision adds to results; all but tool results may be cached by anyone."""
    meta = {SERVER_INFO_META_KEY: server}
    return {"resultType": "complete", "ttlMs": TTL_MS, "cacheScope": "public", "_meta": meta}


def unsupported(version: Any, served: tuple[str, ...]) -> RpcError:
    """The error for a revision that is not served."""
    message = f"protocol revision {version!r} is not served; use one of {', '.join(served)}"
    data = {"supported": list(served), "requested": version}
    return RpcError(400, UNSUPPORTED_PROTOCOL_VERSION, message, data)


def _meta(message: Message) -> Mapping[str, Any]:
    found = message.params.get("_meta")
    return found if isinstance(found, dict) else {}


def _plain(value: str | None) -> str | None:
    """A header's value, decoded if it is base64 because it is not plain text."""
    match = BASE64.fullmatch(value or "")
    if not match:
        return value
    try:
        return base64.b64decode(match[1], validate=True).decode()
    except (binascii.Error, UnicodeDecodeError):
        return None
