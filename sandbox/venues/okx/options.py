"""OKX on the wire: the options of BTC-USD and ETH-USD, margined in their coin."""

from datetime import UTC, datetime
from typing import Any

from sandbox.derived.chain import Chain, chain
from sandbox.market.universe import MINUTE_MS
from sandbox.market.world import World
from sandbox.venues.okx.market import envelope, failure, missing
from sandbox.wire.endpoint import Request, Response
from sandbox.wire.numbers import trimmed

# Family: coins of one contract (ctVal by ctMult), coins open in all.
FAMILIES = {"BTC-USD": (0.01, 32_000.0), "ETH-USD": (0.1, 240_000.0)}


def _named(found: Chain) -> list[str]:
    """The venue's name of each option, as BTC-USD-240628-32000-C."""
    days = {expiry: f"{datetime.fromtimestamp(expiry / 1000, UTC):%y%m%d}" for expiry in set(found.expiry_ms.tolist())}
    columns = (found.expiry_ms.tolist(), found.strike.tolist(), found.call.tolist())
    return [
        f"{found.coin}-USD-{days[expiry]}-{trimmed(strike, 1)}-{'C' if call else 'P'}"
        for expiry, strike, call in zip(*columns, strict=True)
    ]


class OkxOptions:
    """The options over one world."""

    def __init__(self, world: World) -> None:
        self.world = world

    def _chain(self, request: Request) -> tuple[Chain, float] | Response:
        family = request.query.get("instFamily") or request.query.get("uly")
        if not family:
            return missing("instFamily or uly")
        if family not in FAMILIES:
            return failure("51014", "Index doesn't exist")
        size, held = FAMILIES[family]
        return chain(self.world, "okx", family.partition("-")[0], request.now_ms // MINUTE_MS, held), size

    def summary(self, request: Request) -> Response:
        """GET /api/v5/public/opt-summary: the greeks of the coin payout, and (BS) those in dollars."""
        found = self._chain(request)
        if isinstance(found, Response):
            return found
        options, _ = found
        columns = (options.forward, options.atm_iv, options.mark_iv, options.bid_iv, options.ask_iv, options.price,
                   options.delta, options.gamma, options.vega, options.theta)  # fmt: skip
        out, spot = [], options.index
        for name, *values in zip(_named(options), *(column.tolist() for column in columns), strict=True):
            forward, level, mark, bid, offer, price, delta, gamma, vega, theta = values
            coins = price / spot
            own = delta - coins
            out.append({
                "askVol": trimmed(offer, 16), "bidVol": "0" if bid != bid else trimmed(bid, 16),
                "delta": f"{own:.16f}", "deltaBS": f"{delta:.16f}", "fwdPx": trimmed(forward, 12),
                "gamma": f"{gamma * spot - 2 * own:.16f}", "gammaBS": f"{gamma:.18f}", "instId": name,
                "instType": "OPTION", "lever": trimmed(min(2000.0, 1.0 / coins) if coins > 0 else 0.0, 16),
                "markVol": trimmed(mark, 16), "realVol": "0", "theta": f"{theta / spot:.19f}",
                "thetaBS": f"{theta:.14f}", "ts": str(request.now_ms), "uly": f"{options.coin}-USD",
                "vega": f"{vega / spot:.19f}", "vegaBS": f"{vega:.14f}", "volLv": trimmed(level, 16),
            })  # fmt: skip
        return envelope(out)

    def open_interest(self, request: Request) -> Response:
        """GET /api/v5/public/open-interest of options, in whole contracts."""
        found = self._chain(request)
        if isinstance(found, Response):
            return found
        options, size = found
        held = [round(coins / size) for coins in options.open_interest.tolist()]
        return envelope([
            {"instId": name, "instType": "OPTION", "oi": str(count), "oiCcy": trimmed(count * size, 2),
             "oiUsd": trimmed(count * size * options.index, 6), "ts": str(request.now_ms)}
            for name, count in zip(_named(options), held, strict=True)
        ])  # fmt: skip

    def tickers(self, request: Request) -> Response:
        """GET /api/v5/market/tickers of options: prices in coins."""
        found = self._chain(request)
        if isinstance(found, Response):
            return found
        options, size = found
        columns = (options.price.tolist(), options.bid_iv.tolist(), options.volume_24h.tolist())
        out = []
        for name, price, bid, volume in zip(_named(options), *columns, strict=True):
            worth, count = max(1, round(price / options.index * 1e4)), round(volume / size)
            last = trimmed(worth / 1e4, 4)
            bidden = bid == bid and worth > 1
            out.append({
                "instType": "OPTION", "instId": name, "last": last, "lastSz": "1",
                "askPx": trimmed((worth + 1) / 1e4, 4), "askSz": str(1 + worth % 300),
                "bidPx": trimmed((worth - 1) / 1e4, 4) if bidden else "", "bidSz": "25" if bidden else "",
                "open24h": last, "high24h": last, "low24h": last, "sodUtc0": last, "sodUtc8": last,
                "volCcy24h": trimmed(count * size, 2), "vol24h": str(count), "ts": str(request.now_ms),
            })  # fmt: skip
        return envelope(out)

    def instruments(self, request: Request) -> Response:
        """GET /api/v5/public/instruments of options: a contract is ctVal times ctMult coins."""
        found = self._chain(request)
        if isinstance(found, Response):
            return found
        options, size = found
        columns = (options.expiry_ms.tolist(), options.listed_ms.tolist(), options.strike.tolist())
        family = f"{options.coin}-USD"
        fixed: dict[str, Any] = {
            "alias": "", "auctionEndTime": "", "baseCcy": "", "category": "1", "ctMult": trimmed(size, 2),
            "ctType": "", "ctVal": "1", "ctValCcy": options.coin, "instFamily": family, "instType": "OPTION",
            "lever": "", "lotSz": "1", "maxIcebergSz": "1000000.0000000000000000", "maxLmtAmt": "20000000",
            "maxLmtSz": "1000000", "maxMktAmt": "", "maxMktSz": "5000", "maxStopSz": "5000",
            "maxTriggerSz": "1000000.0000000000000000", "maxTwapSz": "1000000.0000000000000000", "minSz": "1",
            "quoteCcy": "", "ruleType": "normal", "settleCcy": options.coin, "state": "live", "tickSz": "0.0001",
            "uly": family,
        }  # fmt: skip
        return envelope([
            fixed | {"instId": name, "expTime": str(expiry), "listTime": str(listed), "optType": name[-1],
                     "stk": trimmed(strike, 1)}
            for name, expiry, listed, strike in zip(_named(options), *columns, strict=True)
        ])  # fmt: skip
