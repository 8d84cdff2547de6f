"""The requests of a venue in a minute: cadence, rotation of the other keys, ranks, missing bars."""

import json
from collections import Counter
from dataclasses import replace
from typing import Any

from ingest.declaration.endpoint import Bars, FanOut, Keys
from ingest.declaration.venue import Venue
from ingest.landing.rows import Row
from ingest.recorder.schedule import Schedule
from ingest.venues.binance import BINANCE
from ingest.venues.hyperliquid import HYPERLIQUID
from tests.support.servers.loopback_market import BARS, POOL, TICKERS, volumes

MINUTE = 60_000


def answered(endpoint: str, key: str, tick_ms: int, body: Any = None) -> Row:
    return Row(tick_ms, "test", endpoint, key, "{}", 200, tick_ms, tick_ms + 1, 1, None, json.dumps(body))


def test_cadence() -> None:
    """Everything at the first minute, hourly ones then at the full hour, a failed one again at the next minute."""
    hourly = replace(TICKERS, name="instruments", every_s=3600)
    schedule = Schedule(Venue("test", (POOL,), (TICKERS, hourly)), MINUTE)
    start = 10_000 * 3_600_000 + 17 * MINUTE
    asked = [
        minute
        for minute in range(17, 130)
        if "instruments" in [endpoint.name for endpoint in schedule.due(start + (minute - 17) * MINUTE)]
    ]
    assert asked == [17, 60, 120]
    schedule.done(Row(0, "test", "instruments", "", "{}", 500, 0, 1, 1, "HTTP 500", None))
    assert "instruments" in [endpoint.name for endpoint in schedule.due(start + 113 * MINUTE)]


def test_other_keys_are_requested_once_an_hour_evenly() -> None:
    """The first by volume every minute; all others once an hour, as many in each minute."""
    schedule = Schedule(Venue("test", (POOL,), (TICKERS, BARS)), MINUTE)
    keys = [f"k{n:03d}" for n in range(302)]
    ranked = [{"symbol": key, "volume": 1000 - n} for n, key in enumerate(keys)]
    schedule.catalogue.learn(answered("perp_tickers", "", 0, ranked))
    minutes = [[request.key for request in schedule.requests(BARS, minute * MINUTE)] for minute in range(1, 61)]
    assert all(asked[:2] == keys[:2] and len(asked) == 7 for asked in minutes)
    assert Counter(key for asked in minutes for key in asked[2:]) == Counter(keys[2:])


def test_other_keys_requested_every_five_minutes_rotate_within_an_hour() -> None:
    ratios = replace(BARS, name="ratios", every_s=300)
    schedule = Schedule(Venue("test", (POOL,), (TICKERS, ratios)), MINUTE)
    keys = [f"k{n:03d}" for n in range(122)]
    schedule.catalogue.learn(
        answered("perp_tickers", "", 0, [{"symbol": key, "volume": 1000 - n} for n, key in enumerate(keys)])
    )
    asked = []
    for minute in range(60, 120):
        due = [endpoint.name for endpoint in schedule.due(minute * MINUTE)]
        assert ("ratios" in due) == (minute % 5 == 0)
        if "ratios" in due:
            asked.append([request.key for request in schedule.requests(ratios, minute * MINUTE)])
        # A key that never answers does not have all of them asked every minute.
        schedule.done(Row(minute * MINUTE, "test", "ratios", "k005", "{}", 400, 0, 1, 1, "HTTP 400", None))
    assert all(len(one) == 12 for one in asked)
    assert Counter(key for one in asked for key in one[2:]) == Counter(keys[2:])


def test_a_rank_can_be_a_product_of_two_bodies() -> None:
    held = Keys("held", lambda body: [(body["symbol"], body["size"])], times=Keys("perp_tickers", volumes))
    fan_out = replace(BARS, name="books", fan_out=FanOut(held, top=2))
    schedule = Schedule(Venue("test", (POOL,), (TICKERS, replace(BARS, name="held"), fan_out)), MINUTE)
    assert schedule.unknown(fan_out) == ["held", "perp_tickers"]
    prices = [{"symbol": symbol, "volume": price} for symbol, price in (("a", 1), ("b", 50), ("c", 2))]
    schedule.catalogue.learn(answered("perp_tickers", "", 0, prices))
    for symbol, size in (("a", 90), ("b", 2), ("c", 30), ("unpriced", 999)):
        schedule.catalogue.learn(answered("held", symbol, 0, {"symbol": symbol, "size": size}))
    assert [request.key for request in schedule.requests(fan_out, 0)] == ["b", "a"]


def test_bars_catch_up_after_a_start_and_after_failures() -> None:
    endpoint = replace(BARS, bars=Bars(first=40))
    schedule = Schedule(Venue("test", (POOL,), (TICKERS, endpoint)), MINUTE)
    schedule.catalogue.learn(answered("perp_tickers", "", 0, [{"symbol": "a", "volume": 1}]))

    def bars(minute: int) -> int:
        (request,) = schedule.requests(endpoint, minute * MINUTE)
        return request.bars

    assert bars(100) == 40, "of a market that was never asked"
    schedule.done(answered("perp_bars", "a", 100 * MINUTE))
    assert bars(101) == 3
    assert bars(111) == 13
    assert bars(1000) == 99


def test_binance_open_interest_is_asked_of_trading_perpetuals() -> None:
    schedule = Schedule(BINANCE, MINUTE)
    ticker = {"quoteVolume": "1", "count": 5}
    schedule.catalogue.learn(
        answered("perp_tickers", "", 0, [ticker | {"symbol": s} for s in ("A", "B", "C", "D", "A_260327")])
    )
    funded = [{"symbol": "A", "nextFundingTime": 1}, {"symbol": "B", "nextFundingTime": 0}]
    funded += [{"symbol": "C", "nextFundingTime": 1}, {"symbol": "A_260327", "nextFundingTime": 0}]
    schedule.catalogue.learn(answered("funding", "", 0, funded))
    info = {"symbols": [{"symbol": "A", "status": "TRADING"}, {"symbol": "C", "status": "SETTLING"}]}
    schedule.catalogue.learn(answered("instruments", "", 0, info))
    (endpoint,) = [endpoint for endpoint in BINANCE.endpoints if endpoint.name == "open_interest"]
    assert [request.key for request in schedule.requests(endpoint, 0)] == ["A"]


def test_hyperliquid_fans_out_over_dexes_and_their_coins() -> None:
    schedule = Schedule(HYPERLIQUID, MINUTE)
    endpoints = {endpoint.name: endpoint for endpoint in HYPERLIQUID.endpoints}
    schedule.catalogue.learn(answered("perp_dexes", "", 0, [None, {"name": "xyz"}]))
    assert [request.key for request in schedule.requests(endpoints["perp_tickers"], 0)] == ["", "xyz"]
    core = [{"universe": [{"name": "BTC"}, {"name": "OLD", "isDelisted": True}]}, [{"dayNtlVlm": "5"}] * 2]
    schedule.catalogue.learn(answered("perp_tickers", "", 0, core))
    dex = [{"universe": [{"name": "xyz:TSLA"}]}, [{"dayNtlVlm": "9"}]]
    schedule.catalogue.learn(answered("perp_tickers", "xyz", 0, dex))
    assert [request.key for request in schedule.requests(endpoints["perp_bars"], 0)] == ["xyz:TSLA", "BTC"]
