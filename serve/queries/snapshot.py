"""Snapshots of the marts: their JSON with the times of the edition, the schemas that several of them share, and one
coin of the markets snapshot."""

from collections.abc import Mapping
from typing import Any

import orjson

from serve.contract.schemas import INTEGER, NUMBER, NUMBER_OR_NULL, TEXT, Schema, object_of
from serve.contract.serialize import Body, strict_json
from serve.replica.edition import Reader

STAMPS: Schema = {
    "server_ts": {"type": "integer", "description": "The edition's as_of, UTC epoch ms."},
    "uptime_since": {"type": ["integer", "null"], "description": "Start of the recording, UTC epoch ms."},
}
# Liquidations: totals of the market and of a coin, and single events.
WINDOWS = ("1h", "4h", "12h", "24h")
SIDES: Schema = {"long": NUMBER_OR_NULL, "short": NUMBER_OR_NULL}
SINCE: Schema = {
    "type": "integer",
    "description": "From here on every feed was recorded without a gap; at the earliest 24 hours before server_ts.",
}
TOTALS: Schema = {
    **object_of(dict.fromkeys(WINDOWS, object_of({**SIDES, "count": {"type": ["integer", "null"]}}))),
    "description": "USD; null if no feed was recorded in the window, which is not 0.",
}
BY_VENUE: Schema = {
    "type": "object",
    "description": "24 hours by venue, USD. Some venues publish a sample: their figures are lower bounds.",
    "additionalProperties": object_of({**SIDES, "count": {"type": ["integer", "null"]}}),
}
LIQUIDATION = object_of(
    {
        "ts": INTEGER,
        **dict.fromkeys(("venue", "symbol", "base"), TEXT),
        "side": {"enum": ["long", "short"], "description": "The side that was liquidated."},
        "usd": NUMBER,
        "price": NUMBER,
    }
)
COVERED = {
    "markets": {"type": ["integer", "null"], "description": "Perps whose exchange's feed was connected: in the sums."},
    "expected": {"type": ["integer", "null"], "description": "Perps that should be in the sums."},
}
COIN = object_of({"base": TEXT, **COVERED, **dict.fromkeys(WINDOWS, object_of(SIDES))})
# Long/short ratios by venue and group of accounts.
RATIO = object_of(
    {
        "symbol": TEXT,
        "long": {"type": "number", "minimum": 0, "maximum": 1, "description": "Fraction that is long."},
        "ts": {"type": "integer", "description": "Start of the reading's bucket, UTC epoch ms."},
        **dict.fromkeys(("chg_1h", "chg_4h", "chg_24h"), NUMBER_OR_NULL),
    },
    nullable=True,
)
# The columns of the mart; null where the venue publishes none for the coin.
RATIOS: Schema = {"binance_accounts": RATIO, "binance_top_pos": RATIO, "bybit_accounts": RATIO}
COIN_NUMBERS = ("perp_vol24h", "spot_vol24h", "oi_usd", "funding_avg", "oi_1h", "oi_4h", "oi_24h", "funding_spread")
ENTRY_NUMBERS = (
    "price", "vol24h", "funding", "oi_usd", "px_1h", "px_4h", "px_24h", "oi_1h", "oi_4h", "oi_24h",
)  # fmt: skip
ENTRY: Schema = {
    "type": "object",
    "required": ["venue", "symbol", "quote", "price", "vol24h", "funding", "oi_usd"],
    "properties": {
        "venue": {"type": "string"},
        "symbol": {"type": "string"},
        "quote": {"type": ["string", "null"]},
        "url": {"type": ["string", "null"]},
        "hip3": {"type": ["boolean", "null"]},
        **dict.fromkeys(ENTRY_NUMBERS, NUMBER_OR_NULL),
    },
}


def snapshot_body(db: Reader, sql: str, args: Mapping[str, Any] | None = None) -> Body:
    """The query's single value, a JSON object as text, with the edition's times appended."""
    edition = db.edition
    since = b"null" if edition.recorded_since_ms is None else b"%d" % edition.recorded_since_ms
    fields = db.value(sql, args).encode().removesuffix(b"}")
    return Body(strict_json(b'%b,"server_ts":%d,"uptime_since":%b}' % (fields, edition.as_of_ms, since)))


def read_coin(db: Reader, base: str) -> dict[str, Any] | None:
    """The coin's entry of /api/markets, by its canonical name; None if it is not listed now."""
    text = db.value("select to_json(m)::varchar from (select * from markets where base = ? limit 1) as m", [base])
    return orjson.loads(strict_json(text.encode())) if text else None
