"""GET /api/events: each edition as it is published, as server-sent events."""

import orjson

from serve.contract.endpoint import endpoint
from serve.contract.parameters import Values, number_of
from serve.contract.schemas import INTEGER, TEXT, object_of
from serve.contract.serialize import EVENTS, Body
from serve.replica.edition import Reader

SCHEMA = object_of(
    {
        "edition": {**INTEGER, "description": "Also the event's id."},
        "as_of": {**INTEGER, "description": "Newest data, UTC epoch ms."},
        "published": {**INTEGER, "description": "UTC epoch ms."},
        "changed": {
            "type": ["array", "null"],
            "items": TEXT,
            "description": "Paths of this API whose tables differ from those of the edition that the client has; null: "
            "that is not known, and any may differ.",
        },
    }
)


@endpoint(
    "/api/events",
    ttl=None,
    statuses=(200, 400, 503),
    media=(EVENTS,),
    schema=SCHEMA,
    params={
        "since": number_of(
            "The edition that the client has. A browser that connects again names it itself.", "an edition", 1842
        )
    },
    followed=True,
)
def events(query: Values, db: Reader) -> Body:
    """Each edition as it is published, and what it changed: server-sent events, one a minute."""
    edition = db.edition
    content = {
        "edition": edition.edition_id,
        "as_of": edition.as_of_ms,
        "published": edition.published_ms,
        "changed": edition.changed_since(query["since"]),
    }
    lines = ("event: edition", f"id: {edition.edition_id}", f"data: {orjson.dumps(content).decode()}", "", "")
    return Body("\n".join(lines).encode(), EVENTS)
