"""The whole way on bodies that exchanges really sent: replay → recorder → landing → dbt → publish → API.

Every served market number is compared with the same number read from the same body by another route: plain Python
written from the venue's own field documentation, and ccxt's parsers where ccxt reads that body.
"""

import gzip
import json
import math
import re
import subprocess
import sys
import time
import urllib.request
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from itertools import count
from pathlib import Path
from typing import Any

import ccxt
import pytest

from orchestration.config.settings import Settings
from tests.support.pipeline.dbt_project import give_dbt

USD_QUOTES = ("FDUSD", "USDT", "USDC", "TUSD", "BUSD", "USDE", "USD1", "PAX", "USDP", "USDS", "DAI", "USD")
# Contracts on a multiple of the coin, as the venues' own contract pages name them.
HOUR_MS = 3_600_000
ADDRESSES = count(1)
MULTIPLES = {"1000000": 1_000_000, "10000": 10_000, "1000": 1_000}


def read(path: Path) -> Any:
    """The JSON of a recording, gzipped or not."""
    return json.loads(gzip.decompress(path.read_bytes()) if path.suffix == ".gz" else path.read_bytes())


def variant(path: Path, **match: Any) -> Any:
    """The body inside a recording that keeps several requests: the one whose request matches."""
    for entry in read(path):
        request = entry.get("request", {"query": entry.get("query")})
        if all(request.get(name) == value for name, value in match.items()):
            return entry.get("response", entry.get("data"))
    raise LookupError(f"{path.name}: no request {match}")


@dataclass
class Expected:
    """What the API must serve: (venue, type, symbol) → field → value (None: must be null)."""

    markets: dict[tuple[str, str, str], dict[str, float | None]] = field(default_factory=dict)
    # Hour (epoch ms) → liquidated USD of longs and shorts of one market on Binance.
    liquidated: dict[str, dict[int, list[float]]] = field(default_factory=dict)

    def put(self, venue: str, kind: str, symbol: str, **values: float | None) -> None:
        self.markets.setdefault((venue, kind, symbol), {}).update(values)


def number(text: Any) -> float | None:
    return None if text in (None, "") else float(text)


def multiple(symbol: str) -> int:
    """How many coins one contract unit is, by the symbol's leading number (never used by the product itself)."""
    if symbol.startswith("SHIB1000"):
        return 1000
    if symbol.startswith("k") and symbol[1:2].isupper():
        return 1000
    for prefix, times in MULTIPLES.items():
        if symbol.startswith(prefix) and symbol[len(prefix) : len(prefix) + 1].isalpha():
            return times
    return 1


def usd_quoted(symbol: str) -> bool:
    return symbol.endswith(USD_QUOTES)


@dataclass
class Replay:
    """A replay folder under construction."""

    folder: Path
    entries: list[dict[str, Any]] = field(default_factory=list)

    def add(self, venue: str, path: str, content: Any, *, method: str = "GET", **match: Any) -> None:
        name = f"{len(self.entries):03d}_{venue}.json"
        (self.folder / name).write_text(json.dumps(content))
        self.entries.append({"venue": venue, "method": method, "path": path, "status": 200, "file": name, **match})

    def write(self) -> None:
        (self.folder / "replay.json").write_text(json.dumps({"responses": self.entries}))


def close_now(tickers: list[dict[str, Any]]) -> None:
    """Move a recorded list to the present: a ticker that closed a day before its receipt is out of date."""
    ahead_ms = time.time_ns() // 1_000_000 - max(row["closeTime"] for row in tickers)
    for row in tickers:
        row["closeTime"] += ahead_ms


