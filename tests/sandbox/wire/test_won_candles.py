"""Candles of won markets: made of their minutes, on the venue's own day, without minutes that had no trade."""

import json
from datetime import datetime
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sandbox.market.clock import Clock
from sandbox.market.listing import ANCHOR_MS
from sandbox.market.universe import build_universe
from sandbox.market.world import build_world
from sandbox.wire.endpoint import Request
from sandbox.wire.won_candles import DUST, MOST, UNITS, bars, days, minutes, to_ms
from sandbox.wire.won_market import DAY_MS, MINUTE_MS, SEOUL_MS, WonMarkets

NOW_MS = ANCHOR_MS + 7 * 3_600_000 + 37_500
WORLD = build_world(build_universe("small"), 1, Clock(fixed_ms=NOW_MS))
UTC_DAYS, SEOUL_DAYS = WonMarkets(WORLD, "upbit", 0, False), WonMarkets(WORLD, "bithumb", SEOUL_MS, True)
TIMES = st.integers(ANCHOR_MS // MINUTE_MS - 300 * 1440, NOW_MS // MINUTE_MS)


@settings(max_examples=15)
@given(TIMES, st.sampled_from(UNITS), st.sampled_from([UTC_DAYS, SEOUL_DAYS]))
def test_a_long_candle_is_made_of_its_minutes(minute: int, unit: int, won: WonMarkets) -> None:
    row = won.by_symbol["KRW-BTC"]
    ((start, *figures),) = bars(won, row, unit, minute * MINUTE_MS, 1, NOW_MS)
    apart = won.ahead_ms if unit > 60 else 0
    assert start < minute * MINUTE_MS
    assert (start + apart) % (unit * MINUTE_MS) == 0
    whole = WORLD.bars(row, start // MINUTE_MS, unit)
    if start + unit * MINUTE_MS <= NOW_MS:
        parts = (whole.open[0, 0], whole.high.max(), whole.low.min(), whole.close[0, -1], whole.volume.sum())
        assert figures == pytest.approx([*map(float, parts), float(whole.quote_volume.sum())], rel=1e-9)


def test_candles_come_newest_first_and_each_had_a_trade() -> None:
    rare = min(UTC_DAYS.listed(NOW_MS), key=lambda row: WORLD.universe.volume_usd[row])
    found = bars(UTC_DAYS, rare, 1, NOW_MS, 150, NOW_MS)
    starts = [one[0] for one in found]
    assert starts == sorted(set(starts), reverse=True)
    assert all(one[6] >= DUST for one in found)


def asked(won: WonMarkets, **query: Any) -> Any:
    answer = minutes(won, Request({name: str(value) for name, value in query.items()}, None, NOW_MS))
    return answer.status, json.loads(answer.body)


def test_a_candle_is_written_by_both_clocks() -> None:
    _, rows = asked(UTC_DAYS, market="krw-btc", unit=1, count=3)
    assert [row["unit"] for row in rows] == [1, 1, 1]
    for row in rows:
        utc, seoul = (datetime.fromisoformat(row[f"candle_date_time_{zone}"]) for zone in ("utc", "kst"))
        assert (seoul - utc).total_seconds() * 1000 == SEOUL_MS
    _, long = asked(UTC_DAYS, market="KRW-BTC", unit=1, count=10_000)
    assert len(long) <= MOST


def test_a_day_names_the_close_before_it() -> None:
    answer = days(UTC_DAYS, Request({"market": "KRW-BTC", "count": "3"}, None, NOW_MS))
    newest, before, _ = json.loads(answer.body)
    assert newest["prev_closing_price"] == before["trade_price"]
    assert newest["change_price"] == pytest.approx(newest["trade_price"] - before["trade_price"])


@pytest.mark.parametrize(
    ("query", "status", "words"),
    [
        ({"market": "KRW-BTC", "unit": 7}, 400, "Invalid parameter"),
        ({"market": "KRW-BTC", "unit": "x"}, 400, "Invalid parameter"),
        ({"unit": 1}, 400, "Missing request parameter"),
        ({"market": "KRW-NONE", "unit": 1}, 404, "Code not found"),
        ({"market": "KRW-BTC", "unit": 1, "to": "soon"}, 400, "Type mismatch"),
    ],
)
def test_a_wrong_request_gets_the_venues_error(query: dict[str, Any], status: int, words: str) -> None:
    found, body = asked(UTC_DAYS, **query)
    assert found == status
    assert words in body["error"]["message"]


@given(st.integers(0, 4_000_000_000))
def test_a_time_is_read_by_the_clock_of_its_venue(seconds: int) -> None:
    text = datetime.fromtimestamp(seconds, tz=None).astimezone().strftime("%Y-%m-%dT%H:%M:%S%z")
    assert to_ms(text, 0, 0) == seconds * 1000
    plain = text[:19]
    assert to_ms(plain, SEOUL_MS, 0) == to_ms(plain, 0, 0) - SEOUL_MS == to_ms(plain + "Z", SEOUL_MS, 0)
    assert to_ms("", 0, DAY_MS) == DAY_MS + 1
