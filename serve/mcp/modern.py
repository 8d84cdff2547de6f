"""What the MCP revision 2026-07-28 asks of a request: it says in `_meta` and in headers what it is, each time.

There is no initialize: whoever wants to know beforehand what a server speaks asks server/discover.
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
METHODS = ("server/discover", "tools/list", "tools/call")
TTL_MS = 60_000
NAMED = {"tools/call": "name"}
BASE64 = re.compile(r"=\?base64\?(.*)\?=")


def speaks(message: Message, version: str | None) -> bool:
    """Whether a message is of this revision: its header or its `_meta` says so."""
    return version == REVISION or PROTOCOL_VERSION_META_KEY in _meta(message)


def check(message: Message, headers: Mapping[str, str]) -> None:
    """Raises RpcError unless `_meta` and headers (names in lower case) say the same as the message."""
    meta = _meta(message)
    missing = [key for key in (PROTOCOL_VERSION_META_KEY, CLIENT_CAPABILITIES_META_KEY) if key not in meta]
    if missing:
        raise RpcError(400, INVALID_PARAMS, f"params._meta: {' and '.join(missing)} are required")
    version = meta[PROTOCOL_VERSION_META_KEY]
    told = {"mcp-protocol-version": version, "mcp-method": message.method}
    if message.method in NAMED:
        told["mcp-name"] = message.params.get(NAMED[message.method])
    for name, value in told.items():
        if _plain(headers.get(name)) != value:
            raise RpcError(400, HEADER_MISMATCH, f"header {name} must say what the body says: {value!r}")
    if version != REVISION:
        raise unsupported(version, (REVISION,))


def beside(server: dict[str, str]) -> dict[str, Any]:
    """What a result has beside its own fields; all but those of tool calls may be kept a while by anyone."""
    meta = {SERVER_INFO_META_KEY: server}
    return {"resultType": "complete", "ttlMs": TTL_MS, "cacheScope": "public", "_meta": meta}


def unsupported(version: Any, served: tuple[str, ...]) -> RpcError:
    """The error of a revision that is not served."""
    message = f"protocol revision {version!r} is not served; use one of {', '.join(served)}"
    data = {"supported": list(served), "requested": version}
    return RpcError(400, UNSUPPORTED_PROTOCOL_VERSION, message, data)


def _meta(message: Message) -> Mapping[str, Any]:
    found = message.params.get("_meta")
    return found if isinstance(found, dict) else {}


def _plain(value: str | None) -> str | None:
    """A header's value; what is no header text comes as base64."""
    match = BASE64.fullmatch(value or "")
    if not match:
        return value
    try:
        return base64.b64decode(match[1], validate=True).decode()
    except (binascii.Error, UnicodeDecodeError):
        return None
