"""Lighter: staging of real and documented bodies, checked by two independent computations; the simulator; a recorded
minute."""

import asyncio
import csv
import gzip
import itertools
import json
import math
import re
from collections import Counter
from contextlib import suppress
from pathlib import Path
from typing import Any

import ccxt
import pytest

from ingest.landing.rows import Row as Landed
from ingest.recorder.schedule import Catalogue, Schedule
from ingest.recorder.shares import Shares
from ingest.recorder.streams import StreamRecorder
from ingest.venues.lighter import LIGHTER
from sandbox.http.streams import liquidations_of
from sandbox.market.clock import Clock
from sandbox.market.listing import ANCHOR_MS
from sandbox.market.universe import build_universe
from sandbox.market.world import build_world
from sandbox.venues.lighter.market import endpoints
from sandbox.venues.lighter.streams import frames
from sandbox.wire.endpoint import Request
from tests.ingest.venues.conftest import FirstMinute
from tests.support.pipeline.warehouse import MINUTE, Warehouse, response, seeded, span
from tests.support.recordings.conformance import differences
from tests.support.recordings.recorded import read
from tests.support.servers.loopback_stream import until
from tests.support.servers.sandbox_client import sandbox

NOW_MS = ANCHOR_MS + 12_345
AT_MS = 1_790_000_000_000 // MINUTE * MINUTE
Row = tuple[str, dict[str, Any]]


def nautilus(folder: Path, name: str) -> Any:
    return next(e["json"] for e in read(folder / "lighter" / "samples.nautilus.json") if e["file"] == f"{name}.json")


def documented(folder: Path, name: str) -> Any:
    text = next(e["text"] for e in read(folder / "lighter" / "samples.jkorf.json") if e["file"].endswith(name))
    return json.loads(text[re.search(r"^\{", text, re.M).start() :])  # type: ignore[union-attr]


def ws(folder: Path, kind: str) -> list[dict[str, Any]]:
    messages = [entry["message"] for entry in read(folder / "lighter" / "ws-messages.tardis.json")]
    return [message for message in messages if message["type"].endswith(kind)]


def perp(row: dict[str, Any]) -> Row:
    parsed = ccxt.lighter().parse_ticker(row)
    return row["symbol"], {
        "last_price": parsed["last"], "vol24h_quote": parsed["quoteVolume"], "mark_price": parsed["markPrice"],
        "index_price": parsed["indexPrice"], "open_interest": float(row["open_interest"]),
    }  # fmt: skip


