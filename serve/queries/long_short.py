"""Schemas of long/short ratios by venue and group of accounts."""

from serve.contract.schemas import NUMBER_OR_NULL, TEXT, Schema, object_of

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
