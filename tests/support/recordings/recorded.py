"""Recorded bodies of the venues as landed rows, and their expected values, computed in Python from the venues'
documents.

The Python here shares nothing with the models: the multiplier of a contract is read from its name, the quote from the
end of the symbol, and ccxt's parsers give the fields that ccxt reads.
"""

import gzip
import json
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import ccxt

from tests.support.pipeline.warehouse import MINUTE, response, span

AT_MS = 1_790_000_000_000 // MINUTE * MINUTE
DAY = 86_400_000
USD = ("FDUSD", "USDT", "USDC", "TUSD", "BUSD", "USDE", "USD1", "USDS", "PAX", "DAI", "USD")
OTHER = ("BIDR", "BKRW", "IDRT", "AEUR", "BRZ", "BTC", "ETH", "BNB", "TRX", "XRP", "EUR", "TRY", "RUB", "NGN", "ZAR")


def _newest(tickers: Any) -> int:
    """When a list of tickers was received, which the recording does not say: as its newest row closed."""
    return max(int(row["closeTime"]) for row in tickers)


def read(path: Path) -> Any:
    """The JSON of a recording, gzipped or not."""
    return json.loads(gzip.decompress(path.read_bytes()) if path.suffix == ".gz" else path.read_bytes())


def kept(path: Path) -> Iterator[tuple[Any, Any]]:
    """(request, body) pairs of a recording that keeps several requests."""
    for entry in read(path):
        yield entry.get("request", entry.get("query")), entry.get("response", entry.get("data"))


def body_of(path: Path, request: Any) -> Any:
    return next(body for asked, body in kept(path) if asked == request)


def quote_of(symbol: str) -> str | None:
    ends = [quote for quote in USD + OTHER if symbol.endswith(quote) and symbol != quote]
    return max(ends, key=len, default=None)


def coins(symbol: str) -> int:
    """How many coins one unit of a symbol is, by its name."""
    if symbol.startswith("1M") or symbol == "UMOG":
        return 1_000_000
    if (symbol[:1] == "k" and symbol[1:2].isupper()) or symbol.startswith("SHIB1000"):
        return 1000
    digits = len(symbol) - len(symbol.lstrip("0123456789"))
    return int(symbol[:digits]) if symbol[:digits].startswith("1000") else 1


@dataclass
class Recorded:
    """Landed rows and, per (minute, market), the expected values: field → number, None where null is right."""

    rows: list[dict[str, Any]] = field(default_factory=list)
    minutes: dict[tuple[int, str], dict[str, float | None]] = field(default_factory=dict)
    bars: set[tuple[Any, ...]] = field(default_factory=set)
    liquidations: list[tuple[Any, ...]] = field(default_factory=list)
    dexes: set[tuple[int, str]] = field(default_factory=set)

    def put(self, minute: int, market: str, **values: float | None) -> None:
        self.minutes.setdefault((minute, market), {}).update(values)


def spot_prices(out: Recorded, minute: int, venue: str, parsed: list[dict[str, Any]]) -> dict[str, float]:
    """Last price and turnover in USD: other quotes at the venue's most traded USD pair of the same body (returned),
    whichever side of it the dollar is on."""
    pairs: list[tuple[float, str, float]] = []
    for row in parsed:
        quote = quote_of(row["symbol"])
        base = row["symbol"][: -len(quote or "")]
        if quote in USD:
            pairs.append((row["quoteVolume"], base, row["last"]))
        elif quote and base in USD and row["last"]:
            pairs.append((row["quoteVolume"] / row["last"], quote, 1 / row["last"]))
    rates = {currency: rate for _, currency, rate in sorted(pairs)}
    for row in parsed:
        quote = quote_of(row["symbol"])
        rate = 1.0 if quote in USD else rates.get(quote or "")
        price = None if rate is None or not row["last"] else row["last"] * rate / coins(row["symbol"])
        volume = None if rate is None else row["quoteVolume"] * rate
        out.put(minute, f"{venue}:spot:{row['symbol']}", price=price, vol24h_usd=volume, oi_usd=None, funding_8h=None)
    return rates


