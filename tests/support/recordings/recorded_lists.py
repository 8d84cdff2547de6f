"""Every market that a recorded list or ticker names, of all venues: its token as the venue writes it, and its price.

Read here by the venues' documents, without the models. Days are the bodies' own, or the day on which all prices of the
body lie between the lowest and the highest of Binance's archive.
"""

import csv
import gzip
import io
import json
import tarfile
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from datetime import datetime
from pathlib import Path
from typing import Any

from tests.support.recordings.captures import logged, sample
from tests.support.recordings.recorded import body_of, quote_of, read
from tests.support.recordings.recorded_gate import Bodies as Gate
from tests.support.recordings.recorded_kucoin import Bodies as Kucoin

DAY = 86_400_000


@dataclass(frozen=True)
class Market:
    """A market in one recorded body; `price` in quote at `day`, null where a list has no prices or nothing traded.
    `spread` is the day's highest over its lowest price, where the price is the day's."""

    venue: str
    type: str
    symbol: str
    token: str
    quote: str
    price: float | None = None
    day: str = ""
    spread: float = 1.0


Row = tuple[str, str, str, str, Any]  # type, symbol, token, quote, price
Markets = Iterator[Row]


def _number(value: Any) -> float | None:
    return float(value) or None if value not in (None, "") else None


def _joined(kind: str, rows: Any, price: str, name: str = "symbol") -> Markets:
    """Symbols whose end is the quote."""
    for row in rows:
        quote = quote_of(row[name])
        if quote and "_" not in row[name] and "-" not in row[name]:
            yield kind, row[name], row[name].removesuffix(quote), quote, row.get(price)


def _split(kind: str, rows: Any, price: str | None, name: str, mark: str, *, quote_first: bool = False) -> Markets:
    """Symbols whose quote is separated from the base by a mark."""
    for row in rows:
        token, quote, *rest = row[name].split(mark)
        if quote_first:
            token, quote = quote, token
        if not rest or rest == ["SWAP"]:
            yield kind, row[name], token, quote, row.get(price) if price else None


def _stated(kind: str, rows: Any, name: str, token: str, quote: str, price: str = "") -> Markets:
    """Lists that state the token."""
    for row in rows:
        yield kind, row[name], row[token], row[quote], row.get(price)


def _binance(folder: Path) -> Iterator[tuple[str, Markets]]:
    for log, kind in (("BINANCE.0.txt.gz", "spot"), ("BINANCE_FUTURES.0.txt.gz", "perp")):
        path = "api.binance.com/api/v3" if kind == "spot" else "fapi.binance.com/fapi/v1"
        rows = logged(folder / "cryptofeed" / log, f"https://{path}/exchangeInfo")["symbols"]
        yield "", _stated(kind, [row for row in rows if "_" not in row["symbol"]], "symbol", "baseAsset", "quoteAsset")
    for name, kind in (("fapi_v1_exchangeInfo.gct.json", "perp"), ("api_v3_exchangeInfo.gct.json.gz", "spot")):
        rows = body_of(folder / name, "")["symbols"]
        yield "", _stated(kind, [row for row in rows if "_" not in row["symbol"]], "symbol", "baseAsset", "quoteAsset")
    marks = read(folder / "fapi_v1_premiumIndex_all.2025.json.gz")
    yield "2025-06-17", _joined("perp", marks, "markPrice")
    yield "2020-10-16", _joined("perp", body_of(folder / "fapi_v1_premiumIndex.gct.json", ""), "markPrice")
    for when, rows in (
        ("2020-04-10", body_of(folder / "api_v3_ticker_24hr.gct.json.gz", "")),
        ("2026-03-10", read(folder / "binance_tickers.agentic2026.json")),
        ("2024-01-14", read(folder / "binance_tickers.spot_api.jhabermas2024.json")),
    ):
        newest = max(row["closeTime"] for row in rows)
        live = [row for row in rows if row["closeTime"] > newest - DAY]
        yield when, _joined("spot", live, "lastPrice")
        yield "", _joined("spot", rows, "")
    for file in sorted(folder.glob("liquidations_forceOrder_*.ndjson.gz")):
        orders = [json.loads(line)["o"] for line in gzip.decompress(file.read_bytes()).splitlines()]
        # The captures had lost the quote and USDT was put in its place.
        whole = [row for row in orders if quote_of(row["s"].removesuffix("USDT")) is None]
        yield "", _joined("perp", whole, "", "s")


