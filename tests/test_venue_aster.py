"""Aster: what it really sent or documents, by two routes; its stand-in, its declaration and the truth."""

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
NO_END = 4_133_404_800_000
Row = tuple[str, dict[str, Any]]


def sample(folder: Path, name: str) -> Any:
    """The body of a documented example: what follows the lines of method, path and authentication."""
    text = next(entry["text"] for entry in read(folder / "aster" / "samples.jkorf.json") if entry["file"] == name)
    return json.loads(text[re.search(r"^[\[{]", text, re.M).start() :])  # type: ignore[union-attr]


def frames(folder: Path) -> list[dict[str, Any]]:
    kept = [entry["message"] for entry in read(folder / "aster" / "ws-messages.tardis.json")]
    text = next(
        entry["text"]
        for entry in read(folder / "aster" / "samples.jkorf.json")
        if entry["file"] == "Subscriptions/Futures/Liquidation.txt"
    )
    return [*(one for one in kept if "forceOrder" in one["stream"]), json.loads(text.split("\n= \n")[1])]


def ticker(row: dict[str, Any]) -> Row:
    parsed = ccxt.aster().parse_ticker(row, {"symbol": row["symbol"], "contract": True, "linear": True})
    return row["symbol"], {"last_price": parsed["last"], "vol24h_quote": parsed["quoteVolume"]}


def bar(row: list[Any]) -> Row:
    at, opened, high, low, close, volume = ccxt.aster().parse_ohlcv(row)
    return "BTCUSDT", {
        "opened_ms": at, "closed_ms": row[6], "open": opened, "high": high, "low": low, "close": close,
        "volume": volume, "turnover": float(row[7]), "taker_buy_turnover": float(row[10]),
    }  # fmt: skip


def recorded(folder: Path) -> tuple[list[dict[str, Any]], dict[str, list[Row]]]:
    """Landed rows, and per kind what must come out."""
    docs, spot = "Endpoints/Futures/ExchangeData/", "Endpoints/Spot/ExchangeData/"
    premium = read(folder / "aster" / "fapi_premiumIndex.2026-07.json")
    info, spot_info = sample(folder, docs + "GetExchangeInfo.txt"), sample(folder, spot + "GetExchangeInfo.txt")
    intervals, settled = sample(folder, docs + "GetFundingInfo.txt"), sample(folder, docs + "GetFundingRates.txt")
    tickers, spot_ticker = sample(folder, docs + "GetTickers.txt"), sample(folder, spot + "GetTicker.txt")
    klines, spot_klines = sample(folder, docs + "GetKlines.txt"), sample(folder, spot + "GetKlines.txt")
    oi = next(
        entry["message"]["data"]
        for entry in read(folder / "aster" / "ws-messages.tardis.json")
        if "openInterest" in entry["message"]["stream"]
    )
    events = [frame["data"] for frame in frames(folder)]
    rows = [
        response(TICK, "aster", "funding", premium),
        response(TICK, "aster", "instruments", info),
        response(TICK, "aster", "spot_instruments", spot_info),
        response(TICK, "aster", "funding_intervals", intervals),
        response(TICK, "aster", "settlements", settled),
        response(TICK, "aster", "perp_tickers", tickers),
        response(TICK, "aster", "spot_tickers", [spot_ticker]),
        response(TICK, "aster", "perp_bars", klines, key="BTCUSDT"),
        response(TICK, "aster", "spot_bars", spot_klines, key="BTCUSDT"),
        response(TICK, "aster", "open_interest", oi, key="BTCUSDT"),
        span(TICK, "aster", [{"result": None, "id": 1}, *events, *frames(folder)]),
    ]
    parser = ccxt.aster()
    funding = []
    for row in premium:
        parsed = parser.parse_funding_rate(row)
        values = {
            "mark_price": parsed["markPrice"], "index_price": parsed["indexPrice"],
            "funding_rate": parsed["fundingRate"], "next_funding_ms": row["nextFundingTime"],
        }  # fmt: skip
        funding.append((row["symbol"], values))
    expected: dict[str, list[Row]] = {
        "funding": funding,
        "instruments": [
            (row["symbol"], {
                "base_raw": row["baseAsset"], "quote": row["quoteAsset"], "settle": row["marginAsset"],
                "status": "trading", "listed_ms": row["onboardDate"], "category": row["underlyingSubType"],
                "delisted_ms": None if row["deliveryDate"] == NO_END else row["deliveryDate"],
            }) for row in info["symbols"]
        ],
        "spot_instruments": [
            (row["symbol"], {"base_raw": row["baseAsset"], "quote": row["quoteAsset"], "status": "trading"})
            for row in spot_info["symbols"]
        ],
        "funding_intervals": [(row["symbol"], {"interval_h": float(row["fundingIntervalHours"])}) for row in intervals],
        "settlements": [
            (row["symbol"], {"settled_ms": row["fundingTime"], "funding_rate": float(row["fundingRate"])})
            for row in settled
        ],
        "perp_tickers": [ticker(row) for row in tickers],
        "spot_tickers": [ticker(spot_ticker)],
        "perp_bars": [bar(row) for row in klines],
        "spot_bars": [bar(row) for row in spot_klines],
        "open_interest": [("BTCUSDT", {"open_interest": float(oi["openInterest"])})],
        # The bare and the combined form of one event are one event.
        "liquidations": [
            (event["o"]["s"], {
                "side": {"SELL": "long", "BUY": "short"}[event["o"]["S"]], "ts": event["o"]["T"],
                "size": float(event["o"]["z"]), "price": float(event["o"]["ap"]),
            }) for event in events
        ],
    }  # fmt: skip
    return rows, expected