def recorded(folder: Path) -> tuple[list[dict[str, Any]], dict[str, list[Row]]]:
    """Landed rows of two minutes, and per kind what must come out."""
    details, other = nautilus(folder, "http_order_book_details"), documented(folder, "GetSymbolDetails.txt")
    rates = read(folder / "lighter" / "api_v1_funding-rates.2026-07.json")
    candles, fundings = nautilus(folder, "http_candles"), nautilus(folder, "http_fundings")
    names = {str(row["market_id"]): name for name, row in read(folder / "lighter" / "markets_apr2026.json").items()}
    trades = [*ws(folder, "/trade"), nautilus(folder, "ws_trade_subscribed"), nautilus(folder, "ws_trade_update")]
    rows = [
        response(AT_MS, "lighter", "perp_tickers", details),
        response(AT_MS + MINUTE, "lighter", "perp_tickers", other),
        response(AT_MS, "lighter", "funding", rates),
        response(AT_MS, "lighter", "perp_bars", candles, key="0:ETH"),
        response(AT_MS, "lighter", "perp_bars", nautilus(folder, "http_candles_null"), key="1:BTC"),
        response(AT_MS, "lighter", "spot_bars", documented(folder, "GetKlines.txt"), key="2048:ETH/USDC"),
        response(AT_MS, "lighter", "settlements", fundings, key="1:BTC"),
        span(AT_MS, "lighter", trades, key="1"),
    ]
    parser = ccxt.lighter()
    spot = other["spot_order_book_details"]
    bars = {
        "perp_bars": [("ETH", one) for one in candles["c"]],
        "spot_bars": [("ETH/USDC", one) for one in documented(folder, "GetKlines.txt")["c"]],
    }
    expected: dict[str, list[Row]] = {
        "perp_tickers": [perp(row) for body in (details, other) for row in body["order_book_details"]],
        "instruments": [
            (row["symbol"], {"base_raw": row["symbol"], "quote": "USDC", "status": "trading", "interval_h": 1.0})
            for body in (details, other) for row in body["order_book_details"]
        ],
        "spot_tickers": [
            (row["symbol"], {"last_price": row["last_trade_price"], "vol24h_quote": row["daily_quote_token_volume"]})
            for row in spot
        ],
        "spot_instruments": [
            (row["symbol"], {"base_raw": "ETH", "quote": "USDC", "status": "trading"}) for row in spot
        ],
        "funding": [
            (row["symbol"], {"funding_rate": parser.parse_funding_rate(row)["fundingRate"] / 8, "interval_h": 1.0})
            for row in rates["funding_rates"] if row["exchange"] == "lighter"
        ],
        "settlements": [
            ("BTC", {"settled_ms": row["timestamp"] * 1000,
                     "funding_rate": float(row["rate"]) / 100 * (1 if row["direction"] == "long" else -1)})
            for row in fundings["fundings"]
        ],
        "liquidations": [
            (names[str(trade["market_id"])], {
                "side": "short" if trade["is_maker_ask"] else "long", "ts": trade["timestamp"],
                "size": float(trade["size"]), "price": float(trade["price"]),
            })
            for frame in trades if frame["type"] == "update/trade" for trade in frame.get("liquidation_trades", ())
        ],
    }  # fmt: skip
    for kind, found in bars.items():
        expected[kind] = []
        for symbol, one in found:
            at, opened, high, low, close, volume = parser.parse_ohlcv(one)
            expected[kind].append((symbol, {
                "opened_ms": at, "open": opened, "high": high, "low": low, "close": close, "volume": volume,
                "turnover": one["V"], "closed_ms": at + 59_999,
            }))  # fmt: skip
    return rows, expected


@pytest.fixture(scope="module")
def staged(tmp_path_factory: pytest.TempPathFactory) -> Warehouse:
    """A warehouse with Lighter's staging views alone."""
    return seeded(tmp_path_factory.mktemp("lighter"))


def same(got: Any, expected: Any) -> bool:
    if isinstance(got, float) and isinstance(expected, int | float):
        return math.isclose(got, expected, rel_tol=1e-12)
    return bool(got == expected)


def test_every_recorded_value_is_the_bodys(
    recordings: Path, staged: Warehouse, capsys: pytest.CaptureFixture[str]
) -> None:
    rows, expected = recorded(recordings)
    staged.reset().build(rows, "raw_window")
    compared = Counter[str]()
    for kind, wanted in expected.items():
        columns = list(wanted[0][1])
        query = f"select symbol, {', '.join(columns)} from stg_lighter__{kind} where reject is null"
        found = [(symbol, dict(zip(columns, values, strict=True))) for symbol, *values in staged.rows(query)]
        assert len(found) == len(wanted), (kind, found)
        for symbol, values in wanted:
            compared[kind] += 1
            assert any(
                name == symbol and all(same(one[key], value) for key, value in values.items()) for name, one in found
            ), (kind, symbol, values, found[:3])
        assert staged.rows(f"select * from stg_lighter__{kind} where reject is not null") == []
    with capsys.disabled():
        print(f"\nrecorded rows of Lighter compared: {dict(compared)}")
    assert compared["funding"] > 5
    assert compared["liquidations"] == 1


