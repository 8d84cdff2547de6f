"""Schemas of liquidations: totals of the market and of a coin, and single events."""

from serve.contract.schemas import INTEGER, NUMBER, NUMBER_OR_NULL, TEXT, Schema, object_of

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
COIN = object_of({"base": TEXT, **dict.fromkeys(WINDOWS, object_of(SIDES))})