def _bybit(folder: Path) -> Iterator[tuple[str, Markets]]:
    symbols = logged(folder / "cryptofeed/BYBIT.0.txt", "https://api.bybit.com/v2/public/symbols")["result"]
    yield "", _stated("perp", symbols, "name", "base_currency", "quote_currency")
    for kind, name in (("perp", "linear_api.jhabermas2024.json.gz"), ("perp", "inverse_api.jhabermas2024.json"),
                       ("spot", "spot_api.jhabermas2024.json.gz")):  # fmt: skip
        rows = read(folder / f"bybit_tickers.{name}")["result"]["list"]
        undated = [row for row in rows if row.get("deliveryTime", "0") == "0" and float(row["turnover24h"])]
        yield "", _joined(kind, rows, "")
        yield "2024-01-14", _joined(kind, undated, "lastPrice")
        yield (
            "2024-01-14",
            (
                ("perp", row["symbol"], row["symbol"].removesuffix("PERP"), "USDC", row["lastPrice"])
                for row in undated
                if row["symbol"].endswith("PERP") and kind == "perp"
            ),
        )


def _hyperliquid(folder: Path) -> Iterator[tuple[str, Markets]]:
    file = folder / "info_MetaAndAssetCtxs.sonirico.json.gz"
    asked = {"2025-08-22": {"type": "metaAndAssetCtxs"}, "2026-02-06": {"type": "metaAndAssetCtxs", "dex": ""}}
    for when, request in asked.items():
        meta, contexts = body_of(file, request)
        pairs = zip(meta["universe"], contexts, strict=True)
        live = [(coin["name"], context["markPx"]) for coin, context in pairs if not coin.get("isDelisted")]
        yield when, (("perp", name, name, "USDC", price) for name, price in live)
        yield "", (("perp", coin["name"], coin["name"], "USDC", None) for coin in meta["universe"])
    meta, contexts = body_of(folder / "info_SpotMetaAndAssetCtxs.sonirico.json.gz", {"type": "spotMetaAndAssetCtxs"})
    names, prices = {token["index"]: token["name"] for token in meta["tokens"]}, {c["coin"]: c for c in contexts}
    for pair in meta["universe"]:
        token, quote = (names[n] for n in pair["tokens"])
        context = prices[pair["name"]]
        traded = float(context["dayNtlVlm"]) > 10_000
        yield "2025-08-22", iter([("spot", pair["name"], token, quote, context["markPx"] if traded else None)])


def _bitget(folder: Path) -> Iterator[tuple[str, Markets]]:
    log = folder / "cryptofeed/BITGET.0.txt.gz"
    spot = logged(log, "https://api.bitget.com/api/spot/v1/public/products")["data"]
    yield "", _stated("spot", spot, "symbolName", "baseCoin", "quoteCoin")
    for product in ("umcbl", "dmcbl"):
        rows = logged(log, f"https://api.bitget.com/api/mix/v1/market/contracts?productType={product}")["data"]
        undated = [row for row in rows if row["symbol"].count("_") == 1]
        yield "", _stated("perp", undated, "symbol", "baseCoin", "quoteCoin")
    kept = {one["path"].rpartition("/")[2]: one["response"]["data"]
            for one in read(folder / "spot_tickers.coinranking2021.json.gz")}  # fmt: skip
    yield "", _stated("spot", kept["products"], "symbolName", "baseCoin", "quoteCoin")
    yield "2022-01-20", _joined("spot", kept["tickers"], "close")
    yield "", _joined("perp", sample(folder, "Unified/ExchangeData/GetFuturesTickers.txt")["data"], "")


def _okx(folder: Path) -> Iterator[tuple[str, Markets]]:
    log = folder / "cryptofeed/OKX.0.txt.gz"
    for kind, name in (("spot", "SPOT"), ("perp", "SWAP")):
        rows = logged(log, f"https://www.okx.com/api/v5/public/instruments?instType={name}")["data"]
        yield "", _split(kind, rows, None, "instId", "-")
    tickers = read(folder / "spot_tickers.coinranking2022.json.gz")[0]["response"]["data"]
    yield "2022-03-21", _split("spot", tickers, "last", "instId", "-")
    held = read(folder / "okx_oi.agentic2026.json")
    yield "", _split("perp", [row for rows in held.values() for row in rows], None, "instId", "-")


def _gate(folder: Path) -> Iterator[tuple[str, Markets]]:
    bodies = Gate(folder.parent)
    yield "2023-05-24", _split("perp", bodies.contracts, "mark_price", "name", "_")
    yield "2021-01-22", _split("spot", bodies.spot, "last", "currency_pair", "_")
    yield "", _stated("spot", bodies.pairs, "id", "base", "quote")
    yield "", _split("perp", [*bodies.older_tickers, *bodies.tickers], None, "contract", "_")


def _mexc(folder: Path) -> Iterator[tuple[str, Markets]]:
    rows = read(folder / "api_v1_contract_detail_all.2025.json.gz")["data"]
    yield "", _stated("perp", rows, "symbol", "baseCoin", "quoteCoin")
    yield "", _joined("spot", sample(folder, "SpotApi/ExchangeData/GetTickers.txt"), "")


def _kucoin(folder: Path) -> Iterator[tuple[str, Markets]]:
    bodies = Kucoin(folder.parent)
    yield "2019-09-10", _split("spot", bodies.spot["data"]["ticker"], "last", "symbol", "-")
    # `name` is the pair under the coin's newer name.
    yield "", _stated("spot", bodies.pairs["data"], "symbol", "baseCurrency", "quoteCurrency")
    for body in bodies.contracts:
        yield "", _stated("perp", body["data"], "symbol", "baseCurrency", "quoteCurrency")


