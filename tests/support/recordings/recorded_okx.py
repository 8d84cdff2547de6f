"""Bodies that OKX sent, as landed rows, and what they say: worked out in Python from OKX's documents, and by ccxt.

Where only rows of a WebSocket channel or a single swap were recorded, they are put into the envelope of the bulk
response: OKX writes the same row in both.
"""

import gzip
import json
import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import ccxt

from tests.support.pipeline.warehouse import MINUTE, response, span
from tests.support.recordings.recorded import read

AT_MS = 1_790_000_000_000 // MINUTE * MINUTE
HOURS = {"1h": 1, "2h": 2, "4h": 4, "8h": 8}


@dataclass
class RecordedOkx:
    """Landed rows, and the expected rows per kind, each as (symbol, {column: value})."""

    rows: list[dict[str, Any]] = field(default_factory=list)
    expected: dict[str, list[tuple[str, dict[str, Any]]]] = field(default_factory=dict)
    bodies: dict[str, list[Any]] = field(default_factory=dict)

    def land(self, kind: str, body: Any, **other: Any) -> None:
        # A minute of its own for each body, so that none replaces another.
        self.bodies.setdefault(kind, []).append(body)
        minute = AT_MS + len(self.rows) * MINUTE
        self.rows.append(response(minute, "okx", kind, body, **other))

    def expect(self, kind: str, symbol: str, **values: Any) -> None:
        self.expected.setdefault(kind, []).append((symbol, values))


def enveloped(rows: list[Any]) -> dict[str, Any]:
    """Rows in the envelope of an answer."""
    return {"code": "0", "msg": "", "data": rows}


def near(lowest: float, value: float, highest: float) -> bool:
    """Whether a value lies between the two, allowing for prices and sizes that were rounded."""
    return lowest * 0.99 - 1e-4 <= value <= highest * 1.01 + 1e-4


def captured_instruments(folder: Path, kind: str) -> dict[str, Any]:
    """The newest recorded answer of /public/instruments for a kind of instrument."""
    found: dict[str, Any] = {}
    for line in gzip.decompress((folder / "cryptofeed/OKX.0.txt.gz").read_bytes()).decode().splitlines():
        if match := re.match(rf"\S+/public/instruments\?instType={kind}(&uly=BTC-USD)? -> [\d.]+: (.*)$", line):
            found = json.loads(match[2])
    return found


def sampled(folder: Path, ending: str) -> Any:
    """The body of a sample of a client library's tests."""
    return next(one["json"] for one in read(folder / "samples.nautilus.json") if one["file"].endswith(ending))


def documented(folder: Path, name: str) -> Any:
    """The body of an example of the documents."""
    entry = next(one for one in read(folder / "samples.jkorf.json") if one["file"].endswith(f"/{name}.txt"))
    return json.loads(entry["text"].split("\n", 3)[3])


def captured(folder: Path, section: str) -> Iterator[tuple[str, Any]]:
    """(test, body or frame) of a section of the raw captures."""
    for one in read(folder / "raw-messages.crypto-msg-parser.json"):
        if one["section"] == section:
            yield one["test"], one["raw"]


def _instruments(folder: Path, out: RecordedOkx, okx: Any) -> None:
    swaps = [captured_instruments(folder, "SWAP"), sampled(folder, "instruments_swap.json")]
    pairs = [captured_instruments(folder, "SPOT"), sampled(folder, "instruments_spot.json")]
    pairs.append(documented(folder, "GetSymbols"))
    for kind, bodies in (("instruments", swaps), ("spot_instruments", pairs)):
        for body in bodies:
            out.land(kind, body)
            for row in body["data"]:
                parsed = okx.parse_market(row)
                values = {"base_raw": parsed["baseId"], "quote": parsed["quoteId"], "listed_ms": parsed["created"]}
                values |= {"status": "trading" if parsed["active"] else "halted", "delisted_ms": parsed["expiry"]}
                if kind == "instruments":
                    values |= {"settle": parsed["settleId"], "inverse": parsed["inverse"]}
                    values |= {"contract_size": parsed["contractSize"], "category": []}
                out.expect(kind, row["instId"], **values)


