"""GET /api/kimchi-premium/history and /api/coinbase-premium/history: premiums over the price on binance."""

from dataclasses import dataclass, replace
from functools import partial
from typing import Any

from serve.contract.endpoint import endpoint
from serve.contract.errors import BadParameter
from serve.contract.parameters import Duration, Param, Values, coin, duration
from serve.contract.schemas import Schema
from serve.contract.serialize import Body, json_body
from serve.queries.time_range import aligned, points, span_of
from serve.replica.edition import Edition, Reader, literal
from serve.replica.gaps import before_recording, gaps_of
from serve.replica.unavailable import Fallback, Unavailable
from serve.replica.units import UNIT_MS, Span

# Coins that are always covered; the only ones on coinbase.
ALWAYS, COINBASE_COINS = ("BTC", "ETH", "XRP", "SOL"), ("BTC", "ETH")
KIMCHI_FIELDS, COINBASE_FIELDS = ("upbit", "bithumb"), ("premium", "gap")
KIMCHI_COLUMNS = {
    "upbit": "premium) filter (exchange = 'upbit'",
    "bithumb": "premium) filter (exchange = 'bithumb'",
    "upbit_usdt": "premium_usdt) filter (exchange = 'upbit'",
    "bithumb_usdt": "premium_usdt) filter (exchange = 'bithumb'",
}
COINBASE_COLUMNS = {"premium": "premium", "gap": "gap", "usdt_usd": "usdt_price"}
DAY = UNIT_MS["d"]
MAX_POINTS = 2200
DEFAULT_RANGE_MS, MAX_RANGE_MS = 30 * DAY, 10 * UNIT_MS["y"]
# Hourly up to 90 days, 4-hourly up to 366, then whole days, as many as MAX_POINTS needs.
HOURLY_MS, FOUR_HOURLY_MS = 90 * DAY, 366 * DAY
ARRAY = {"type": "array", "items": {"type": ["number", "null"]}}
COMMON: dict[str, Schema] = {
    "metric": {"type": "string"},
    "base": {"type": "string"},
    "step": {"type": "integer", "description": "Bucket width in ms."},
    "start": {"type": "integer"},
    "end": {"type": "integer", "description": "End of the range (exclusive), UTC epoch ms."},
    "unit": {"type": "string"},
    "source": {"type": "string", "description": "Table and edition, the exchange rate and its age."},
    "fields": {"type": "array", "items": {"type": "string"}},
    "t": {"type": "array", "items": {"type": "integer"}},
    "gaps": {"type": "array", "items": {"type": "object", "required": ["start", "end", "venue", "reason"]}},
    "db": {"const": False, "description": "Present when the database is missing or unreachable."},
    "error": {"const": "unavailable", "description": "Present when the database is unreachable."},
}


@dataclass(frozen=True)
class PremiumQuery:
    """A canonical query: a coin and a range of whole buckets, UTC epoch ms."""

    base: str
    start: int
    end: int
    step_ms: int


def resolve(values: Values, edition: Edition, keyed: bool) -> PremiumQuery:
    """The canonical query; the range determines the step. A key changes nothing."""
    length = _length(values)
    span = span_of(None, None, length, edition.as_of_ms)
    step = UNIT_MS["h"] if length <= HOURLY_MS else 4 * UNIT_MS["h"] if length <= FOUR_HOURLY_MS else DAY
    while points(span, step) > MAX_POINTS:
        step += DAY
    return PremiumQuery(edition.base(values["base"]) or values["base"].upper(), *aligned(span, step), step)


def _length(values: Values) -> int:
    length: Duration | None = values["range"]
    if length is not None and length > MAX_RANGE_MS:
        raise BadParameter("range", length.text, "use at most 10y")
    return DEFAULT_RANGE_MS if length is None else length


def _resolve_coinbase(values: Values, edition: Edition, keyed: bool) -> PremiumQuery:
    _check_coinbase_coin(values)
    return resolve({**values, "base": values["base"].upper()}, edition, keyed)


def _check_coinbase_coin(values: Values) -> None:
    if values["base"].upper() not in COINBASE_COINS:
        raise BadParameter("base", values["base"], "use one of " + ", ".join(COINBASE_COINS), COINBASE_COINS)


def _params(coins: str) -> dict[str, Param]:
    of = coin(f"Coin, in any case: {coins}.")
    return {"base": replace(of, required=True), "range": duration("Length of the range, at most 10y (30d).", "90d")}


def _schema(fields: tuple[str, ...], beside: dict[str, str]) -> Schema:
    described = {name: {**ARRAY, "description": text} for name, text in beside.items()}
    return {
        "type": "object",
        "required": ["t", *fields],
        "properties": {**COMMON, **dict.fromkeys(fields, ARRAY), **described},
    }


