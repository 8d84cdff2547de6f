"""Unrecorded periods in responses: of venues, of kinds, and before the first recorded minute."""

import io
import json
from typing import Any

import pyarrow.parquet as pq
import pytest

from tests.support.replica.replica import AS_OF_MS, DAY, LAST, MINUTE
from tests.support.servers.api_server import Api
from tests.support.servers.series_calls import DOWN, HOUR, OF_BOOKS


@pytest.mark.requirement("series:gaps", "series:gaps:clipped", "series:gaps:venue")
def test_gaps(api: Api) -> None:
    def at(minute: int) -> int:
        return LAST - minute * MINUTE

    down = {"start": at(100), "end": at(89), "venue": None, "reason": "recorder_down"}
    perp = {"start": at(300), "end": at(290), "venue": "binance", "reason": "venue_unreachable"}
    spot = {"start": at(290), "end": at(280), "venue": "binance", "reason": "venue_error"}
    bybit = {"start": at(200), "end": at(199), "venue": "bybit", "reason": "partial"}
    assert api.series("price", base="BTC")["gaps"] == [perp, down]
    assert api.series("price", base="BTC", type="all")["gaps"] == [perp, spot, down]
    assert api.series("price", base="BTC", type="spot")["gaps"] == [{**spot, "start": at(295)}, down]
    assert api.series("price", base="BTC", venue="bybit")["gaps"] == [down]
    assert api.series("liqs", base="BTC")["gaps"] == [bybit, down]
    assert api.series("liqs", market="bybit:perp:BTCUSDT")["gaps"] == [bybit, down]
    inside = api.series("price", base="BTC", start=at(295), end=at(95))["gaps"]
    assert inside == [{**perp, "start": at(295)}, {**down, "end": at(95)}]
    assert api.series("price", base="BTC", start=at(80), end=at(10))["gaps"] == []


@pytest.mark.requirement("series:gaps")
def test_time_before_the_first_recorded_minute_is_a_gap(api: Api) -> None:
    """Up to the first bucket that the venues' history filled, and wherever it has none."""
    since = AS_OF_MS - 3 * DAY

    def read(**query: Any) -> tuple[dict[str, Any], list[tuple[int, int]]]:
        got = api.series("price", base="BTC", **query)
        early = [gap for gap in got["gaps"] if gap["start"] < since]
        assert got["gaps"][: len(early)] == early
        assert all((gap["venue"], gap["reason"]) == (None, "before_recording") for gap in early)
        return got, [(gap["start"], gap["end"]) for gap in early]

    # The replica has minutes of its last three days alone.
    long_ago = AS_OF_MS // DAY * DAY - 2000 * DAY
    got, early = read(start=long_ago, end=long_ago + DAY, step="1h")
    assert (got["t"], early) == ([], [(long_ago, long_ago + DAY)])
    # Its days reach further back than the recording: those are known, the time before them is not.
    got, early = read(start=long_ago + 900 * DAY, end=long_ago + 1100 * DAY, step="1d")
    assert early[0] == (got["start"], got["t"][0])
    assert long_ago + 990 * DAY < got["t"][0] < long_ago + 1010 * DAY
    # Hours that are missing among them, and none after the recording began.
    market = api.series("price", market="binance:perp:BTCUSDT", start=since - 10 * DAY, end=since + DAY, step="1h")
    missing = sorted(set(range(market["start"], since, HOUR)) - set(market["t"]))
    inside = [gap for gap in market["gaps"] if gap["start"] < since]
    covered = [t for gap in inside for t in range(gap["start"], gap["end"], HOUR)]
    assert covered == missing
    assert missing
    # What has no history: the bucket in which the recording began is known from there on, whatever the step.
    day = since - since % DAY
    for step in ("1m", "1h", "1d"):
        liquidated = api.series("liquidations", base="BTC", start=day, end=day + DAY, step=step)
        assert liquidated["gaps"][0] == {"start": day, "end": since, "venue": None, "reason": "before_recording"}
    overlay = api.get("/api/coins/overlay?c=BTC,ETH&range=30d").json
    for base in ("BTC", "ETH"):
        same = api.series("price", base=base, start=overlay["start"], end=overlay["end"], step="1h")
        early = [gap for gap in same["gaps"] if gap["start"] < since]
        assert [gap for gap in overlay["gaps"][base] if gap["start"] < since] == early
        assert early
    table = api.get(f"/api/series/price?base=BTC&start={long_ago}&range=1d&format=parquet").body
    about = json.loads(pq.read_schema(io.BytesIO(table)).metadata[b"tidemark"])
    assert [(gap["start"], gap["end"]) for gap in about["gaps"]] == [(long_ago, long_ago + DAY)]


@pytest.mark.requirement("series:ratios:gaps", "series:gaps", "series:gaps:venue")
def test_gaps_are_those_of_the_kind_and_of_the_venues_that_count(api: Api) -> None:
    def gap(start: int, end: int, venue: str, reason: str) -> dict[str, Any]:
        return {"start": LAST - start * MINUTE, "end": LAST - end * MINUTE, "venue": venue, "reason": reason}

    okx, bybit = gap(400, 395, "okx", "venue_error"), gap(390, 385, "bybit", "venue_error")
    tops, books = gap(380, 375, "binance", "partial"), gap(370, 368, "bybit", "venue_unreachable")
    tickers = gap(300, 290, "binance", "venue_unreachable")
    assert api.series("long-short", base="BTC")["gaps"] == [bybit, DOWN]
    assert api.series("long-short", base="BTC", venue="okx")["gaps"] == [okx, DOWN]
    assert api.series("long-short", base="BTC", venue="binance")["gaps"] == [DOWN]
    assert api.series("long-short", base="BTC", kind="top_acct")["gaps"] == [tops, DOWN]
    assert api.series("long-short", base="BTC", kind="taker_buy")["gaps"] == [DOWN]
    assert api.series("top-vs-crowd", base="BTC")["gaps"] == [tops, DOWN]
    assert api.series("whale-vs-retail", base="BTC")["gaps"] == [DOWN]
    assert api.series("net-positioning", base="BTC")["gaps"] == [okx, bybit, tickers, DOWN]
    assert api.series("net-positioning", market="bybit:perp:BTCUSDT")["gaps"] == [bybit, DOWN]
    for metric in OF_BOOKS:
        assert api.series(metric, base="BTC")["gaps"] == [books, DOWN]
        assert api.series(metric, base="BTC", venue="binance")["gaps"] == [DOWN]
