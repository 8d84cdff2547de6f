"""OKX on the wire: funding, open interest, mark and index prices, and index components of swaps."""

from collections.abc import Callable

import numpy as np

from sandbox.derived.constituents import constituents
from sandbox.market.derivatives import HOUR_MS, funding_rate, next_funding_ms
from sandbox.market.listings import funding_cap
from sandbox.market.noise import Floats
from sandbox.market.universe import MINUTE_MS
from sandbox.venues.okx.market import NO_INSTRUMENT, Okx, contracts, envelope, failure, missing, wrong
from sandbox.wire.endpoint import Request, Response
from sandbox.wire.numbers import trimmed, whole
from sandbox.wire.settlements import settlements

_HISTORY_MS = 92 * 24 * HOUR_MS
_EXCHANGES = {"okx": "OKX", "mexc": "MEXC", "kucoin": "KuCoin", "gate": "Gate"}


class OkxDerivatives:
    """What OKX says about its swaps."""

    def __init__(self, market: Okx) -> None:
        self.market = market
        self.world = market.world

    def funding(self, request: Request) -> Response:
        """GET /api/v5/public/funding-rate of one swap or of ANY."""
        wanted, world = request.query.get("instId"), self.world
        if not wanted:
            return missing("instId")
        rows = self.market.listed("SWAP", request.now_ms)
        if wanted != "ANY":
            rows = [row for row in rows if world.universe.listings[row].symbol == wanted]
            if not rows:
                return failure("51001", NO_INSTRUMENT)
        state = world.minute(request.now_ms // MINUTE_MS)
        following, settled = (
            next_funding_ms(request.now_ms, state.hours).tolist(),
            self._settled(request.now_ms).tolist(),
        )
        out = []
        for row in rows:
            step, at = int(state.hours[row]) * HOUR_MS, following[row]
            out.append({
                "formulaType": "withRate", "fundingRate": f"{state.rate[row]:.16f}", "fundingTime": str(at),
                "impactValue": "20000.0000000000000000", "instId": world.universe.listings[row].symbol,
                "instType": "SWAP", "interestRate": "0.0001000000000000", "maxFundingRate": str(funding_cap("okx")),
                "method": "current_period", "minFundingRate": str(-funding_cap("okx")), "nextFundingRate": "",
                "nextFundingTime": str(at + step), "premium": f"{state.premium[row]:.16f}",
                "prevFundingTime": str(at - step), "settFundingRate": f"{settled[row]:.16f}",
                "settState": "settled", "ts": str(request.now_ms),
            })  # fmt: skip
        return envelope(out)

    def _settled(self, now_ms: int) -> Floats:
        """The rate of the last settlement of each row."""
        hours = self.world.minute(now_ms // MINUTE_MS).hours

        def make(_: int) -> Floats:
            market, rates = self.world.market, np.zeros(len(hours))
            for step in np.unique(hours[hours > 0]).tolist():
                rows = np.flatnonzero(hours == step)
                minutes = np.array([now_ms // (step * HOUR_MS) * step * 60 - 1])
                rates[rows] = funding_rate(market, rows, minutes, hours[rows][:, None])[:, 0]
            return rates

        return self.world.remembered("okx settled", now_ms // HOUR_MS, make, 1)

    def funding_history(self, request: Request) -> Response:
        """GET /api/v5/public/funding-rate-history: three months, newest first."""
        row = self.market.row.get(request.query.get("instId", ""))
        if row is None or self.world.universe.listings[row].type != "perp":
            return failure("51001", NO_INSTRUMENT)
        try:
            after, before, limit = (whole(request.query, name) for name in ("after", "before", "limit"))
        except ValueError as error:
            return wrong(str(error))
        newest = request.now_ms if after is None else min(after - 1, request.now_ms)
        oldest = max(request.now_ms - _HISTORY_MS, -1 if before is None else before)
        found = settlements(self.world, row, newest, min(max(1, limit or 400), 400))
        symbol = self.world.universe.listings[row].symbol
        return envelope([
            {"formulaType": "withRate", "fundingRate": f"{rate:.16f}", "fundingTime": str(at), "instId": symbol,
             "instType": "SWAP", "method": "current_period", "realizedRate": f"{rate:.16f}"}
            for at, rate, _ in found if at > oldest
        ])  # fmt: skip

    def open_interest(self, request: Request) -> Response:
        """GET /api/v5/public/open-interest of swaps, with the noise of binary fractions that OKX shows."""
        state, listings, out = self.world.minute(request.now_ms // MINUTE_MS), self.world.universe.listings, []
        for row in self.market.listed("SWAP", request.now_ms):
            one, coins, mark = listings[row], float(state.oi[row]), float(state.mark[row])
            held = contracts(one, coins, coins * mark)
            out.append({"instId": one.symbol, "instType": "SWAP", "oi": _plain(held), "oiCcy": _plain(coins),
                        "oiUsd": _plain(coins * mark), "ts": str(request.now_ms)})  # fmt: skip
        return envelope(out)

    def mark_price(self, request: Request) -> Response:
        """GET /api/v5/public/mark-price of swaps."""
        if request.query.get("instType") != "SWAP":
            return wrong("instType")
        state, listings = self.world.minute(request.now_ms // MINUTE_MS), self.world.universe.listings
        return envelope([
            {"instId": listings[row].symbol, "instType": "SWAP",
             "markPx": trimmed(float(state.mark[row]), listings[row].decimals + 1), "ts": str(request.now_ms)}
            for row in self.market.listed("SWAP", request.now_ms)
        ])  # fmt: skip

    def index_tickers(self, request: Request) -> Response:
        """GET /api/v5/market/index-tickers of a quote: the indices of swaps, and those of spot pairs without one."""
        quote = request.query.get("quoteCcy")
        if not quote:
            return missing("quoteCcy or instId")
        world, found = self.world, dict[str, int]()
        for kind in ("SPOT", "SWAP"):
            for row in self.market.listed(kind, request.now_ms):
                if world.universe.listings[row].quote == quote:
                    found[world.universe.listings[row].symbol.removesuffix("-SWAP")] = row
        state, out = world.minute(request.now_ms // MINUTE_MS), []
        utc0, utc8 = self.market.day_starts(request.now_ms)
        for name, row in found.items():
            one = world.universe.listings[row]
            columns = {"idxPx": state.index, "high24h": state.high_24h, "sodUtc0": utc0, "open24h": state.price_24h,
                       "low24h": state.low_24h, "sodUtc8": utc8}  # fmt: skip
            prices = {key: trimmed(float(column[row]), one.decimals + 1) for key, column in columns.items()}
            out.append({"instId": name, **prices, "ts": str(request.now_ms)})
        return envelope(out)

    def index_components(self, request: Request) -> Response:
        """GET /api/v5/market/index-components: an object, not a list."""
        name = request.query.get("index", "")
        row = self.market.trading(f"{name}-SWAP", request.now_ms)
        if row is None:
            return failure("51001", "Index doesn't exist")
        one, minute = self.world.universe.listings[row], request.now_ms // MINUTE_MS
        price = trimmed(float(self.world.minute(minute).index[row]), one.decimals + 1)
        components = [
            {"symbol": f"{base}/{quote}", "symPx": price, "wgt": f"{weight:.4f}", "cnvPx": price,
             "exch": _EXCHANGES.get(venue, venue.title())}
            for venue, base, quote, weight in constituents(self.world, row, minute)
        ]  # fmt: skip
        return envelope({"components": components, "last": price, "index": name, "ts": str(request.now_ms)})


def _plain(value: float) -> str:
    """All digits of a binary fraction, never with an exponent."""
    text = f"{value:.17g}"
    return text if "e" not in text else f"{value:.12f}".rstrip("0").rstrip(".")


def handlers(swaps: OkxDerivatives) -> dict[str, tuple[Callable[[Request], Response], str]]:
    """Path → (handler, name of its limit)."""
    return {
        "/api/v5/public/funding-rate": (swaps.funding, "funding"),
        "/api/v5/public/funding-rate-history": (swaps.funding_history, "funding_history"),
        "/api/v5/public/mark-price": (swaps.mark_price, "mark_price"),
        "/api/v5/market/index-tickers": (swaps.index_tickers, "index_tickers"),
        "/api/v5/market/index-components": (swaps.index_components, "index_components"),
    }