def binance(folder: Path, replay: Replay, expected: Expected) -> None:
    premium = read(folder / "binance/fapi_v1_premiumIndex_all.2025.json.gz")
    info = variant(folder / "binance/fapi_v1_fundingInfo.gct.json", query="")
    tickers = variant(folder / "binance/fapi_v1_ticker_24hr.gct.json", query="")
    spot = read(folder / "binance/binance_tickers.agentic2026.json")
    close_now(tickers)
    close_now(spot)
    replay.add("binance", "/fapi/v1/premiumIndex", premium)
    replay.add("binance", "/fapi/v1/fundingInfo", info)
    replay.add("binance", "/fapi/v1/ticker/24hr", tickers)
    replay.add("binance", "/fapi/v1/exchangeInfo", variant(folder / "binance/fapi_v1_exchangeInfo.gct.json", query=""))
    replay.add("binance", "/api/v3/ticker/24hr", spot)

    # fundingInfo lists the adjusted symbols alone; absent means 8 h. premiumIndex quotes per interval.
    hours = {row["symbol"]: row["fundingIntervalHours"] for row in info}
    exchange = ccxt.binanceusdm()
    for row in premium:
        symbol = row["symbol"]
        if "_" in symbol or row["nextFundingTime"] == 0 or not usd_quoted(symbol):
            continue
        parsed = exchange.parse_funding_rate(row)
        assert parsed["fundingRate"] == float(row["lastFundingRate"])
        expected.put("binance", "perp", symbol, funding=parsed["fundingRate"] * 8 / hours.get(symbol, 8), oi_usd=None)
    for row in tickers:
        if "_" not in row["symbol"]:
            parsed = exchange.parse_ticker(row, {"symbol": row["symbol"], "contract": True, "linear": True})
            expected.put(
                "binance",
                "perp",
                row["symbol"],
                price=parsed["last"] / multiple(row["symbol"]),
                vol24h=parsed["quoteVolume"],
            )
    spot_exchange = ccxt.binance()
    # The 24 h ticker goes on listing what ceased to trade (FXSUSDT here, 56 days old): no market of today.
    newest = max(row["closeTime"] for row in spot)
    for row in spot:
        if usd_quoted(row["symbol"]) and newest - row["closeTime"] < 86_400_000:
            parsed = spot_exchange.parse_ticker(row, {"symbol": row["symbol"], "spot": True})
            expected.put(
                "binance", "spot", row["symbol"], price=parsed["last"], vol24h=parsed["quoteVolume"], funding=None
            )


