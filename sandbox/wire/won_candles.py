"""Candles of won markets in Upbit's format, newest first: a minute without a trade has no row."""

from datetime import datetime
from typing import Any

from sandbox.wire.candles import candles
from sandbox.wire.endpoint import Request, Response, json_response
from sandbox.wire.numbers import whole
from sandbox.wire.won_market import DAY_MS, MINUTE_MS, SEOUL_MS, WonMarkets, date, failure

UNITS = (1, 3, 5, 10, 15, 30, 60, 240)
MOST = 200
DUST = 5_000.0
"""Won that a minute must turn over to have had a trade: the smallest order there is."""
_SCANNED = 20_000  # how far back, in candles, thin markets are searched for the wanted count
_SECOND = "%Y-%m-%dT%H:%M:%S"

Bar = tuple[int, float, float, float, float, float, float]  # start ms, open, high, low, close, base, quote


def bars(won: WonMarkets, row: int, step: int, before_ms: int, count: int, now_ms: int) -> list[Bar]:
    """Candles of `step` minutes that begin before a time, newest first; long ones begin with the venue's own day."""
    found: list[Bar] = []
    scanned, end_ms = 0, min(before_ms - 1, now_ms)
    apart = won.ahead_ms if step > 60 else 0
    while len(found) < count and scanned < _SCANNED:
        wanted = max(count, 2 * (count - len(found)))
        chunk = _newest(won, row, step, apart, end_ms, wanted, now_ms)
        if not chunk:
            break
        found += [bar for bar in chunk if bar[6] >= DUST]
        scanned += wanted
        end_ms = chunk[-1][0] - 1
    return found[:count]


def _newest(won: WonMarkets, row: int, step: int, apart: int, end_ms: int, count: int, now_ms: int) -> list[Bar]:
    """The newest candles up to a time, on a grid that is `apart` ms off the UTC one: then they are made of hours."""
    step_ms, small = step * MINUTE_MS, 60 if apart else step
    newest_ms = (end_ms + apart) // step_ms * step_ms - apart
    oldest_ms, end_ms = newest_ms - (count - 1) * step_ms, newest_ms + step_ms - 1  # the newest one whole
    out: list[Bar] = []
    found = candles(won.world, row, small, oldest_ms, end_ms, count * step // small, now_ms)
    for at, o, h, low, c, base, quote, _, _ in found.rows():
        start = (at + apart) // step_ms * step_ms - apart
        if out and out[-1][0] == start:
            _, opened, high, lowest, _, b, q = out[-1]
            out[-1] = (start, opened, max(h, high), min(low, lowest), c, base + b, quote + q)
        else:
            out.append((start, o, h, low, c, base, quote))
    return out[::-1]


def minutes(won: WonMarkets, request: Request) -> Response:
    """candles/minutes/{unit}."""
    try:
        unit = whole(request.query, "unit")
    except ValueError:
        unit = None
    if unit not in UNITS:
        return failure(400, "Invalid parameter. Check the given value!")
    return _candles(won, request, unit, unit)


def days(won: WonMarkets, request: Request) -> Response:
    """candles/days."""
    return _candles(won, request, DAY_MS // MINUTE_MS, None)


def _candles(won: WonMarkets, request: Request, step: int, unit: int | None) -> Response:
    market = request.query.get("market")
    if not market:
        return failure(400, "Missing request parameter error. Check the required parameters!")
    row = won.by_symbol.get(market.upper())
    if row is None or won.world.universe.listed[row] * MINUTE_MS > request.now_ms:
        return failure(404, "Code not found")
    try:
        count = min(max(1, whole(request.query, "count") or 1), MOST)
        before_ms = to_ms(request.query.get("to", ""), won.ahead_ms, request.now_ms)
    except ValueError:
        return failure(400, "Type mismatch error. Check the parameters type!")
    found = bars(won, row, step, before_ms, count + (unit is None), request.now_ms)
    shown = [_shown(won, market.upper(), bar, step, request.now_ms) for bar in found[:count]]
    for n, one in enumerate(shown):
        if unit is not None:
            one["unit"] = unit
            continue
        close, before = found[n][4], found[n + 1][4] if n + 1 < len(found) else found[n][1]
        one |= {"prev_closing_price": won.price(before), "change_price": won.price(round(close - before, 8)),
                "change_rate": round(close / before - 1, 10)}  # fmt: skip
    return json_response(shown)


def _shown(won: WonMarkets, market: str, bar: Bar, step: int, now_ms: int) -> dict[str, Any]:
    at, opened, high, low, close, base, quote = bar
    return {
        "market": market, "candle_date_time_utc": date(at, _SECOND),
        "candle_date_time_kst": date(at + SEOUL_MS, _SECOND),
        "opening_price": won.price(opened), "high_price": won.price(high), "low_price": won.price(low),
        "trade_price": won.price(close), "timestamp": min(at + step * MINUTE_MS - 167, now_ms),
        "candle_acc_trade_price": quote, "candle_acc_trade_volume": round(base, 8),
    }  # fmt: skip


def to_ms(text: str, zone_ms: int, now_ms: int) -> int:
    """The exclusive end of the candles: without an offset a time is one of the venue's own clock; empty is now.

    At Bithumb it is always one of Seoul, whatever offset is written.
    """
    if not text:
        return now_ms + 1
    at = datetime.fromisoformat(text.strip().replace("Z", "+00:00"))
    if at.tzinfo is None or zone_ms:
        at = at.replace(tzinfo=None)
        return int((at - datetime(1970, 1, 1)).total_seconds() * 1000) - zone_ms
    return int(at.timestamp() * 1000)
