"""Lighter: what it really sent or documents, by two routes; its stand-in, its declaration and the truth."""

import csv
import gzip
import json
import math
import re
from collections import Counter
from pathlib import Path
from typing import Any

import ccxt
import pytest

from tests.recorded import read
from tests.warehouse import MINUTE, Warehouse, response, span

TICK = 1_790_000_000_000 // MINUTE * MINUTE
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
    """Landed rows of two ticks, and per kind what must come out."""
    details, other = nautilus(folder, "http_order_book_details"), documented(folder, "GetSymbolDetails.txt")
    rates = read(folder / "lighter" / "api_v1_funding-rates.2026-07.json")
    candles, fundings = nautilus(folder, "http_candles"), nautilus(folder, "http_fundings")
    names = {str(row["market_id"]): name for name, row in read(folder / "lighter" / "markets_apr2026.json").items()}
    trades = [*ws(folder, "/trade"), nautilus(folder, "ws_trade_subscribed"), nautilus(folder, "ws_trade_update")]
    rows = [
        response(TICK, "lighter", "perp_tickers", details),
        response(TICK + MINUTE, "lighter", "perp_tickers", other),
        response(TICK, "lighter", "funding", rates),
        response(TICK, "lighter", "perp_bars", candles, key="0:ETH"),
        response(TICK, "lighter", "perp_bars", nautilus(folder, "http_candles_null"), key="1:BTC"),
        response(TICK, "lighter", "spot_bars", documented(folder, "GetKlines.txt"), key="2048:ETH/USDC"),
        response(TICK, "lighter", "settlements", fundings, key="1:BTC"),
        span(TICK, "lighter", trades, key="1"),
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
    warehouse = Warehouse(tmp_path_factory.mktemp("lighter")).create()
    warehouse.dbt("run", "--select", "raw_window", "path:models/staging/lighter")
    warehouse.keep()
    return warehouse


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


def test_rates_are_what_the_stream_says_of_the_same_hour(recordings: Path) -> None:
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
        "timestamp": TICK + 1,
    }  # fmt: skip
    update = {"type": "update/trade", "channel": "trade:7", "trades": [], "liquidation_trades": [trade]}
    adl = {**update, "liquidation_trades": [trade | {"type": "deleverage", "trade_id": 6}]}
    unknown = {**update, "liquidation_trades": [trade | {"market_id": 99, "trade_id": 8}]}
    rows = [
        response(TICK, "lighter", "perp_tickers", None, status=500, error="HTTP 500"),
        response(TICK, "lighter", "perp_bars", None, key="7:LINK", status=None, error="no answer"),
        span(TICK, "lighter", [update, adl, update, {**update, "type": "subscribed/trade"}, unknown], key="1"),
        span(TICK, "lighter", [update], key="2"),
    ]
    staged.reset().build(rows, "raw_window")
    found = staged.rows("select symbol, side, size, price, reject from stg_lighter__liquidations order by symbol")
    assert found == [("LINK", "long", 2.0, 10.5, None), (None, "long", 2.0, 10.5, "incomplete")]


def test_what_cannot_be_read_is_said(staged: Warehouse) -> None:
    halted = {"symbol": "OLD", "market_id": 3, "status": "inactive", "last_trade_price": 1, "open_interest": 0,
              "daily_quote_token_volume": 0}  # fmt: skip
    rows = [
        response(TICK, "lighter", "perp_tickers", {"code": 200, "order_book_details": [halted]}),
        response(TICK + MINUTE, "lighter", "perp_tickers", "<html>"),
        response(TICK, "lighter", "funding", {"code": 200}),
        response(TICK, "lighter", "perp_bars", '{"code":200,"c":[{"t":1', key="0:ETH"),
        span(TICK, "lighter", ["half {"], key="1"),
        response(TICK + MINUTE, "lighter", "liquidations", "[{", status=101, key="1"),
    ]
    staged.reset().build(rows, "raw_window")
    assert staged.rows("select tick_ms, symbol, reject from stg_lighter__perp_tickers") == [
        (TICK + MINUTE, None, "unreadable")
    ]
    assert staged.rows("select symbol, status, reject from stg_lighter__instruments order by tick_ms") == [
        ("OLD", "halted", None), (None, None, "unreadable")
    ]  # fmt: skip
    assert staged.rows("select reject from stg_lighter__funding") == [("unreadable",)]
    assert staged.rows("select reject from stg_lighter__perp_bars") == [("unreadable",)]
    rejects = staged.rows("select tick_ms, reject from stg_lighter__liquidations order by tick_ms")
    assert rejects == [(TICK, "incomplete"), (TICK + MINUTE, "unreadable")]
