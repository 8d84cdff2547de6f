"""COIN-M on the wire: Binance's perpetuals that are margined in the coin, in contracts of 100 USD (BTC) or 10 USD."""

from typing import Any

import numpy as np
import orjson

from sandbox.derived.positioning import takers
from sandbox.market.derivatives import open_interest
from sandbox.market.listing import Listing
from sandbox.market.noise import Ints
from sandbox.market.world import World
from sandbox.venues.binance.depth import Depth
from sandbox.venues.binance.info import coin_margined_info
from sandbox.venues.binance.market import NO_SYMBOL, Binance, failure
from sandbox.venues.binance.statistics import RATIOS, Statistics
from sandbox.wire.candles import Candles
from sandbox.wire.endpoint import Endpoint, Request, Response, json_response

DAPI, POOL, LIMIT = "dapi.binance.com", "binance_dapi", 2400


def pair(one: Listing) -> str:
    """BTCUSD of BTCUSD_PERP."""
    return one.base_raw + one.quote


class CoinMargined(Binance):
    """Tickers, premium index, open interest and klines, in contracts and coins."""

    def __init__(self, world: World) -> None:
        super().__init__(world, inverse=True)

    def _ticker(self, rows: list[int], now_ms: int, spot: bool) -> list[dict[str, Any]]:
        state, known = self.world.minute(now_ms // 60_000), self.by_symbol["futures"]
        out = super()._ticker(rows, now_ms, spot)
        for one in out:
            row = known[one["symbol"]]
            listing, coins = self.world.universe.listings[row], float(state.base_24h[row])
            contracts = round(float(state.quote_24h[row]) / listing.contract_size)
            del one["quoteVolume"]
            mean = contracts * listing.contract_size / coins if coins else 0.0
            one |= {"pair": pair(listing), "lastQty": "1", "volume": str(contracts), "baseVolume": f"{coins:.8f}",
                    "weightedAvgPrice": f"{mean:.8f}"}  # fmt: skip
        return out

    def premium_index(self, request: Request) -> Response:
        """GET premiumIndex: a list, also of one symbol."""
        response = super().premium_index(request)
        if response.status != 200:
            return response
        body = orjson.loads(response.body)
        listings, known = self.world.universe.listings, self.by_symbol["futures"]
        shown = [
            {**one, "pair": pair(listings[known[one["symbol"]]])}
            for one in ([body] if isinstance(body, dict) else body)
        ]
        return json_response(shown, weight=response.weight)

    def open_interest(self, request: Request) -> Response:
        """GET openInterest of one symbol, in contracts."""
        response = super().open_interest(request)
        if response.status != 200:
            return response
        row = self.by_symbol["futures"][request.query["symbol"]]
        one, state = self.world.universe.listings[row], self.world.minute(request.now_ms // 60_000)
        held = round(float(state.oi[row] * state.mark[row]) / one.contract_size)
        body = orjson.loads(response.body)
        return json_response({**body, "pair": pair(one), "openInterest": str(held), "contractType": "PERPETUAL"})

    def _rows(self, row: int, found: Candles, spot: bool) -> list[list[Any]]:
        price, contract = self.world.price_format[row], self.world.universe.listings[row].contract_size
        return [
            [at, price % o, price % h, price % low, price % c, str(round(q / contract)), at + found.step_ms - 1,
             f"{v:.8f}", n, str(round(b / contract)), f"{v * b / q if q else 0.0:.8f}", "0"]
            for at, o, h, low, c, v, q, n, b in found.rows()
        ]  # fmt: skip


class CoinMarginedStatistics(Statistics):
    """/futures/data by pair."""

    def __init__(self, world: World) -> None:
        super().__init__(world, inverse=True)
        self.by_symbol = {symbol.removesuffix("_PERP"): row for symbol, row in self.by_symbol.items()}

    def of_pair(self, path: str) -> Any:
        """GET with pair instead of symbol, and with the contract's type."""
        handler = self.handler(self.rows_of(path))

        def by_pair(request: Request) -> Response:
            if not (asked := request.query.get("pair")):
                return failure(-1102, NO_SYMBOL.replace("symbol", "pair"))
            if path not in RATIOS and request.query.get("contractType") != "PERPETUAL":
                return failure(-1102, NO_SYMBOL.replace("symbol", "contractType"))
            return handler(Request({**request.query, "symbol": asked}, request.body, request.now_ms))

        return by_pair

    def rows_of(self, path: str) -> Any:
        """The rows of a path, in its fields."""
        if path not in RATIOS:
            return self.taken if path.endswith("takerBuySellVol") else self.held

        def rows(row: int, starts: Ints, step: int, labels: list[int]) -> list[dict[str, Any]]:
            found = self.ratios(RATIOS[path])(row, starts, step, labels)
            of = "Position" if path.endswith("PositionRatio") else "Account"
            return [{"pair": pair(self.world.universe.listings[row]), "longShortRatio": one["longShortRatio"],
                     f"long{of}": one["longAccount"], f"short{of}": one["shortAccount"], "timestamp": one["timestamp"]}
                    for one in found]  # fmt: skip

        return rows

    def taken(self, row: int, starts: Ints, step: int, labels: list[int]) -> list[dict[str, Any]]:
        """GET takerBuySellVol: contracts, and coins."""
        one = self.world.universe.listings[row]
        found = takers(self.world, np.array([row]), int(starts[0]), len(starts), step)
        contracts = [(part[0] / one.contract_size).tolist() for part in (found.buy_quote, found.sell_quote)]
        coins = [part[0].tolist() for part in (found.buy, found.sell)]
        return [
            {"pair": pair(one), "contractType": "PERPETUAL", "takerBuyVol": f"{bought:.0f}",
             "takerSellVol": f"{sold:.0f}", "takerBuyVolValue": f"{buy:.8f}", "takerSellVolValue": f"{sell:.8f}",
             "timestamp": label * 60_000}
            for label, bought, sold, buy, sell in zip(labels, *contracts, *coins, strict=True)
        ]  # fmt: skip

    def held(self, row: int, starts: Ints, step: int, labels: list[int]) -> list[dict[str, Any]]:
        """GET openInterestHist: contracts and coins at the end of each bucket."""
        rows, market, ends = np.array([row]), self.world.market, starts + step
        one, size = self.world.universe.listings[row], open_interest(market, rows, ends)[0]
        mark = np.exp(market.index_logs(rows, ends)[0] + market.premium(rows, ends)[0])
        contracts = np.rint(size * mark / one.contract_size)
        return [
            {"pair": pair(one), "contractType": "PERPETUAL", "sumOpenInterest": f"{held:.0f}",
             "sumOpenInterestValue": f"{coins:.8f}", "timestamp": label * 60_000}
            for label, held, coins in zip(labels, contracts.tolist(), size.tolist(), strict=True)
        ]  # fmt: skip


def endpoints(world: World) -> list[Endpoint]:
    """All paths of the host."""
    market, statistics, paid = CoinMargined(world), CoinMarginedStatistics(world), Depth(world, inverse=True)

    def funding_rates(request: Request) -> Response:
        if not request.query.get("symbol"):
            return failure(-1102, NO_SYMBOL)
        response = paid.funding_rates(request)
        rows = orjson.loads(response.body)
        return (
            response
            if response.status != 200
            else json_response([{name: one[name] for name in ("symbol", "fundingTime", "fundingRate")} for one in rows])
        )

    paths = {
        "/dapi/v1/exchangeInfo": lambda request: coin_margined_info(world, request),
        "/dapi/v1/ticker/24hr": market.tickers("futures"),
        "/dapi/v1/premiumIndex": market.premium_index,
        "/dapi/v1/openInterest": market.open_interest,
        "/dapi/v1/klines": market.klines("futures"),
        "/dapi/v1/fundingRate": funding_rates,
    }
    data = [*RATIOS, "/futures/data/takerBuySellVol", "/futures/data/openInterestHist"]
    paths |= {path: statistics.of_pair(path) for path in data}
    return [Endpoint("binance", DAPI, path, handler, POOL) for path, handler in paths.items()]