def _without_replica(
    metric: str, fields: tuple[str, ...], values: Values, outage: Unavailable, fallback: Fallback
) -> Body:
    """Empty arrays, marked as unavailable."""
    _length(values)
    content: dict[str, Any] = {"metric": metric, "base": values["base"].upper(), "fields": list(fields), "t": []}
    content |= {**{name: [] for name in fields}, "gaps": [], "db": False}
    return json_body(content if outage.missing else {**content, "error": "unavailable"}, degraded=True)


def _without_coinbase(values: Values, outage: Unavailable, fallback: Fallback) -> Body:
    _check_coinbase_coin(values)
    return _without_replica("coinbase-premium", COINBASE_FIELDS, values, outage, fallback)


def _history(query: PremiumQuery, db: Reader, scope: str, columns: dict[str, str]) -> dict[str, Any]:
    """Step, range and arrays: the mean of the hourly points of each bucket."""
    selected = ", ".join(f'avg({sql}) as "{name}"' for name, sql in columns.items())
    arrays = db.arrays(
        f"select t - t % {query.step_ms} as t, {selected} from premiums where {scope} "
        f"and t >= {query.start} and t < {query.end} group by 1 order by 1"
    )
    return {"base": query.base, "step": query.step_ms, "start": query.start, "end": query.end, **arrays}


def _gaps(query: PremiumQuery, db: Reader, found: dict[str, Any], *exchanges: str) -> list[dict[str, Any]]:
    span = Span(query.start, query.end)
    before = before_recording(db, found["t"], query.step_ms, span)
    return [*before, *gaps_of(db, "spot_bars", (*exchanges, "binance"), span)]


def _rate(db: Reader, scope: str) -> str:
    """The exchange rate of the newest point."""
    newest = db.rows(
        f"select usd_rate, rate_source, rate_ms from premiums where {scope} and rate_ms is not null "
        "order by t desc limit 1"
    )
    if not newest:
        return "no exchange rate is known"
    [(rate, source, ms)] = [row.values() for row in newest]
    return f"{rate:g} won a dollar by {source}, {(db.edition.as_of_ms - ms) // 1000} s old"


def _covered(db: Reader) -> list[str]:
    found = db.rows("select distinct base from premiums where exchange in ('upbit', 'bithumb')")
    return sorted({*ALWAYS, *(row["base"] for row in found)})


@endpoint(
    "/api/kimchi-premium/history",
    ttl=30,
    budget="series",
    statuses=(200, 400),
    schema=_schema(
        KIMCHI_FIELDS,
        {
            "upbit_usdt": "The same by the price of USDT on upbit instead of the bank's rate.",
            "bithumb_usdt": "The same by the price of USDT on bithumb instead of the bank's rate.",
        },
    ),
    resolve=resolve,
    offline=partial(_without_replica, "kimchi-premium", KIMCHI_FIELDS),
    params=_params("one of the most traded on the Korean exchanges"),
)
def kimchi_premium(query: PremiumQuery, db: Reader) -> Body:
    """History of a coin's premium on the Korean exchanges, percent: closes of the same minute, at the bank's rate."""
    scope = f"exchange in ('upbit', 'bithumb') and base = {literal(query.base)}"
    # Checking one coin is fast; listing all covered coins reads the whole table, so only the error does that.
    if query.base not in ALWAYS and not db.value(f"select 1 from premiums where {scope} limit 1"):
        covered = db.once("korean coins", lambda: _covered(db))
        raise BadParameter("base", query.base, "use one of " + ", ".join(covered), covered)
    found = _history(query, db, scope, KIMCHI_COLUMNS)
    source = f"premiums@e{db.edition.edition_id}, against binance spot, {_rate(db, scope)}"
    described = {"metric": "kimchi-premium", "unit": "percent", "source": source, "fields": list(KIMCHI_FIELDS)}
    return json_body({**described, **found, "gaps": _gaps(query, db, found, "upbit", "bithumb")})


@endpoint(
    "/api/coinbase-premium/history",
    ttl=30,
    budget="series",
    statuses=(200, 400),
    schema=_schema(COINBASE_FIELDS, {"usdt_usd": "Dollars for one USDT on the exchange: a depeg shows as premium."}),
    resolve=_resolve_coinbase,
    offline=_without_coinbase,
    params=_params(", ".join(COINBASE_COINS)),
)
def coinbase_premium(query: PremiumQuery, db: Reader) -> Body:
    """History of a coin's premium on the US exchange, percent, and the gap in USD, by closes of the same minute."""
    scope = f"exchange = 'coinbase' and base = {literal(query.base)}"
    found = _history(query, db, scope, COINBASE_COLUMNS)
    source = f"premiums@e{db.edition.edition_id}, against binance spot"
    described = {
        "metric": "coinbase-premium",
        "unit": "percent, USD",
        "source": source,
        "fields": list(COINBASE_FIELDS),
    }
    return json_body({**described, **found, "gaps": _gaps(query, db, found, "coinbase")})
