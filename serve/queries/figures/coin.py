"""One coin: its figures, liquidations, long/short ratios, spike alerts and net taker flow of 24 hours."""

from serve.contract.schemas import INTEGER, INTEGER_OR_NULL, NUMBER, NUMBER_OR_NULL, TEXT, Schema, array_of, object_of
from serve.contract.serialize import Body
from serve.queries.snapshot import (
    BY_VENUE,
    COIN,
    COIN_NUMBERS,
    COVERED,
    ENTRY,
    LIQUIDATION,
    RATIOS,
    SINCE,
    STAMPS,
    TOTALS,
    WINDOWS,
    snapshot_body,
)
from serve.replica.edition import Reader
from serve.replica.units import DAY_MS, HOUR_MS, MINUTE_MS

MOST_ALERTS, BIGGEST, RECENT = 100, 20, 50
MARKET: Schema = {
    "base": TEXT,
    **dict.fromkeys(("markets", "expected"), INTEGER_OR_NULL),
    **dict.fromkeys(COIN_NUMBERS, NUMBER_OR_NULL),
    "venues": array_of(TEXT),
    "hip3": {"type": "boolean"},
    "cat": array_of(TEXT, "Categories that exchanges give the coin, one name for each."),
    "perps": array_of(ENTRY, "Its perps, the highest open interest first."),
    "spots": array_of(ENTRY, "Its spot markets, the greatest turnover first."),
}
AGO_MS = {"px_1h": HOUR_MS, "px_4h": 4 * HOUR_MS, "px_24h": DAY_MS}
FRESH_MS = 5 * MINUTE_MS
PRICE: Schema = {
    "price": {
        **NUMBER_OR_NULL,
        "description": "Of its perps, or of spot where it has none: USD; null if not observed.",
    },
    **{name: {**NUMBER_OR_NULL, "description": "Change of the price, a fraction."} for name in AGO_MS},
}
ALERT = object_of(
    {
        "id": INTEGER,
        "ts": INTEGER,
        **dict.fromkeys(("venue", "symbol", "kind"), TEXT),
        "dir": {"enum": ["buy", "sell", None], "description": "null if neither taker volume nor the price shows one."},
        "sig": NUMBER,
    }
)
ALERT_FIELDS, EVENT_FIELDS = tuple(ALERT["properties"]), tuple(LIQUIDATION["properties"])
SCHEMA = object_of(
    {
        "market": object_of({**MARKET, **PRICE}),
        "liquidations": object_of(
            {
                "since": SINCE,
                **COVERED,
                "totals": TOTALS,
                "by_venue": BY_VENUE,
                "coins": array_of(COIN, "The coin itself; none where no feed covers it."),
                "biggest": array_of(LIQUIDATION, f"The {BIGGEST} largest of 24 hours."),
                "recent": array_of(LIQUIDATION, f"The newest {RECENT} of 24 hours."),
            }
        ),
        "long_short": object_of(RATIOS),
        "alerts": array_of(ALERT, f"Spike alerts of 24 hours, newest first, at most {MOST_ALERTS}."),
        "hits24h": {**INTEGER, "description": "Spike alerts of 24 hours."},
        "net_flow24h": {
            **NUMBER_OR_NULL,
            "description": "Taker buys less sells of the coin's perps in 24 hours, USD; null if none is published.",
        },
        **STAMPS,
    }
)
UNKNOWN = ", ".join(f"\"{window}\": {{long: null, short: null, 'count': null}}" for window in WINDOWS)
OWN = ", ".join(
    f""" "{window}": {{long: l.totals['{window}'].long, short: l.totals['{window}'].short}}""" for window in WINDOWS
)
# A coin without a recently observed market stays tracked for another day, without figures.
UNSEEN = {"base": "$base", "hip3": "bool_and(hip3)", **dict.fromkeys(("venues", "cat", "perps", "spots"), "[]")}
THEN = ", ".join(
    f"arg_max(prices.price, prices.t) filter (prices.t between now.t - {ago + FRESH_MS} and now.t - {ago}) as {name}"
    for name, ago in AGO_MS.items()
)
CHANGES = ", ".join(f"{name}: newest.price / earlier.{name} - 1" for name in AGO_MS)
# A coin that no feed covers has no row in liquidations: its totals are unknown.
SQL = f"""
with observed as materialized (
    select t, type, price, taker_buy_usd - taker_sell_usd as flow from series_base_1m
    where $of_base and type in ('perp', 'spot') and t >= $since - {2 * FRESH_MS}
),
prices as (
    select t, price from observed
    where price is not null and type = (select min(type) from observed where price is not null)
),
newest as (select max(t) as t, arg_max(price, t) as price from prices where t > $until - {FRESH_MS}),
earlier as (select {THEN} from prices cross join newest as now),
spiked as (select {", ".join(ALERT_FIELDS)} from spikes where base = $base and ts >= $since and ts < $until),
events as (
    select {", ".join(EVENT_FIELDS)} from liquidation_events
    where base = $base and ts > $as_of - {DAY_MS} and ts <= $as_of)
select to_json({{
    market: {{{", ".join(f"{name}: m.{name}" for name in MARKET)}, price: newest.price, {CHANGES}}},
    liquidations: {{
        since: every.since, markets: l.markets, expected: l.expected,
        totals: coalesce(l.totals, {{{UNKNOWN}}}), by_venue: coalesce(l.by_venue, map {{}}),
        coins: if(l.totals is null, [], [{{base: m.base, markets: l.markets, expected: l.expected, {OWN}}}]),
        biggest: coalesce((select list(events order by usd desc, ts desc, venue, symbol) from events)[:{BIGGEST}], []),
        recent: coalesce((select list(events order by ts desc, usd desc, venue, symbol) from events)[:{RECENT}], [])}},
    long_short: {{{", ".join(f"{name}: r.{name}" for name in RATIOS)}}},
    alerts: coalesce((select list(spiked order by ts desc, id) from spiked)[:{MOST_ALERTS}], []),
    hits24h: (select count(*) from spiked),
    net_flow24h: (select sum(flow) from observed where type = 'perp' and t >= $since and t < $until)
}})::varchar
from (
    select {", ".join(MARKET)} from markets where base = $base
    union all by name
    select {", ".join(f"{UNSEEN.get(name, 'null')} as {name}" for name in MARKET)}
    from market_index where base = $base and base not in (select base from markets) having count(*) > 0
) as m
cross join newest
cross join earlier
cross join (select since from liquidations where base is null) as every
left join (select markets, expected, totals, by_venue from liquidations where base = $base) as l on true
left join (from long_short where base = $base) as r on true
"""
TRACKED = """
select exists (from markets where base = $base) or exists (from market_index where base = $base and last_ms > $since)
"""


def read_coin_detail(db: Reader, base: str) -> Body | None:
    """The coin by its canonical name, as JSON; None if it was recorded once and is no longer listed."""
    if not db.value(TRACKED, {"base": base, "since": db.edition.as_of_ms - DAY_MS}):
        return None
    until = db.edition.as_of_ms // MINUTE_MS * MINUTE_MS
    sql = SQL.replace("$of_base", db.edition.of_bases([base], "series_base_1m"))
    return snapshot_body(db, sql, {"base": base, "since": until - DAY_MS, "until": until, "as_of": db.edition.as_of_ms})