def test_funding_rates_equal_the_streams_of_the_same_hour(recordings: Path) -> None:
    """An eighth of the recorded 8 h fraction (funding log) is the WebSocket's percent per hour."""
    stats = ws(recordings, "subscribed/market_stats")[0]
    at_s = stats["timestamp"] / 1000
    text = gzip.decompress((recordings / "lighter" / "funding_log_apr2026.csv.gz").read_bytes()).decode()
    logged: dict[str, list[float]] = {}
    for row in csv.DictReader(text.splitlines()):
        day, clock = row["timestamp_utc"].split(" ")
        if day == "2026-04-20" and clock < "16:00":
            logged.setdefault(row["coin"], []).append(float(row["funding_rate_1h"]))
    assert at_s == pytest.approx(1776694043.4)  # 14:07 UTC of that day
    for market in stats["market_stats"].values():
        percent = float(market["current_funding_rate"])
        assert any(rate * 100 == pytest.approx(percent, abs=0.0004) for rate in logged[market["symbol"]])


def test_markets_without_the_list_are_named_by_the_keys_of_the_minute(staged: Warehouse) -> None:
    """The market list failed, a candle request too: its key still names the market. An unknown one is incomplete."""
    trade = {
        "trade_id": 5, "type": "liquidation", "market_id": 7, "size": "2", "price": "10.5", "is_maker_ask": False,
        "timestamp": AT_MS + 1,
    }  # fmt: skip
    update = {"type": "update/trade", "channel": "trade:7", "trades": [], "liquidation_trades": [trade]}
    adl = {**update, "liquidation_trades": [trade | {"type": "deleverage", "trade_id": 6}]}
    unknown = {**update, "liquidation_trades": [trade | {"market_id": 99, "trade_id": 8}]}
    rows = [
        response(AT_MS, "lighter", "perp_tickers", None, status=500, error="HTTP 500"),
        response(AT_MS, "lighter", "perp_bars", None, key="7:LINK", status=None, error="no answer"),
        span(AT_MS, "lighter", [update, adl, update, {**update, "type": "subscribed/trade"}, unknown], key="1"),
        span(AT_MS, "lighter", [update], key="2"),
    ]
    staged.reset().build(rows, "raw_window")
    found = staged.rows("select symbol, side, size, price, reject from stg_lighter__liquidations order by symbol")
    assert found == [("LINK", "long", 2.0, 10.5, None), (None, "long", 2.0, 10.5, "incomplete")]


def test_unreadable_bodies_are_rejected_with_a_reason(staged: Warehouse) -> None:
    halted = {"symbol": "OLD", "market_id": 3, "status": "inactive", "last_trade_price": 1, "open_interest": 0,
              "daily_quote_token_volume": 0}  # fmt: skip
    rows = [
        response(AT_MS, "lighter", "perp_tickers", {"code": 200, "order_book_details": [halted]}),
        response(AT_MS + MINUTE, "lighter", "perp_tickers", "<html>"),
        response(AT_MS, "lighter", "funding", {"code": 200}),
        response(AT_MS, "lighter", "perp_bars", '{"code":200,"c":[{"t":1', key="0:ETH"),
        span(AT_MS, "lighter", ["half {"], key="1"),
        response(AT_MS + MINUTE, "lighter", "liquidations", "[{", status=101, key="1"),
    ]
    staged.reset().build(rows, "raw_window")
    assert staged.rows("select tick_ms, symbol, reject from stg_lighter__perp_tickers") == [
        (AT_MS + MINUTE, None, "unreadable")
    ]
    assert staged.rows("select symbol, status, reject from stg_lighter__instruments order by tick_ms") == [
        ("OLD", "halted", None), (None, None, "unreadable")
    ]  # fmt: skip
    assert staged.rows("select reject from stg_lighter__funding") == [("unreadable",)]
    assert staged.rows("select reject from stg_lighter__perp_bars") == [("unreadable",)]
    rejects = staged.rows("select tick_ms, reject from stg_lighter__liquidations order by tick_ms")
    assert rejects == [(AT_MS, "incomplete"), (AT_MS + MINUTE, "unreadable")]


