"""Quotation of won markets: who is listed, and tickers whose day is the venue's own."""

import numpy as np
import pytest

from sandbox.market.clock import Clock
from sandbox.market.listing import ANCHOR_MS
from sandbox.market.universe import build_universe
from sandbox.market.world import build_world
from sandbox.wire.won_market import DAY_MS, HOUR_MS, MINUTE_MS, SEOUL_MS, WonMarkets, date, failure

NOW_MS = ANCHOR_MS + 7 * HOUR_MS + 37_500
WORLD = build_world(build_universe("small"), 1, Clock(fixed_ms=NOW_MS))
UPBIT, BITHUMB = WonMarkets(WORLD, "upbit", 0, False), WonMarkets(WORLD, "bithumb", SEOUL_MS, True)
both = pytest.mark.parametrize("won", [UPBIT, BITHUMB], ids=["upbit", "bithumb"])


@both
def test_markets_are_those_that_trade_now(won: WonMarkets) -> None:
    listed = WORLD.minute(NOW_MS // MINUTE_MS).listed
    expected = [WORLD.universe.listings[row].symbol for row in won.rows.tolist() if listed[row]]
    assert [one["market"] for one in won.markets(NOW_MS, details=False)] == expected
    warned = {"market_event"} if won is UPBIT else {"market_warning"}
    assert {name for one in won.markets(NOW_MS, details=True) for name in one} == {
        "market", "korean_name", "english_name", *warned}  # fmt: skip


@both
def test_a_ticker_lies_within_its_day_and_its_year(won: WonMarkets) -> None:
    rows = won.listed(NOW_MS)
    last = WORLD.last(NOW_MS)
    for row, one in zip(rows, won.tickers(rows, NOW_MS), strict=True):
        assert one["trade_price"] == last[row]
        assert one["low_price"] <= one["trade_price"] <= one["high_price"]
        assert one["lowest_52_week_price"] <= one["low_price"]
        assert one["highest_52_week_price"] >= one["high_price"]
        moved = one["trade_price"] - one["prev_closing_price"]
        assert one["signed_change_price"] == pytest.approx(moved, abs=1e-8)
        assert one["change"] == {1: "RISE", -1: "FALL", 0: "EVEN"}[int(np.sign(one["signed_change_price"]))]
        assert one["acc_trade_price"] <= one["acc_trade_price_24h"] * (1 + 1e-9)
        assert NOW_MS - DAY_MS <= one["trade_timestamp"] - won.ahead_ms <= NOW_MS


def test_the_day_of_seoul_began_nine_hours_before_that_of_utc() -> None:
    """Seven hours into the UTC day it is 16 o'clock in Seoul, so that day has sixteen hours of volume."""
    found = {won.venue: won.today(NOW_MS) for won in (UPBIT, BITHUMB)}
    for won, hours in ((UPBIT, 7), (BITHUMB, 16)):
        row = won.by_symbol["KRW-BTC"]
        first = NOW_MS // MINUTE_MS - hours * 60
        at = won.rows.tolist().index(row)
        true = WORLD.bars(row, first, hours * 60).quote_volume.sum()
        assert found[won.venue].quote[at] == pytest.approx(true, rel=1e-9)


@both
def test_the_last_trade_is_longer_ago_in_a_market_that_trades_less(won: WonMarkets) -> None:
    trades = WORLD.minute(NOW_MS // MINUTE_MS).trades_24h
    times = [NOW_MS + n * 1000 for n in range(40)]
    most, least = (pick(won.listed(NOW_MS), key=lambda row: trades[row]) for pick in (max, min))
    waits = {row: [at - won.traded_ms(row, at) for at in times] for row in (most, least)}
    assert all(0 <= wait <= DAY_MS / trades[row] for row, found in waits.items() for wait in found)
    assert np.mean(waits[most]) < np.mean(waits[least])


def test_numbers_are_whole_where_the_venue_writes_them_so() -> None:
    assert [repr(won.price(95_000_000.0)) for won in (UPBIT, BITHUMB)] == ["95000000.0", "95000000"]
    assert [won.price(0.5) for won in (UPBIT, BITHUMB)] == [0.5, 0.5]


def test_dates_and_errors_are_written_as_the_venues_do() -> None:
    assert date(1_672_531_199_000) == "2022-12-31"
    assert date(1_672_531_199_000 + SEOUL_MS, "%H%M%S") == "085959"
    answer = failure(429, "Too many", "too_many_requests")
    assert (answer.status, answer.body) == (429, b'{"error":{"name":"too_many_requests","message":"Too many"}}')
    assert failure(404, "Code not found").body == b'{"error":{"name":404,"message":"Code not found"}}'