@pytest.fixture(scope="module")
def staged(tmp_path_factory: pytest.TempPathFactory) -> Warehouse:
    """A warehouse with Aster's staging views alone."""
    warehouse = Warehouse(tmp_path_factory.mktemp("aster")).create()
    warehouse.dbt("run", "--select", "raw_window", "path:models/staging/aster")
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
        query = f"select symbol, {', '.join(columns)} from stg_aster__{kind} where reject is null"
        found = [(symbol, dict(zip(columns, values, strict=True))) for symbol, *values in staged.rows(query)]
        assert len(found) == len(wanted), kind
        for symbol, values in wanted:
            compared[kind] += 1
            assert any(
                name == symbol and all(same(one[key], value) for key, value in values.items()) for name, one in found
            ), (kind, symbol, values, found[:3])
        assert staged.rows(f"select * from stg_aster__{kind} where reject is not null") == []
    with capsys.disabled():
        print(f"\nrecorded rows of Aster compared: {dict(compared)}")
    assert compared["funding"] == 17


def test_an_index_and_what_must_not_be_read(staged: Warehouse) -> None:
    """The documented indexreferences under the exchanges' names here; the venue's own tests, halts and old rows."""
    references = {
        "symbol": "BTCUSDT", "time": 1774077572319,
        "references": [
            {"exchange": "binance", "symbol": "BTCUSDT", "weight": "0.41441441"},
            {"exchange": "okex", "symbol": "BTC-USDT", "weight": "0.13513513"},
            {"exchange": "gateio", "symbol": "BTC_USDT", "weight": "0.04504504"},
            {"exchange": "mxc", "symbol": "BTCUSDT", "weight": "0.06756756"},
        ],
    }  # fmt: skip
    old = {"symbol": "OLDUSDT", "lastPrice": "1", "quoteVolume": "0", "closeTime": TICK - 86_400_001, "count": 0}
    rows = [
        response(TICK, "aster", "index_components", references, key="BTCUSDT"),
        response(TICK, "aster", "perp_tickers", [old, old | {"symbol": "BTCUSDT", "closeTime": TICK},
                                                old | {"symbol": "TESTUSDT", "closeTime": TICK}]),
        response(TICK, "aster", "funding", [
            {"symbol": "HALTUSDT", "markPrice": "1", "indexPrice": "1", "lastFundingRate": "0", "nextFundingTime": 0},
            {"symbol": "BTCUSDT", "markPrice": "", "indexPrice": "1", "lastFundingRate": "0", "nextFundingTime": 9}]),
        response(TICK, "aster", "open_interest", {"code": -1121, "msg": "Invalid symbol."}, key="BTCUSDT"),
        response(TICK, "aster", "instruments", "<html>"),
    ]  # fmt: skip
    staged.reset().build(rows, "raw_window")
    assert staged.rows(
        "select symbol, exchange, pair, weight from stg_aster__index_components order by weight desc"
    ) == [
        ("BTCUSDT", "binance", "BTCUSDT", 0.41441441),
        ("BTCUSDT", "okx", "BTC-USDT", 0.13513513),
        ("BTCUSDT", "mexc", "BTCUSDT", 0.06756756),
        ("BTCUSDT", "gate", "BTC_USDT", 0.04504504),
    ]
    assert staged.rows("select symbol, reject from stg_aster__perp_tickers") == [("BTCUSDT", None)]
    assert staged.rows("select symbol, reject from stg_aster__funding") == [("BTCUSDT", "incomplete")]
    assert staged.rows("select reject from stg_aster__open_interest") == [("incomplete",)]
    assert staged.rows("select reject from stg_aster__instruments") == [("unreadable",)]
