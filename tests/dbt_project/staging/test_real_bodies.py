"""Every recorded file is used by a test or left out for a reason; and the bodies that no other test reads."""

import ast
import gzip
import re
from fnmatch import fnmatch
from pathlib import Path
from typing import Any

import ccxt
import pytest

from tests.support.pipeline.warehouse import MINUTE, Warehouse, response, seeded
from tests.support.recordings.captures import logged, raw
from tests.support.recordings.real_bodies import UNUSED, USED
from tests.support.recordings.recorded import kept, read

TESTS = Path(__file__).parents[2]
AT_MS = 1_790_000_000_000 // MINUTE * MINUTE
APART = ("INDEX.md", "sealed.bin")


def entry(name: str) -> str | None:
    """The first pattern that fits a file."""
    return next((pattern for pattern in (*USED, *UNUSED) if fnmatch(name, pattern)), None)


@pytest.fixture(scope="module")
def names(recordings: Path) -> list[str]:
    files = (path for path in recordings.rglob("*") if path.is_file() and path.name not in APART)
    return sorted(str(path.relative_to(recordings)) for path in files)


def test_every_recorded_file_is_used_or_left_out_for_a_reason(names: list[str]) -> None:
    assert [name for name in names if entry(name) is None] == []
    fitting = {entry(name) for name in names}
    assert [pattern for pattern in (*USED, *UNUSED) if pattern not in fitting] == []


def sources(module: str) -> str:
    """A test module and the modules of tests that it imports."""
    seen, waiting = dict[str, str](), [module]
    while waiting:
        name = waiting.pop()
        path = TESTS / f"{name.replace('.', '/')}.py"
        if name in seen or not path.exists():
            continue
        seen[name] = path.read_text()
        waiting += [
            node.module.removeprefix("tests.")
            for node in ast.walk(ast.parse(seen[name]))
            if isinstance(node, ast.ImportFrom) and node.module and node.module.startswith("tests.")
        ]
    return "\n".join(text for name, text in seen.items() if not name.endswith(".real_bodies"))


@pytest.mark.parametrize("pattern", USED)
def test_the_tests_named_read_the_file(pattern: str) -> None:
    """By its name, or by the longest part of it that no variable stands for."""
    name = pattern.rpartition("/")[2]
    parts = [part for part in re.split(r"[*]|linear|spot|inverse", name) if len(part) > 4]
    for module in USED[pattern][1]:
        text = sources(module)
        assert name in text or any(part in text for part in parts), (module, parts)


def deepest(book: dict[str, Any]) -> list[list[tuple[float, float]]]:
    return [[(float(price), float(size)) for price, size in book[side]] for side in ("bids", "asks")]


def test_bodies_that_no_venue_s_own_test_reads(recordings: Path, tmp_path: Path) -> None:
    binance, bybit, hyperliquid = (recordings / venue for venue in ("binance", "bybit", "hyperliquid"))
    premium = read(binance / "binance_funding_ccxt.jhabermas2024.json")["info"]
    held = raw(binance, "open_interest", "linear_swap")
    log = binance / "cryptofeed/BINANCE_FUTURES.http.0.0.txt.gz"
    urls = [line.partition(" -> ")[0] for line in gzip.decompress(log.read_bytes()).decode().splitlines()]
    books = {url.split("symbol=")[1].split("&")[0]: logged(log, url) for url in urls if "/depth?" in url}
    books["BTCUSDT"] = raw(binance, "l2_snapshot", "linear_swap")
    ticker = read(bybit / "bybit_funding_ccxt.jhabermas2024.json")["info"]
    settled = [
        body
        for name in ("info_get_funding_history_1684811870000.hlsdk.json", "info_get_funding_history_None.hlsdk.json")
        for request, body in kept(hyperliquid / name)
        if request["type"] == "fundingHistory"
    ]
    warehouse: Warehouse = seeded(tmp_path)
    warehouse.build([
        response(AT_MS, "binance", "funding", [premium]),
        response(AT_MS, "binance", "open_interest", held, key="BTCUSDT"),
        *(response(AT_MS, "binance", "order_books", body, key=symbol) for symbol, body in books.items()),
        response(AT_MS, "bybit", "perp_tickers", {"retCode": 0, "result": {"list": [ticker]}}),
        *(response(AT_MS + n * MINUTE, "hyperliquid", "settlements", one, key="BTC") for n, one in enumerate(settled)),
    ], "raw_window")  # fmt: skip

    parsed = ccxt.binanceusdm().parse_funding_rate(premium)
    columns = "symbol, mark_price, index_price, funding_rate, next_funding_ms, reject"
    assert warehouse.rows(f"select {columns} from stg_binance__funding") == [
        ("BTCUSDT", parsed["markPrice"], parsed["indexPrice"], parsed["fundingRate"], parsed["fundingTimestamp"], None)
    ]
    interest = warehouse.rows("select symbol, open_interest, reject from stg_binance__open_interest")
    assert interest == [("BTCUSDT", float(held["openInterest"]), None)]
    seen = {symbol: [bids, asks] for symbol, bids, asks in warehouse.rows(
        "select symbol, bids, asks from stg_binance__order_books where reject is null")}  # fmt: skip
    assert set(seen) == set(books)
    assert len(books) > 3
    for symbol, book in books.items():
        assert [[tuple(level) for level in side] for side in seen[symbol]] == deepest(book)
    market = {"symbol": ticker["symbol"], "contract": True, "swap": True, "linear": True}
    parsed = ccxt.bybit().parse_ticker(ticker, market)
    columns = "symbol, last_price, mark_price, index_price, vol24h_quote, funding_rate, open_interest, reject"
    rate, open_interest = float(ticker["fundingRate"]), float(ticker["openInterest"])
    assert warehouse.rows(f"select {columns} from stg_bybit__perp_tickers") == [
        ("BTCUSDT", parsed["last"], parsed["markPrice"], parsed["indexPrice"], parsed["quoteVolume"], rate,
         open_interest, None)
    ]  # fmt: skip
    expected = sorted((one["coin"], one["time"], float(one["fundingRate"])) for body in settled for one in body)
    query = (
        "select symbol, settled_ms, funding_rate from stg_hyperliquid__settlements where reject is null order by all"
    )
    assert sorted(warehouse.rows(query)) == expected
    assert len(expected) > 1000
