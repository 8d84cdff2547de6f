"""The recorded bodies of Gate as landed rows."""

import json
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from tests.support.pipeline.warehouse import MINUTE, response
from tests.support.recordings.captures import frames, logged, raw, sample
from tests.support.recordings.recorded import read

AT_MS = 1_790_000_000_000 // MINUTE * MINUTE


class Bodies:
    """The recorded bodies of Gate, and the landed rows that they make: two minutes where a kind has two bodies."""

    def __init__(self, recordings: Path) -> None:
        folder = recordings / "gate"
        log = folder / "cryptofeed"
        self.contracts = logged(log / "GATEIO_FUTURES.0.txt.gz", "https://api.gateio.ws/api/v4/futures/usdt/contracts")
        self.tickers = read(folder / "api_v4_futures_usdt_tickers.2026-09.json")
        # Until 2026 tickers were recorded from the stream alone; their rows are those of the REST body.
        pushed = [*frames(folder, "futures.tickers"), raw(folder, "ticker", "linear_swap")]
        rows = [row for frame in pushed for row in _flat(frame["result"])]
        self.older_tickers = list({row["contract"]: row for row in rows if row["contract"].endswith("_USDT")}.values())
        self.inverse_tickers = raw(folder, "ticker", "inverse_swap")["result"]
        self.spot = read(folder / "spot_tickers.coinranking2021.json.gz")[0]["response"]
        self.pairs = logged(log / "GATEIO.0.txt.gz", "https://api.gateio.ws/api/v4/spot/currency_pairs")
        self.stats = {
            "BTC_USDT": ("1h", read(folder / "api_v4_futures_usdt_contract_stats.2026-09.json")),
            "BTC_USDT of 2022": ("5m", raw(folder, "open_interest", "linear_swap")),
        }
        endpoints = "PerpetualFutures/ExchangeData"
        self.candles = sample(folder, f"{endpoints}/GetKlines.txt")
        self.spot_candles = sample(folder, "Spot/ExchangeData/GetKlines.txt")
        self.constituents = sample(folder, f"{endpoints}/GetIndexConstituents.txt")
        self.settled = sample(folder, f"{endpoints}/GetFundingRateHistory.txt")
        self.decimal_contract = sample(folder, f"{endpoints}/GetContracts.txt")

    def rows(self) -> list[dict[str, Any]]:
        one_minute = json.dumps({"interval": "1m"})
        return [
            response(AT_MS, "gate", "instruments", self.contracts, key="usdt"),
            response(AT_MS + MINUTE, "gate", "instruments", self.decimal_contract, key="usdt"),
            response(AT_MS, "gate", "perp_tickers", self.tickers, key="usdt"),
            response(AT_MS, "gate", "perp_tickers", self.inverse_tickers, key="btc"),
            response(AT_MS + MINUTE, "gate", "perp_tickers", self.older_tickers, key="usdt"),
            response(AT_MS, "gate", "spot_tickers", self.spot),
            response(AT_MS, "gate", "spot_instruments", self.pairs),
            response(AT_MS, "gate", "perp_bars", self.candles, key="BTC_USDT", params=one_minute),
            response(AT_MS, "gate", "spot_bars", self.spot_candles, key="BTC_USDT", params=one_minute),
            *(
                response(AT_MS, "gate", "contract_stats", body, key=contract, params=json.dumps({"interval": interval}))
                for contract, (interval, body) in self.stats.items()
            ),
            response(AT_MS, "gate", "index_components", self.constituents, key="BTC_USDT"),
            response(AT_MS, "gate", "settlements", self.settled, key="BTC_USDT"),
        ]


def _flat(result: Any) -> Iterable[Any]:
    """The rows of a pushed result: an object, a list, or a list in a list."""
    return [row for one in result for row in _flat(one)] if isinstance(result, list) else [result]
