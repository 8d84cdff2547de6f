"""The recorded bodies of KuCoin as landed rows."""

import json
from pathlib import Path
from typing import Any

from tests.support.pipeline.warehouse import MINUTE, response
from tests.support.recordings.captures import logged, raw, sample
from tests.support.recordings.recorded import read

AT_MS = 1_790_000_000_000 // MINUTE * MINUTE


class Bodies:
    """The recorded bodies of KuCoin, and the landed rows that they make: three minutes for three lists of contracts."""

    def __init__(self, recordings: Path) -> None:
        folder = recordings / "kucoin"
        endpoints = "Futures/ExchangeData"
        self.contracts = [
            read(folder / "api_v1_contracts_active.2026-09.json"),
            raw(folder, "open_interest", "unknown"),
            sample(folder, f"{endpoints}/GetOpenContracts.txt"),
        ]
        self.spot = read(folder / "spot_tickers.coinranking2021.json.gz")[0]["response"]
        self.spot_sample = sample(folder, "Spot/ExchangeData/GetTickers.txt")
        self.pairs = logged(folder / "cryptofeed" / "KUCOIN.0.txt.gz", "https://api.kucoin.com/api/v1/symbols")
        self.candles = sample(folder, f"{endpoints}/GetKlines.txt")
        self.spot_candles = sample(folder, "Spot/ExchangeData/GetKlines.txt")
        # A pushed candle has the seven values of a REST one.
        self.week = raw(folder, "candlestick", "spot")["data"]["candles"]
        self.index = sample(folder, f"{endpoints}/GetIndexList.txt")
        self.settled = sample(folder, f"{endpoints}/GetFundingRateHistory.txt")

    def rows(self) -> list[dict[str, Any]]:
        minute, spot_minute = json.dumps({"granularity": 1}), json.dumps({"type": "1min"})
        return [
            *(response(AT_MS + n * MINUTE, "kucoin", "perp_tickers", body) for n, body in enumerate(self.contracts)),
            response(AT_MS, "kucoin", "spot_tickers", self.spot),
            response(AT_MS, "kucoin", "spot_instruments", self.pairs),
            response(AT_MS, "kucoin", "perp_bars", self.candles, key="XBTUSDM", params=minute),
            response(AT_MS, "kucoin", "spot_bars", self.spot_candles, key="ETH-BTC", params=spot_minute),
            response(AT_MS, "kucoin", "spot_bars", {"code": "200000", "data": [self.week]}, key="BTC-USDT",
                     params=spot_minute),
            response(AT_MS, "kucoin", "index_components", self.index, key="XBTUSDM .KXBT"),
            response(AT_MS, "kucoin", "settlements", self.settled, key="IDUSDTM"),
            response(AT_MS, "kucoin", "settlements", {"code": "200000", "data": None}, key="NEWUSDTM"),
        ]  # fmt: skip