def binance_liquidations(folder: Path, replay: Replay, expected: Expected) -> None:
    frames = gzip.decompress((folder / "binance/liquidations_forceOrder_2025-06-23.rebuilt.ndjson.gz").read_bytes())
    (replay.folder / "forced.ndjson").write_bytes(frames)
    stream = {"venue": "binance", "path": "/market/ws/!forceOrder@arr", "frames": "forced.ndjson", "rate": 2000}
    replay.entries.append(stream)
    for line in frames.decode().splitlines():
        order = json.loads(line)["o"]
        if "_" in order["s"]:  # a dated future
            continue
        hours = expected.liquidated.setdefault(order["s"], {})
        hour = hours.setdefault(order["T"] // HOUR_MS * HOUR_MS, [0.0, 0.0])
        # A forced SELL closes a long. What was filled, at the average price.
        hour[order["S"] == "BUY"] += float(order["z"]) * float(order["ap"])


def bybit(folder: Path, replay: Replay, expected: Expected) -> None:
    linear = read(folder / "bybit/bybit_tickers.linear_api.jhabermas2024.json.gz")
    spot = read(folder / "bybit/bybit_tickers.spot_api.jhabermas2024.json.gz")
    replay.add("bybit", "/v5/market/tickers", linear, params={"category": "linear"})
    replay.add("bybit", "/v5/market/tickers", spot, params={"category": "spot"})
    exchange = ccxt.bybit()
    for row in linear["result"]["list"]:
        symbol = row["symbol"]
        # Of BTCPERP and its like only instruments-info says the quote, and no recorded body of it exists: not guessed.
        if "-" in symbol or row["deliveryTime"] != "0" or symbol.endswith("PERP"):
            continue
        parsed = exchange.parse_ticker(row, {"symbol": symbol, "contract": True, "linear": True})
        mark, times = float(row["markPrice"]), multiple(symbol)
        # This body is older than the single-sided fields: openInterest counts both sides. It also lacks
        # fundingIntervalHour, and a rate without its interval cannot be put per 8 h.
        expected.put(
            "bybit",
            "perp",
            symbol,
            price=parsed["last"] / times,
            vol24h=parsed["quoteVolume"],
            oi_usd=float(row["openInterest"]) / 2 * mark,
            funding=None,
        )
    rows = {row["symbol"]: row for row in spot["result"]["list"]}
    for symbol, row in rows.items():
        parsed = exchange.parse_ticker(row, {"symbol": symbol, "spot": True})
        if usd_quoted(symbol):
            expected.put("bybit", "spot", symbol, price=parsed["last"], vol24h=parsed["quoteVolume"])
        elif symbol.endswith("BTC"):
            # Converted at the venue's own most traded dollar pair of the quote, in the same body.
            rate = float(rows["BTCUSDT"]["lastPrice"])
            price, volume = parsed["last"] * rate, parsed["quoteVolume"] * rate
            expected.put("bybit", "spot", symbol, price=price, vol24h=volume)


def hyperliquid(folder: Path, replay: Replay, expected: Expected) -> None:
    source = folder / "hyperliquid/info_MetaAndAssetCtxs.sonirico.json.gz"
    core, xyz = variant(source, type="metaAndAssetCtxs", dex=""), variant(source, type="metaAndAssetCtxs", dex="xyz")
    dexes = variant(folder / "hyperliquid/info_PerpDexs.sonirico.json", type="perpDexs")
    dexes = [dex for dex in dexes if dex is None or dex["name"] == "xyz"]
    post = {"method": "POST"}
    replay.add("hyperliquid", "/info", dexes, body={"type": "perpDexs"}, **post)
    replay.add("hyperliquid", "/info", xyz, body={"type": "metaAndAssetCtxs", "dex": "xyz"}, **post)
    replay.add("hyperliquid", "/info", core, body={"type": "metaAndAssetCtxs"}, **post)
    for meta, contexts in (core, xyz):
        for coin, context in zip(meta["universe"], contexts, strict=True):
            if coin.get("isDelisted") or context["midPx"] is None:
                continue
            times, mark = multiple(coin["name"]), float(context["markPx"])
            expected.put(
                "hyperliquid",
                "perp",
                coin["name"],
                price=float(context["midPx"]) / times,
                vol24h=number(context["dayNtlVlm"]),
                oi_usd=float(context["openInterest"]) / 2 * mark,
                funding=float(context["funding"]) * 8,
            )


@pytest.fixture(scope="module")
def served(recordings: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Expected, str]]:
    """The recordings replayed once through the product: what must be served, and the API's address."""
    folder, home = tmp_path_factory.mktemp("replay"), tmp_path_factory.mktemp("home")
    replay, expected = Replay(folder), Expected()
    for venue in (binance, binance_liquidations, bybit, hyperliquid):
        venue(recordings, replay, expected)
    replay.write()
    sandbox_port, api_port = free(), free()
    env = {
        "PATH": str(Path(sys.executable).parent) + ":/usr/bin:/bin",
        "TIDEMARK_HOME": str(home),
        "TIDEMARK_API_PORT": str(api_port),
        "TIDEMARK_SANDBOX_PORT": str(sandbox_port),
        "TIDEMARK_VENUES_URL": f"http://127.0.0.1:{sandbox_port}",
        "TIDEMARK_TRUSTED_PROXIES": "127.0.0.1",
    }
    give_dbt(Settings.from_env(env))
    tidemark = str(Path(sys.executable).parent / "tidemark")
    running = [subprocess.Popen([tidemark, "sandbox", "--replay", str(folder)], env=env)]
    try:
        wait_for(f"http://127.0.0.1:{sandbox_port}/_sandbox/health")
        recorder = subprocess.Popen([tidemark, "record"], env=env)
        running.append(recorder)
        wait_until(lambda: landed(home), 120)
        recorder.terminate()
        assert recorder.wait(60) == 0
        for command in (["build"], ["publish"]):
            subprocess.run([tidemark, *command], env=env, check=True, timeout=180)
        running.append(subprocess.Popen([tidemark, "serve"], env=env))
        api = f"http://127.0.0.1:{api_port}"
        wait_for(f"{api}/api/status")
        yield expected, api
    finally:
        for process in running:
            process.terminate()
        for process in running:
            process.wait(20)


def free() -> int:
    import socket

    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


def get(url: str) -> Any:
    """The JSON at a URL, asked from an address of its own: one address alone would soon have spent its budget."""
    n = next(ADDRESSES)
    asked = urllib.request.Request(url, headers={"X-Forwarded-For": f"10.{n >> 16 & 255}.{n >> 8 & 255}.{n & 255}"})
    with urllib.request.urlopen(asked, timeout=30) as response:
        return json.loads(response.read())


def answers(url: str) -> bool:
    try:
        get(url)
    except OSError:
        return False
    return True


def landed(home: Path) -> bool:
    """Whether the recorder has landed the first minute; the stream's frames are all sent long before."""
    state = home / "recorder" / "state.json"
    return state.exists() and json.loads(state.read_text())["last_landed_ms"] is not None


def wait_until(condition: Callable[[], bool], seconds: float) -> None:
    deadline = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < deadline, "waited in vain"
        time.sleep(0.05)


def wait_for(url: str) -> None:
    wait_until(lambda: answers(url), 60)


def close(served_value: float | None, expected_value: float | None) -> bool:
    if served_value is None or expected_value is None:
        return served_value is expected_value
    return math.isclose(served_value, expected_value, rel_tol=1e-12)


