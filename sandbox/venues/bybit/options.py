"""Bybit v5 on the wire: the tickers of its options on BTC and ETH, settled in USDT."""

from math import isnan

from sandbox.derived.chain import Chain, chain, expiry_name
from sandbox.market.world import World
from sandbox.venues.bybit.market import envelope, failure
from sandbox.wire.endpoint import Request, Response
from sandbox.wire.numbers import trimmed

HELD = {"BTC": 21_000.0, "ETH": 190_000.0}
"""Open interest of all options together, in coins, by coin."""


def instruments(of: Chain) -> list[str]:
    """The venue's name of each option, as BTC-27MAR26-90000-C-USDT."""
    columns = (of.expiry_ms.tolist(), of.strike.tolist(), of.call.tolist())
    return [
        f"{of.coin}-{expiry_name(expiry)}-{trimmed(strike, 1)}-{'C' if call else 'P'}-USDT"
        for expiry, strike, call in zip(*columns, strict=True)
    ]


def option_tickers(world: World, request: Request) -> Response:
    """GET /v5/market/tickers?category=option: a base coin, or the name of one option, must be given."""
    wanted = request.query.get("symbol")
    coin = request.query.get("baseCoin") or (wanted or "").partition("-")[0]
    if coin not in HELD:
        return failure(10001, "params error: baseCoin or symbol invalid", request.now_ms)
    found = chain(world, "bybit", coin, request.now_ms // 60_000, HELD[coin])
    columns = (found.forward, found.mark_iv, found.bid_iv, found.ask_iv, found.price, found.delta, found.gamma,
               found.vega, found.theta, found.open_interest, found.volume_24h)  # fmt: skip
    out = []
    for name, *values in zip(instruments(found), *(column.tolist() for column in columns), strict=True):
        forward, iv, bid_iv, ask_iv, price, delta, gamma, vega, theta, held, traded = values
        if wanted and name != wanted:
            continue
        # Vega is per point: a quote is as far from the mark as its volatility.
        bid = 0.0 if isnan(bid_iv) else max(0.0, price - vega * 100 * (iv - bid_iv))
        offer = max(price, 0.0) + vega * 100 * (ask_iv - iv)
        last, volume = max(5.0, price), round(traded, 2)
        out.append({
            "symbol": name, "bid1Price": trimmed(bid, 1), "bid1Size": trimmed(4.0 if bid else 0.0, 2),
            "bid1Iv": trimmed(bid_iv if bid else 0.0, 4), "ask1Price": trimmed(offer, 1), "ask1Size": "3.5",
            "ask1Iv": trimmed(ask_iv, 4), "lastPrice": trimmed(last, 1), "highPrice24h": trimmed(last * 1.1, 1),
            "lowPrice24h": trimmed(last * 0.9, 1), "markPrice": f"{max(price, 0.0):.8f}",
            "indexPrice": trimmed(found.index, 8), "markIv": trimmed(iv, 4), "underlyingPrice": trimmed(forward, 8),
            "openInterest": trimmed(held, 2), "turnover24h": trimmed(volume * found.index, 8),
            "volume24h": trimmed(volume, 2), "totalVolume": trimmed(volume * 20, 2),
            "totalTurnover": trimmed(volume * 20 * found.index, 4), "delta": f"{delta:.8f}", "gamma": f"{gamma:.8f}",
            "vega": f"{vega:.8f}", "theta": f"{theta:.8f}", "predictedDeliveryPrice": "0",
            "change24h": trimmed((last - 5.0) / 100, 8),
        })  # fmt: skip
    return envelope({"category": "option", "list": out}, request.now_ms)
