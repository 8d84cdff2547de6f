"""Files as HTTP sends them: whole or one range of bytes, in pieces, never compressed (RFC 9110, section 14)."""

import asyncio
import os
import re
from collections.abc import Mapping
from typing import NamedTuple

from sanic import Request
from sanic.response import HTTPResponse

from serve.contract.errors import ApiError, quote
from serve.contract.serialize import FileBody
from serve.http.responses import CORS, is_etag

PIECE_BYTES = 256 * 1024
RANGE = re.compile(r"bytes\s*=\s*([0-9]{0,18})\s*-\s*([0-9]{0,18})", re.ASCII)


class Span(NamedTuple):
    """The bytes to send: from the first to the last one."""

    first: int
    last: int


def span_of(text: str | None, size: int) -> Span | None:
    """The bytes that a Range header names; None for all of them, which also answers what is not one range of bytes.
    Raises the 416 of a range outside of the file."""
    match = RANGE.fullmatch(text.strip()) if text else None
    if not match or match[1] == match[2] == "":
        return None
    if not match[1]:  # the last so many
        span = Span(max(0, size - int(match[2])), size - 1)
    else:
        span = Span(int(match[1]), min(int(match[2]), size - 1) if match[2] else size - 1)
        if match[2] and int(match[2]) < span.first:
            return None
    if span.first > span.last:
        message = f"Range: {quote(text)} is outside of the file, which has {size} bytes"
        raise ApiError(416, message, {"content-range": f"bytes */{size}"})
    return span


async def send_file(request: Request, body: FileBody, headers: Mapping[str, str]) -> HTTPResponse | None:
    """Send a file, or the range of it that is asked, and close it; None once it is sent."""
    with body.file:
        descriptor = body.file.fileno()
        size = os.fstat(descriptor).st_size
        headers = {**CORS, "etag": body.etag, "accept-ranges": "bytes", **headers}
        known = request.headers.get("if-none-match")
        if known is not None and is_etag(known, body.etag):
            return HTTPResponse(status=304, headers=headers)
        # A range of another version would be mixed with what the client has: it gets the whole file.
        same = request.headers.get("if-range", body.etag).strip() == body.etag
        span = span_of(request.headers.get("range"), size) if same and request.method == "GET" else None
        first, last = span or Span(0, size - 1)
        headers["content-length"] = str(last + 1 - first)
        if span:
            headers["content-range"] = f"bytes {first}-{last}/{size}"
        status = 206 if span else 200
        if request.method == "HEAD":
            return HTTPResponse(status=status, headers=headers, content_type=body.content_type)
        response = await request.respond(status=status, headers=headers, content_type=body.content_type)
        while first <= last:
            piece = await asyncio.to_thread(os.pread, descriptor, min(PIECE_BYTES, last + 1 - first), first)
            await response.send(piece)
            first += len(piece)
        await response.eof()
    return None