def test_the_simulator_responds_like_the_venue(recordings: Path, first_minute: FirstMinute) -> None:
    asked = {row["endpoint"]: json.loads(row["body"]) for row in first_minute.rows["lighter"]}
    assert set(asked) - {"liquidations"} == {endpoint.name for endpoint in LIGHTER.endpoints}
    details = nautilus(recordings, "http_order_book_details")
    # The recorded body is older than the mark and index prices, and lists no spot pair.
    newer = {"order_book_details[].mark_price", "order_book_details[].index_price"}
    assert differences(details, asked["perp_tickers"], optional={*newer, "spot_order_book_details"}) == []
    spot = documented(recordings, "GetSymbolDetails.txt")["spot_order_book_details"]
    enabled = {"[].is_taker_fee_enabled", "[].is_maker_fee_enabled"}
    pairs = asked["perp_tickers"]["spot_order_book_details"]
    assert differences(spot, pairs, optional=enabled, ignored={"[].daily_chart"}, unscaled={"min_quote_amount"}) == []
    rates = read(recordings / "lighter" / "api_v1_funding-rates.2026-07.json")
    assert differences(rates, asked["funding"]) == []
    for kind in ("perp_bars", "spot_bars"):
        assert differences(nautilus(recordings, "http_candles"), asked[kind], tolerance=1e6) == []
    # The documented time is a text in one place and a number in the capture: the capture counts.
    assert differences(nautilus(recordings, "http_fundings"), asked["settlements"]) == []
    trades = [frame for frame in ws(recordings, "update/trade") if "liquidation_trades" in frame]
    world, now = first_minute.world, NOW_MS // MINUTE
    shown = [json.loads(text) for at in range(1, 30) for _, _, text in frames(world, now - at)]
    assert differences(trades, shown, optional={"taker_fee", "taker_position_sign_changed"}, tolerance=1e9) == []


def test_settlements_are_asked_of_a_few_markets_and_twelve_hours_back(first_minute: FirstMinute) -> None:
    settled = first_minute.warehouse.rows("select symbol, settled_ms from stg_lighter__settlements")
    assert len(settled) == 13 * len({symbol for symbol, _ in settled}) > 0
    hour = first_minute.world.clock.now_ms() // 3_600_000
    assert {at for _, at in settled} == {(hour - back) * 3_600_000 for back in range(13)}