def binance(folder: Path, out: Recorded) -> None:
    folder = folder / "binance"
    info = body_of(folder / "fapi_v1_fundingInfo.gct.json", "")
    hours = {row["symbol"]: row["fundingIntervalHours"] for row in info}
    exchange, spot_exchange = ccxt.binanceusdm(), ccxt.binance()
    premiums = [
        read(folder / "fapi_v1_premiumIndex_all.2025.json.gz"),
        body_of(folder / "fapi_v1_premiumIndex.gct.json", ""),
    ]
    spots = [
        body_of(folder / "api_v3_ticker_24hr.gct.json.gz", ""),
        read(folder / "binance_tickers.agentic2026.json"),
        read(folder / "binance_tickers.spot_api.jhabermas2024.json"),
    ]
    oi = next(
        entry["json"]
        for entry in read(folder / "samples.nautilus.json")
        if entry["file"].endswith("open_interest.json")
    )
    tickers = body_of(folder / "fapi_v1_ticker_24hr.gct.json", "")
    out.rows += [
        response(AT_MS, "binance", "instruments", body_of(folder / "fapi_v1_exchangeInfo.gct.json", "")),
        response(AT_MS, "binance", "spot_instruments", body_of(folder / "api_v3_exchangeInfo.gct.json.gz", "")),
        response(AT_MS, "binance", "perp_tickers", tickers, received_ms=_newest(tickers)),
        response(AT_MS, "binance", "open_interest", oi, key="BTCUSDT"),
    ]
    rates: dict[int, dict[str, float]] = {}
    for n, spot in enumerate(spots):
        minute = AT_MS + n * MINUTE
        newest = _newest(spot)
        out.rows.append(response(minute, "binance", "spot_tickers", spot, received_ms=newest))
        live = [row for row in spot if row["closeTime"] >= newest - DAY]
        parsed = [spot_exchange.parse_ticker(row, {"symbol": row["symbol"], "spot": True}) for row in live]
        rates[minute] = spot_prices(out, minute, "binance", parsed)
    marks = {}
    for n, premium in enumerate(premiums):
        minute = AT_MS + n * MINUTE
        out.rows.append(response(minute, "binance", "funding", premium))
        out.rows.append(response(minute, "binance", "funding_intervals", info))
        for row in premium:
            symbol = row["symbol"]
            if "_" in symbol or row["nextFundingTime"] == 0:
                continue
            parsed = exchange.parse_funding_rate(row)
            quote = quote_of(symbol) or ""
            rate = 1.0 if quote in USD else rates[minute][quote]
            mark = parsed["markPrice"] * rate / coins(symbol)
            marks[minute, symbol] = parsed["markPrice"]
            funding = parsed["fundingRate"] * 8 / hours.get(symbol, 8)
            out.put(minute, f"binance:perp:{symbol}", mark_price=mark or None, funding_8h=funding)
    for row in tickers:
        if "_" not in row["symbol"]:
            parsed = exchange.parse_ticker(row, {"symbol": row["symbol"], "contract": True, "linear": True})
            price = parsed["last"] / coins(row["symbol"])
            out.put(AT_MS, f"binance:perp:{row['symbol']}", price=price, vol24h_usd=parsed["quoteVolume"])
    contracts = float(oi["openInterest"])
    out.put(AT_MS, "binance:perp:BTCUSDT", oi_base=contracts, oi_usd=contracts * marks[AT_MS, "BTCUSDT"])
    for kind, name in (("perp_bars", "fapi_v1_klines.gct.json.gz"), ("spot_bars", "api_v3_klines.gct.json.gz")):
        for query, klines in kept(folder / name):
            symbol = query.split("symbol=")[1].split("&")[0]
            out.rows.append(response(AT_MS, "binance", kind, klines, key=symbol, params=query))
            for bar, parsed in zip(klines, spot_exchange.parse_ohlcvs(klines), strict=True):
                out.bars.add(("binance", kind, symbol, *parsed, float(bar[7]), float(bar[10])))
    for n, file in enumerate(sorted(folder.glob("liquidations_forceOrder_*.ndjson.gz"))):
        minute = AT_MS + n * MINUTE
        frames = [json.loads(line) for line in gzip.decompress(file.read_bytes()).splitlines()]
        out.rows.append(span(minute, "binance", frames, key=file.name))
        # The captures repeat events; the venue sends one per symbol and second.
        for s, side, ts, z, ap in {tuple(f["o"][name] for name in ("s", "S", "T", "z", "ap")) for f in frames}:
            if "_" in s:  # a dated contract
                continue
            long_or_short = "long" if side == "SELL" else "short"
            out.liquidations.append((minute, f"binance:perp:{s}", long_or_short, ts, float(z) * float(ap)))


