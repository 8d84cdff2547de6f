"""Estimated liquidations within a price band relative to order book depth: of all perps now, and of one over time.

From two tables; without them the data is unavailable:

xray_risk, a row per perp, band and 5 minutes
    t (bigint, UTC epoch ms, a multiple of 5 minutes), market_id, venue, symbol, base, band_pct (double: 0.5, 1, 2, 5),
    price (USD), oi_usd, long_exposure_usd and short_exposure_usd (estimated liquidations between price and the band's
    edge), the same with `_low` and `_high` before `_usd` (the leverage assumption times 0.5 and times 2),
    bid_depth_usd and ask_depth_usd (resting notional of the index's legs out to the same edge, by weight),
    coverage (`full`: all legs are there and no book ends inside the band; `partial`; `insufficient`: no ratio), reason
    (null where full), oldest_input_ms (the oldest of what it is made of)
xray_index, the newest composition, a row per perp and leg
    market_id, exchange, pair, weight (fraction)
"""

from typing import Any

from serve.contract.schemas import INTEGER, NUMBER_OR_NULL, TEXT, TEXT_OR_NULL, Schema, array_of, object_of
from serve.replica.edition import Reader
from serve.replica.units import UNIT_MS, Span

BANDS = (0.5, 1.0, 2.0, 5.0)
STEPS = {"5m": 5 * UNIT_MS["m"], "1h": UNIT_MS["h"]}
FRESH_MS = 10 * UNIT_MS["m"]
# Longs are sold into the bids when they are liquidated, shorts bought from the asks.
SIDES = {
    "long": (("long",), ("bid",)),
    "short": (("short",), ("ask",)),
    "both": (("long", "short"), ("bid", "ask")),
}
STATES = ("full", "partial", "stale", "insufficient")
NUMBERS = ("price", "oi_usd", "exposure_usd", "depth_usd", "ratio", "ratio_low", "ratio_high")
RANKED: Schema = {"market": TEXT, "base": TEXT_OR_NULL, **dict.fromkeys(NUMBERS, NUMBER_OR_NULL)}
COVERED = ("coverage", "reason")
ARRAYS = {
    "exposure_long_usd": "long_exposure_usd",
    "exposure_short_usd": "short_exposure_usd",
    "depth_bid_usd": "bid_depth_usd",
    "depth_ask_usd": "ask_depth_usd",
    "ratio_long": "long_exposure_usd / nullif(bid_depth_usd, 0)",
    "ratio_short": "short_exposure_usd / nullif(ask_depth_usd, 0)",
}


POINT = object_of(
    {
        "t": INTEGER,
        "price": NUMBER_OR_NULL,
        "coverage": array_of({"enum": [*STATES, None]}),
        "reason": array_of(TEXT_OR_NULL, "Why it is partial or insufficient."),
        **dict.fromkeys(ARRAYS, array_of(NUMBER_OR_NULL)),
    }
)
"""A point of one perp: `coverage` and the figures are arrays over BANDS."""


def read_ranking(db: Reader, band_pct: float, side: str, least_oi_usd: float) -> dict[str, list[dict[str, Any]]]:
    """The newest rows of a band by state, each list with the greatest ratio first; only full ones are comparable."""
    sides, books = SIDES[side]

    def exposure(name: str) -> str:
        return " + ".join(f"{one}_exposure{name}_usd" for one in sides)

    depth = " + ".join(f"{book}_depth_usd" for book in books)
    over = f"nullif({depth}, 0)"
    sql = f"""
        select market_id as market, base, price, oi_usd, {exposure("")} as exposure_usd, {depth} as depth_usd,
            ({exposure("")}) / {over} as ratio, ({exposure("_low")}) / {over} as ratio_low,
            ({exposure("_high")}) / {over} as ratio_high, reason, t, oldest_input_ms,
            case when coverage = 'insufficient' or ratio is null then 'insufficient'
                when coalesce($as_of - oldest_input_ms > {FRESH_MS}, true) then 'stale' else coverage end as state
        from xray_risk
        where t = (select max(t) from xray_risk) and band_pct = $band and coalesce(oi_usd, 0) >= $least
        order by ratio desc nulls last, market
    """
    rows = db.rows(sql, {"as_of": db.edition.as_of_ms, "band": band_pct, "least": least_oi_usd})
    return {state: [row for row in rows if row["state"] == state] for state in STATES}


def read_history(db: Reader, market: str, step: str, span: Span) -> list[dict[str, Any]]:
    """The points of one perp; each figure is an array over the bands."""
    figures = ", ".join(f"({sql})::double as {name}" for name, sql in ARRAYS.items())
    sql = f"""
        select t, price, band_pct, {figures}, reason,
            case when coverage <> 'insufficient' and coalesce(t - oldest_input_ms > {FRESH_MS}, true) then 'stale'
                else coverage end as coverage
        from xray_risk where market_id = $market and t >= $start and t < $end and t % {STEPS[step]} = 0 order by t
    """
    points: dict[int, dict[str, Any]] = {}
    for row in db.rows(sql, {"market": market, "start": span.start, "end": span.end}):
        blank: dict[str, Any] = {name: [None] * len(BANDS) for name in (*COVERED, *ARRAYS)}
        point = points.setdefault(row["t"], {"t": row["t"], "price": row["price"], **blank})
        for name in blank:
            point[name][BANDS.index(row["band_pct"])] = row[name]
    return list(points.values())


def read_index(db: Reader, market: str) -> list[dict[str, Any]]:
    """The legs of a perp's mark index, the heaviest first."""
    sql = "select exchange, pair, weight from xray_index where market_id = $market order by weight desc, exchange, pair"
    return db.rows(sql, {"market": market})
