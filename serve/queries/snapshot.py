"""The form of a snapshot: a JSON object that SQL makes of an edition's marts, then the edition's times."""

from collections.abc import Mapping
from typing import Any

from serve.contract.schemas import Schema
from serve.contract.serialize import Body, strict_json
from serve.replica.edition import Reader

STAMPS: Schema = {
    "server_ts": {"type": "integer", "description": "The edition's as_of, UTC epoch ms."},
    "uptime_since": {"type": ["integer", "null"], "description": "Since when it has been recorded, UTC epoch ms."},
}


def snapshot_body(db: Reader, sql: str, args: Mapping[str, Any] | None = None) -> Body:
    """The object that the query's one value is, as JSON text, stamped."""
    edition = db.edition
    since = b"null" if edition.recorded_since_ms is None else b"%d" % edition.recorded_since_ms
    fields = db.value(sql, args).encode().removesuffix(b"}")
    return Body(strict_json(b'%b,"server_ts":%d,"uptime_since":%b}' % (fields, edition.as_of_ms, since)))