def _tickers(folder: Path, out: RecordedOkx, okx: Any) -> None:
    spot = read(folder / "spot_tickers.coinranking2022.json.gz")[0]["response"]
    out.land("spot_tickers", spot)
    for row in spot["data"]:
        parsed = okx.parse_ticker(row, {"symbol": row["instId"], "spot": True})
        # Worth of the base volume at the day's prices: which of the two volumes is in the quote.
        lowest, highest = (parsed["baseVolume"] * parsed[name] for name in ("low", "high"))
        turnover = next(one for one in map(float, (row["volCcy24h"], row["vol24h"])) if near(lowest, one, highest))
        out.expect("spot_tickers", row["instId"], last_price=parsed["last"], vol24h_quote=turnover)
    frames = [frame for test, frame in captured(folder, "ticker") if test.endswith("_swap")]
    swaps = [row for frame in frames for row in frame["data"]]
    out.land("perp_tickers", enveloped(swaps))
    for row in swaps:
        parsed = okx.parse_ticker(row, {"symbol": row["instId"], "swap": True, "contract": True})
        # Another way than coins at the last price: a contract is 100 USD of the inverse swap, 0.01 BTC of the linear.
        contracts, inverse = parsed["baseVolume"], row["instId"].endswith("-USD-SWAP")
        turnover = contracts * 100 if inverse else contracts * 0.01 * parsed["last"]
        out.expect("perp_tickers", row["instId"], last_price=parsed["last"], vol24h_quote=turnover)


def _derivatives(folder: Path, out: RecordedOkx, okx: Any) -> None:
    history = read(folder / "okx_funding.agentic2026.json")
    current = [one["current"][0] for one in history.values()]
    for body in (
        enveloped(current),
        enveloped([read(folder / "okx_funding_ccxt.jhabermas2024.json")["info"]]),
        documented(folder, "GetFundingRates"),
    ):
        out.land("funding", body)
        for row in body["data"]:
            parsed = okx.parse_funding_rate(row)
            out.expect(
                "funding",
                row["instId"],
                funding_rate=parsed["fundingRate"],
                next_funding_ms=parsed["fundingTimestamp"],
                interval_h=HOURS[parsed["interval"]],
            )
    settled = [enveloped(one["history"]) for one in history.values()]
    for body in [*settled, documented(folder, "GetFundingRateHistory"), sampled(folder, "funding_rate_history.json")]:
        out.land("settlements", body, key=body["data"][0]["instId"])
        for row in body["data"]:
            rate, at = float(row["realizedRate"]), int(row["fundingTime"])
            out.expect("settlements", row["instId"], funding_rate=rate, settled_ms=at)
    held = [row for rows in read(folder / "okx_oi.agentic2026.json").values() for row in rows]
    bodies = [body for test, body in captured(folder, "open_interest") if test.endswith("_swap")]
    for body in [enveloped(held), *bodies]:
        out.land("open_interest", body)
        for row in body["data"]:
            parsed = okx.parse_open_interest(row)
            contracts = parsed["openInterestAmount"]
            out.expect("open_interest", row["instId"], open_interest=float(row["oiCcy"]), open_contracts=contracts)
    mark, index = sampled(folder, "mark_price.json"), sampled(folder, "index_price.json")
    out.land("marks", mark)
    out.rows.append(out.rows[-1] | {"endpoint": "index_tickers", "key": "USDT", "body": json.dumps(index)})
    out.bodies["index_tickers"] = [index]
    prices = {"mark_price": 84660.1, "index_price": 103895.0}  # recorded a month apart
    out.expect("marks", "BTC-USDT-SWAP", **prices)
    out.expect("index_tickers", "BTC-USDT", index_price=prices["index_price"])


def _bars_and_books(folder: Path, out: RecordedOkx, okx: Any) -> None:
    body = sampled(folder, "candlesticks_full.json")
    out.land("perp_bars", body, key="BTC-USDT-SWAP", params='{"bar":"1m"}')
    for row in body["data"]:
        parsed = okx.parse_ohlcv(row, {"type": "swap", "swap": True})
        names = ("opened_ms", "open", "high", "low", "close", "volume")
        out.expect("perp_bars", "BTC-USDT-SWAP", **dict(zip(names, parsed, strict=True)), turnover=float(row[7]))
    books = [(body, test) for test, body in captured(folder, "l2_snapshot") if test == "spot"]
    for book, _ in [*books, (sampled(folder, "order_book.json"), "")]:
        out.land("index_books", book, key="BTC-USDT")
        parsed = okx.parse_order_book(book["data"][0], "BTC/USDT", int(book["data"][0]["ts"]))
        sides = {side: [tuple(level[:2]) for level in parsed[side]] for side in ("bids", "asks")}
        out.expect("index_books", "BTC-USDT", ts=parsed["timestamp"], size_unit="base", **sides)
    components = documented(folder, "GetIndexComponents")
    out.land("index_components", components, key="BTC-USDT")
    for name in ("okx", "binance", "huobi", "poloniex"):
        out.expect("index_components", "BTC-USDT-SWAP", exchange=name, pair="BTC/USDT", weight=0.25)