def bybit(folder: Path, out: Recorded) -> None:
    folder = folder / "bybit"
    linear = read(folder / "bybit_tickers.linear_api.jhabermas2024.json.gz")
    spot = read(folder / "bybit_tickers.spot_api.jhabermas2024.json.gz")
    exchange = ccxt.bybit()
    out.rows.append(response(AT_MS, "bybit", "perp_tickers", linear))
    out.rows.append(response(AT_MS, "bybit", "spot_tickers", spot))
    for row in linear["result"]["list"]:
        symbol = row["symbol"]
        if "-" in symbol or row["deliveryTime"] != "0":
            continue
        parsed = exchange.parse_ticker(row, {"symbol": symbol, "contract": True, "linear": True})
        # The symbol of a USDC perp (BTCPERP) does not name its quote: no USD without the instruments list.
        known = quote_of(symbol) in USD
        one_side = float(row["openInterest"]) / 2
        out.put(
            AT_MS,
            f"bybit:perp:{symbol}",
            price=parsed["last"] / coins(symbol) if known else None,
            mark_price=parsed["markPrice"] / coins(symbol) if known else None,
            vol24h_usd=parsed["quoteVolume"] if known else None,
            oi_base=one_side * coins(symbol),
            oi_usd=one_side * parsed["markPrice"] if known else None,
            funding_rate=float(row["fundingRate"]),
            funding_8h=None,
        )
    spot_prices(
        out, AT_MS, "bybit", [exchange.parse_ticker(row, {"symbol": row["symbol"]}) for row in spot["result"]["list"]]
    )
    frames = [entry["message"] for entry in read(folder / "ws-messages.tardis.json")]
    frames = [frame for frame in frames if str(frame.get("topic", "")).startswith("allLiquidation.")]
    text = next(e["text"] for e in read(folder / "samples.jkorf.json") if e["file"].endswith("Linear/Liquidations.txt"))
    frames.append(json.loads(text.split("\n= \n")[1]))
    out.rows.append(span(AT_MS, "bybit", [{"success": True, "op": "subscribe"}, *frames], key="all"))
    for frame in frames:
        for event in frame["data"]:
            side = "long" if event["S"] == "Buy" else "short"
            usd = float(event["v"]) * float(event["p"])
            out.liquidations.append((AT_MS, f"bybit:perp:{event['s']}", side, event["T"], usd))


def hyperliquid(folder: Path, out: Recorded) -> None:
    folder = folder / "hyperliquid"
    contexts = folder / "info_MetaAndAssetCtxs.sonirico.json.gz"
    exchange = ccxt.hyperliquid()
    bodies = [
        (AT_MS, "", body_of(contexts, {"type": "metaAndAssetCtxs"})),
        (AT_MS + MINUTE, "", body_of(contexts, {"type": "metaAndAssetCtxs", "dex": ""})),
        (AT_MS + MINUTE, "xyz", body_of(contexts, {"type": "metaAndAssetCtxs", "dex": "xyz"})),
    ]
    for minute, dex, body in bodies:
        out.rows.append(response(minute, "hyperliquid", "perp_tickers", body, key=dex))
        for coin, context in zip(body[0]["universe"], body[1], strict=True):
            if coin.get("isDelisted"):
                continue
            parsed = exchange.parse_funding_rate({**coin, **context})
            units, one_side = coins(coin["name"]), float(context["openInterest"]) / 2
            out.put(
                minute,
                f"hyperliquid:perp:{coin['name']}",
                price=float(context["midPx"] or context["markPx"]) / units,
                mark_price=parsed["markPrice"] / units,
                index_price=parsed["indexPrice"] / units,
                vol24h_usd=float(context["dayNtlVlm"]),
                oi_base=one_side * units,
                oi_usd=one_side * parsed["markPrice"],
                funding_8h=parsed["fundingRate"] * 8,
            )
    meta, prices = spot = body_of(
        folder / "info_SpotMetaAndAssetCtxs.sonirico.json.gz", {"type": "spotMetaAndAssetCtxs"}
    )
    out.rows.append(response(AT_MS, "hyperliquid", "spot_tickers", spot))
    token = {entry["index"]: entry["name"] for entry in meta["tokens"]}
    by_name = {context["coin"]: context for context in prices}
    for pair in meta["universe"]:
        context, units = by_name[pair["name"]], coins(token[pair["tokens"][0]])
        price = float(context["midPx"] or context["markPx"]) / units
        volume = float(context["dayNtlVlm"])
        out.put(AT_MS, f"hyperliquid:spot:{pair['name']}", price=price or None, vol24h_usd=volume, oi_usd=None)
    dexes = [
        body_of(folder / "info_PerpDexs.sonirico.json", {"type": "perpDexs"}),
        read(folder / "perpdexs.eugene2026.json"),
    ]
    for n, body in enumerate(dexes):
        out.rows.append(response(AT_MS + n * MINUTE, "hyperliquid", "perp_dexes", body))
        out.dexes |= {(AT_MS + n * MINUTE, dex["name"]) for dex in body if dex}
    for request, candles in kept(folder / "info_get_candles_snapshot.hlsdk.json"):
        if request["type"] == "candleSnapshot":
            out.rows.append(response(AT_MS, "hyperliquid", "perp_bars", candles, key=request["req"]["coin"]))
            for bar in candles:
                ohlcv = (float(bar[name]) for name in "ohlcv")
                out.bars.add(("hyperliquid", "perp_bars", bar["s"], bar["t"], *ohlcv, None, None))


def recorded(folder: Path) -> Recorded:
    """Everything that the recordings hold for the three venues' bulk kinds."""
    out = Recorded()
    for venue in (binance, bybit, hyperliquid):
        venue(folder, out)
    return out
