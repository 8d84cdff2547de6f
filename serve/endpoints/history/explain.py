"""GET /api/explain: which markets, minutes and raw responses one number of a series came from."""

from dataclasses import replace

from serve.contract.endpoint import endpoint
from serve.contract.parameters import epoch_ms, kind, market, metric, one_of, step
from serve.contract.schemas import (
    INTEGER,
    INTEGER_OR_NULL,
    NUMBER_OR_NULL,
    TEXT,
    TEXT_OR_NULL,
    Schema,
    array_of,
    object_of,
)
from serve.contract.serialize import Body, json_body
from serve.queries.evidence import MOST_BODY_BYTES
from serve.queries.figures.explain import Asked, read_explanation, resolve_explain
from serve.queries.series_query import AUTO, SELECTION
from serve.replica.edition import Reader

VALUES = {"type": "object", "additionalProperties": NUMBER_OR_NULL, "description": "Field → value; null is unknown."}
ANY = {"type": "object"}
MARKET = object_of({"market_id": TEXT, "values": VALUES})
ROW = object_of(
    {
        "view": {**TEXT, "description": "The staging view that reads it; its SQL is in /api/methodology/{metric}."},
        "row": {
            "description": "What the view takes from the body, by the exchange's names; null: it makes rows otherwise."
        },
        "columns": {**ANY, "description": "What it makes of that: the columns of the view."},
    }
)
RESPONSE = object_of(
    {
        **dict.fromkeys(("venue", "endpoint"), TEXT),
        **dict.fromkeys(("key", "params"), TEXT_OR_NULL),
        **dict.fromkeys(("status", "attempts"), INTEGER_OR_NULL),
        "error": TEXT_OR_NULL,
        "tick_ms": {**INTEGER, "description": "The recorder's minute, UTC epoch ms."},
        **dict.fromkeys(("requested_ms", "received_ms"), INTEGER_OR_NULL),
        "load": {**TEXT, "description": "The load that brought it into the landing; in a compacted file its newest."},
        "file": {**TEXT, "description": "The file in the landing."},
        "rows": array_of(ROW, "The rows of the market."),
        "body_bytes": INTEGER_OR_NULL,
        "body": {
            **TEXT_OR_NULL,
            "description": f"As the exchange sent it, up to {MOST_BODY_BYTES} bytes; null: see read_with.",
        },
        "read_with": {**TEXT, "description": "A command that prints the body, in the folder of the landing."},
    }
)
EVIDENCE = object_of(
    {
        "market_id": TEXT,
        "step": {**INTEGER, "description": "Width of the parts in ms: the finest that is still kept."},
        "parts": array_of(
            object_of({"t": INTEGER, "values": VALUES}),
            "The market's values within the bucket: of a state the last one counts, of a flow the sum.",
        ),
        "t": {**INTEGER_OR_NULL, "description": "Start of the part whose responses follow."},
        "responses": array_of(RESPONSE),
        "reason": {**TEXT_OR_NULL, "description": "Why responses or bodies are missing; null: nothing is."},
    },
    nullable=True,
)  # fmt: skip
SCHEMA: Schema = object_of(
    {
        "metric": TEXT,
        **dict.fromkeys(("base", "market", "venue", "type", "kind"), TEXT_OR_NULL),
        "step": {**INTEGER, "description": "Bucket width in ms."},
        "t": {**INTEGER, "description": "Start of the bucket, UTC epoch ms."},
        "end": {**INTEGER, "description": "End of the bucket (exclusive), UTC epoch ms."},
        "values": {**VALUES, "description": "The served number, by field. A running sum is that of this bucket alone."},
        "formula": TEXT,
        "sql": {**TEXT, "description": "The query on this edition that gives the number."},
        "sums": {**VALUES, "description": "The sum over all markets: the number, where the formula is a sum."},
        "total": {**INTEGER, "description": "Markets with a value."},
        "markets": array_of(MARKET, "The value of each market, by market_id."),
        "next": {**TEXT_OR_NULL, "description": "The value of `after` for more markets; null: these are the last."},
        "evidence": EVIDENCE,
        "source": TEXT,
        "server_ts": {**INTEGER, "description": "The edition's as_of, UTC epoch ms."},
    }
)
LIMITS = ("10", "50", "200")


@endpoint(
    "/api/explain",
    ttl=15,
    budget="series",
    statuses=(200, 400, 404, 503),
    schema=SCHEMA,
    resolve=resolve_explain,
    params={
        "metric": metric(),
        "t": replace(epoch_ms("A time in the bucket, UTC epoch ms."), required=True, example="1781526000000"),
        **SELECTION,
        "kind": kind("Share of what, as in a series; long-short only."),
        "step": step("Bucket width; without it the one that the series has.", AUTO, default=AUTO),
        "of": market("The market whose responses are shown; without it the one with the greatest value."),
        "minute": epoch_ms("The part of the bucket whose responses are shown; without it the last with a value."),
        "body": one_of("0 leaves bodies out.", "0", "1", default="1"),
        "after": market("Only markets after this one: the `next` of the page before."),
        "limit": one_of("Markets on a page.", *LIMITS, default="50"),
    },
)
def explain(query: Asked, db: Reader) -> Body:
    """Where one number of a series came from: markets, minutes, raw responses, and the SQL between them."""
    return json_body(read_explanation(query, db))