def test_every_market_number_equals_the_bodys(served: tuple[Expected, str]) -> None:
    """/api/markets against both other routes, for every market of the replayed bodies."""
    expected, api = served
    got = {}
    for coin in get(f"{api}/api/markets")["coins"]:
        for kind, entries in (("perp", coin["perps"]), ("spot", coin["spots"])):
            for entry in entries:
                got[entry["venue"], kind, entry["symbol"]] = entry
    missing = sorted(set(expected.markets) - set(got))
    # Pairs in other coins than dollars and BTC are beside the point here.
    extra = sorted(market for market in set(got) - set(expected.markets) if usd_quoted(market[2]))
    wrong = [
        (market, name, got[market][name], value)
        for market, values in expected.markets.items()
        if market in got
        for name, value in values.items()
        if not close(got[market][name], value)
    ]
    compared = {venue: sum(1 for v, _, _ in set(got) & set(expected.markets) if v == venue) for venue, _, _ in got}
    print(f"markets compared: {compared}, numbers: {sum(map(len, expected.markets.values()))}")
    # Tokens that are a multiple of a coin's return are markets of no coin.
    structured = [market for market in missing if re.fullmatch(r"[A-Z0-9]+[23][LS]USDT", market[2])]
    assert {venue for venue, _, _ in structured} == {"bybit"}
    assert missing == structured, f"not served: {sorted(set(missing) - set(structured))[:10]}"
    assert not extra, f"{len(extra)} served without a body: {extra[:10]}"
    assert not wrong, f"{len(wrong)} differ: {wrong[:10]}"
    assert sum(compared.values()) > 1500


def test_series_of_a_market_and_of_its_coin_equal_the_bodies(served: tuple[Expected, str]) -> None:
    """A market's series is its body's number; a coin's is the sum or the volume-weighted mean over its markets: in the
    first minute, which the recorder has whole. It may have ended within a second one."""
    expected, api = served
    values = expected.markets["bybit", "perp", "ETHUSDT"]
    for metric, name in (("price", "price"), ("oi", "oi_usd")):
        body = get(f"{api}/api/series/{metric}?market=bybit:perp:ETHUSDT&range=1h&step=1m")
        assert close(body["v"][0], values[name])
    core = expected.markets["hyperliquid", "perp", "ETH"]
    oi = get(f"{api}/api/series/oi?base=ETH&range=1h&step=1m")
    assert oi["v"][0] == pytest.approx((values["oi_usd"] or 0) + (core["oi_usd"] or 0), rel=1e-12)
    funding = get(f"{api}/api/series/funding?market=hyperliquid:perp:ETH&range=1h")
    assert close(funding["v"][0], core["funding"])
    priced = [
        row
        for (_, kind, symbol), row in expected.markets.items()
        if kind == "perp" and symbol in ("ETHUSDT", "ETH") and row.get("price") and row.get("vol24h")
    ]
    weight = sum(row["vol24h"] or 0 for row in priced)
    mean = sum((row["price"] or 0) * (row["vol24h"] or 0) for row in priced) / weight
    assert get(f"{api}/api/series/price?base=ETH&range=1h")["v"][0] == pytest.approx(mean, rel=1e-9)


def test_liquidations_equal_the_recorded_orders(served: tuple[Expected, str]) -> None:
    """Every market of the recorded stream, hour by hour (1m is kept for 7 days, and these are older), both sides."""
    expected, api = served
    compared = 0
    for symbol, hours in expected.liquidated.items():
        start, end = min(hours), max(hours) + HOUR_MS
        query = f"market=binance:perp:{symbol}&start={start}&end={end}&step=1h"
        body = get(f"{api}/api/series/liquidations?{query}")
        got = {t: pair for t, *pair in zip(body["t"], body["long"], body["short"], strict=True)}
        assert set(got) == set(hours), symbol
        for t, sides in hours.items():
            for one, other in zip(got[t], sides, strict=True):
                assert (one or 0.0) == pytest.approx(other, rel=1e-12), (symbol, t)
        compared += len(hours)
    print(f"liquidated hours compared: {compared}")
    assert compared > 140


def test_unrecorded_time_is_null_and_in_a_gap(served: tuple[Expected, str]) -> None:
    """The replay has no open interest for Binance: null, and a gap says why; never zero."""
    _, api = served
    body = get(f"{api}/api/series/oi?base=BTC&venue=binance&range=1h&step=1m")
    assert all(value is None for value in body["v"])
    assert any(gap["venue"] == "binance" for gap in body["gaps"])
