"""Snapshots: a JSON object that SQL makes from the marts, followed by the times of the edition."""

from collections.abc import Mapping
from typing import Any

from serve.contract.schemas import Schema
from serve.contract.serialize import Body, strict_json
from serve.replica.edition import Reader

STAMPS: Schema = {
    "server_ts": {"type": "integer", "description": "The edition's as_of, UTC epoch ms."},
    "uptime_since": {"type": ["integer", "null"], "description": "Start of the recording, UTC epoch ms."},
}


def snapshot_body(db: Reader, sql: str, args: Mapping[str, Any] | None = None) -> Body:
    """The query's single value, a JSON object as text, with the edition's times appended."""
    edition = db.edition
    since = b"null" if edition.recorded_since_ms is None else b"%d" % edition.recorded_since_ms
    fields = db.value(sql, args).encode().removesuffix(b"}")
    return Body(strict_json(b'%b,"server_ts":%d,"uptime_since":%b}' % (fields, edition.as_of_ms, since)))