def _aster(folder: Path) -> Iterator[tuple[str, Markets]]:
    yield "2026-07-06", _joined("perp", read(folder / "fapi_premiumIndex.2026-07.json"), "markPrice")
    text = (folder / "liquidations_ws_2025-10-16.csv").read_text().splitlines()
    yield "", _joined("perp", list(csv.DictReader(text)), "")


def _lighter(folder: Path) -> Iterator[tuple[str, Markets]]:
    rates = read(folder / "api_v1_funding-rates.2026-07.json")["funding_rates"]
    names = {row["symbol"] for row in rates} | set(read(folder / "markets_apr2026.json"))
    text = gzip.decompress((folder / "funding_log_apr2026.csv.gz").read_bytes()).decode().splitlines()
    names |= {row["coin"] for row in csv.DictReader(text)}
    # A spot market is named with its quote.
    yield "", (("perp", name, name, "USDC", None) for name in sorted(names) if "/" not in name)
    yield "", _split("spot", [{"symbol": name} for name in sorted(names) if "/" in name], None, "symbol", "/")


def _upbit(folder: Path) -> Iterator[tuple[str, Markets]]:
    asked = read(folder / "spot_tickers.coinranking2019.json.gz")
    for one in asked[1:]:
        yield "2019-09-10", _split("spot", one["response"], "trade_price", "market", "-", quote_first=True)
    for rows in (
        asked[0]["response"],
        logged(folder / "cryptofeed/UPBIT.0.txt", "https://api.upbit.com/v1/market/all"),
    ):
        yield "", _split("spot", rows, None, "market", "-", quote_first=True)


def _bithumb(folder: Path) -> Iterator[tuple[str, Markets]]:
    log = folder / "cryptofeed/BITHUMB.0.txt.gz"
    for when, rows in (
        ("2019-09-10", read(folder / "spot_tickers.coinranking2020.json.gz")[0]["response"]["data"]),
        ("2021-06-01", logged(log, "https://api.bithumb.com/public/ticker/ALL_KRW")["data"]),
    ):
        yield when, (("spot", f"KRW-{token}", token, "KRW", row["closing_price"])
                     for token, row in rows.items() if token != "date")  # fmt: skip


def _coinbase(folder: Path) -> Iterator[tuple[str, Markets]]:
    kept = read(folder / "spot_tickers.coinranking2019.json.gz")
    tickers = {one["path"].split("/")[2]: one["response"] for one in kept if one["path"].endswith("/ticker")}
    rows = [{"id": name, "price": body["price"]} for name, body in tickers.items()]
    yield "2019-09-10", _split("spot", rows, "price", "id", "-")
    lists = [one["response"] for one in kept if one["path"] == "/products"]
    lists.append(logged(folder / "cryptofeed/COINBASE.0.txt.gz", "https://api.pro.coinbase.com/products"))
    for body in lists:
        yield "", _stated("spot", body, "id", "base_currency", "quote_currency")


READERS: dict[str, Callable[[Path], Iterator[tuple[str, Markets]]]] = {
    "binance": _binance, "bybit": _bybit, "hyperliquid": _hyperliquid, "bitget": _bitget, "okx": _okx, "gate": _gate,
    "mexc": _mexc, "kucoin": _kucoin, "aster": _aster, "lighter": _lighter, "upbit": _upbit, "bithumb": _bithumb,
    "coinbase": _coinbase,
}  # fmt: skip


def _archive(folder: Path, days: set[str]) -> Iterator[Market]:
    """Binance's perps of the history archive: all names, and the closes of the days on which others were recorded."""
    starts = {str(int(datetime.fromisoformat(f"{day}T00:00+00:00").timestamp() * 1000)): day for day in sorted(days)}
    with tarfile.open(folder / "history/binance_perps_1d_all538.tar.gz") as archive:
        for name in archive.getnames():
            symbol = Path(name).stem
            quote = quote_of(symbol)
            file = archive.extractfile(name) if name.endswith(".csv") else None
            if file is None or quote is None:
                continue
            market = Market("binance", "perp", symbol, symbol.removesuffix(quote), quote)
            yield market
            for bar in csv.DictReader(io.TextIOWrapper(file)):
                if day := starts.get(bar["timestamp"]):
                    spread = float(bar["high"]) / float(bar["low"])
                    yield replace(market, price=float(bar["close"]), day=day, spread=spread)


def markets(folder: Path) -> list[Market]:
    """All of them; a market as often as it was recorded."""
    found = [
        Market(venue, kind, symbol, token, quote, _number(price), day)
        for venue, reader in READERS.items()
        for day, rows in reader(folder / venue)
        for kind, symbol, token, quote, price in rows
    ]
    return found + list(_archive(folder, {market.day for market in found if market.day > "2024"}))