async def test_a_minute_stays_within_the_venues_limit() -> None:
    """With the full number of markets, no minute asks more than the budget, and all are reached: bars within the hour,
    settlements within four."""
    world = build_world(build_universe("full"), 1, Clock(fixed_ms=NOW_MS))
    details = next(endpoint for endpoint in endpoints(world) if endpoint.path.endswith("orderBookDetails"))
    body = details.respond(Request({}, None, NOW_MS)).body.decode()
    schedule = Schedule(LIGHTER, MINUTE)
    schedule.done(Landed(0, "lighter", "perp_tickers", "", "{}", 200, 0, 1, 1, None, body))
    asked: dict[str, set[str]] = {}
    for minute in range(240):
        at_ms = (NOW_MS // MINUTE + minute) * MINUTE
        asks = [(one.name, ask) for one in schedule.due(at_ms) for ask in schedule.requests(one, at_ms)]
        assert len(asks) <= 56
        for name, ask in asks:
            if minute < 60 or name == "settlements":
                asked.setdefault(name, set()).add(ask.key)
    active = [row for row in json.loads(body)["order_book_details"] if row["status"] == "active"]
    assert len(active) > 190
    assert asked["perp_bars"] == asked["settlements"] == {f"{row['market_id']}:{row['symbol']}" for row in active}
    assert len(asked["spot_bars"]) == 15


async def test_liquidations_of_every_market_come_over_three_connections(staged: Warehouse) -> None:
    """With the venue's limit on messages enforced; old events in the answers to subscriptions are not counted."""
    (stream,) = LIGHTER.streams
    rows: list[Landed] = []
    catalogue, shares = Catalogue(LIGHTER), Shares(stream.connections, stream.topics_each)
    async with sandbox(now_ms=NOW_MS) as venue:
        markets = await venue.get("/mainnet.zklighter.elliot.ai/api/v1/orderBookDetails")
        landed = Landed(
            NOW_MS // MINUTE * MINUTE, "lighter", "perp_tickers", "", "{}", 200, 0, 1, 1, None, markets.text
        )
        catalogue.learn(landed)
        recorders = [
            StreamRecorder(LIGHTER, stream, venue.url, catalogue, MINUTE, rows.append, shares, n)
            for n in range(stream.connections)
        ]
        tasks = [asyncio.create_task(one.run()) for one in recorders]
        try:
            await until(lambda: all(one.connected for one in recorders), 60)
            hub, world = venue.app.ctx.sandbox.hub, venue.app.ctx.sandbox.world
            topics = Counter(itertools.chain.from_iterable(one.topics for one in hub.connections))
            active = [row for row in markets.json["order_book_details"] if row["status"] == "active"]
            assert topics == Counter(f"trade:{row['market_id']}" for row in active)
            first = NOW_MS // MINUTE - 60
            hub.send_due(first * MINUTE + 1000, (first + 60) * MINUTE)
            sent = [event for at in range(first, first + 60) for event in liquidations_of(world, "lighter", at)]
            # A frame is due 50 ms after its event.
            sent = [one for one in sent if first * MINUTE + 1000 < one.ts + 50 <= (first + 60) * MINUTE]
            await until(lambda: sum((row.body or "").count('"update/trade"') for row in rows) == len(sent))
        finally:
            for task in tasks:
                task.cancel()
                with suppress(asyncio.CancelledError):
                    await task
    assert len(sent) > 20
    assert {row.key for row in rows} == {"1", "2", "3"}
    assert any('"subscribed/trade"' in (row.body or "") for row in rows)
    minutes = {row.tick_ms for row in rows}
    landed = landed._replace(tick_ms=max(minutes))
    staged.reset().build([row._asdict() for row in (landed, *rows)], "raw_window")
    found = staged.rows("select symbol, side, ts, size * price, reject from stg_lighter__liquidations order by all")
    wanted = sorted((event.listing.symbol, "long" if event.long else "short", event.ts) for event in sent)
    assert [row[:3] for row in found] == wanted
    assert {row[4] for row in found} == {None}
    assert sum(row[3] for row in found) == pytest.approx(sum(event.size * event.price for event in sent), rel=1e-6)


async def test_the_simulator_refuses_like_the_venue() -> None:
    async with sandbox(now_ms=NOW_MS) as venue:
        root = "/mainnet.zklighter.elliot.ai/api/v1"
        assert (await venue.get(f"{root}/candles", market_id=1)).json["code"] == 20001
        assert (await venue.get(f"{root}/orderBookDetails", market_id=9999)).status == 400
        answers = [(await venue.get(f"{root}/funding-rates")).status for _ in range(60)]
        assert (answers[0], answers[-1]) == (200, 429)
        async with venue.session.ws_connect(venue.url + "/mainnet.zklighter.elliot.ai/stream?readonly=true") as socket:
            assert (await socket.receive_json())["type"] == "connected"
            for sent, answer in (
                ({"type": "ping"}, '"pong"'),
                ({"type": "subscribe", "channel": "trade/1"}, '"subscribed/trade"'),
                ({"type": "subscribe", "channel": "trade/1"}, "Already Subscribed"),
                ({"type": "subscribe", "channel": "trade/9999"}, "Invalid Channel"),
            ):
                await socket.send_json(sent)
                assert answer in (await socket.receive_str())
            for _ in range(200):
                await socket.send_json({"type": "ping"})
            received = [await socket.receive_str() for _ in range(200)]
            assert "Too Many Websocket Messages" in received[-1]