def _positioning(folder: Path, out: RecordedOkx) -> None:
    """The recorded statistics are those of a coin, in the format of a contract's."""
    ratios = documented(folder, "GetRubikLongShortRatio")
    for kind in ("long_short_accounts", "long_short_top_accounts", "long_short_top_positions"):
        out.land(kind, ratios, key="BTC-USDT-SWAP", params='{"period":"5m"}')
        out.expect(kind, "BTC-USDT-SWAP", t=1630502100000, period_ms=300_000, long_fraction=5 / 9)
    out.land("taker_ratio", documented(folder, "GetRubikTakerVolume"), key="X", params='{"period":"1H","unit":"0"}')
    for t, sold, bought in ((1630425600000, 7596.2651, 7149.4855), (1630339200000, 5312.7876, 7002.7541)):
        values = {"taker_buy": bought, "taker_sell": sold, "period_ms": 3_600_000, "unit": "base"}
        out.expect("taker_ratio", "X", t=t, **values)


def _options(folder: Path, out: RecordedOkx) -> None:
    frames = [one["message"] for one in read(folder / "ws-messages.tardis.json")]
    summaries = [enveloped(one["data"]) for one in frames if one.get("arg", {}).get("channel") == "opt-summary"]
    for body in [read(folder / "okx_options_api.jhabermas2024.json.gz"), *summaries]:
        out.land("option_tickers", body, key=body["data"][0]["uly"])
        for row in body["data"]:
            coin, _, day, strike, kind = row["instId"].split("-")
            expiry = datetime.strptime(day, "%y%m%d").replace(hour=8, tzinfo=UTC)
            volatilities = {name: float(row[name] or 0) or None for name in ("markVol", "bidVol", "askVol")}
            out.expect(
                "option_tickers",
                row["instId"],
                coin=coin,
                expiry_ms=int(expiry.timestamp() * 1000),
                strike=float(strike),
                option_type={"C": "call", "P": "put"}[kind],
                mark_iv=volatilities["markVol"],
                bid_iv=volatilities["bidVol"],
                ask_iv=volatilities["askVol"],
                forward=float(row["fwdPx"]) if "fwdPx" in row else None,
            )
    body = read(folder / "okx_oi.option_api.jhabermas2024.json.gz")
    out.land("option_open_interest", body, key="BTC-USD")
    for row in body["data"]:
        values = {"open_interest_coins": float(row["oiCcy"]), "open_contracts": float(row["oi"])}
        out.expect("option_open_interest", row["instId"], **values)
    tickers = [row for test, frame in captured(folder, "ticker") if test == "option" for row in frame["data"]]
    out.land("option_volumes", enveloped(tickers), key="BTC-USD")
    out.expect("option_volumes", tickers[0]["instId"], volume_coins=0.0)


def _liquidations(folder: Path, out: RecordedOkx) -> None:
    """The recorded frame is of a dated future: as it is it says nothing about swaps; as a swap's it is one event."""
    frames = [one["message"] for one in read(folder / "ws-messages.tardis.json")]
    future = next(one for one in frames if one.get("arg", {}).get("channel") == "liquidation-orders")
    swap = json.loads(json.dumps(future).replace("XRP-USD-230929", "XRP-USD-SWAP").replace("FUTURES", "SWAP"))
    minute = AT_MS + len(out.rows) * MINUTE
    out.bodies["liquidations"] = [swap]
    out.rows.append(span(minute, "okx", [{"event": "subscribe", "arg": swap["arg"]}, future, swap]))
    values = {"side": "short", "ts": 1680173247614, "size_contracts": 39.0, "price": 0.55205}
    out.expect("liquidations", "XRP-USD-SWAP", **values)


def recorded_okx(recordings: Path) -> RecordedOkx:
    """Everything that the recordings hold for the kinds of OKX."""
    folder, out, okx = recordings / "okx", RecordedOkx(), ccxt.okx()
    _instruments(folder, out, okx)
    _tickers(folder, out, okx)
    _derivatives(folder, out, okx)
    _bars_and_books(folder, out, okx)
    _positioning(folder, out)
    _options(folder, out)
    _liquidations(folder, out)
    return out
