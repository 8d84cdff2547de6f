"""Gate on the wire, all markets at once: futures tickers and contracts, spot tickers and pairs."""

from typing import Any

from sandbox.market.derivatives import next_funding_ms
from sandbox.market.listing import NEVER_MS, Listing
from sandbox.market.listings import funding_cap
from sandbox.market.world import World
from sandbox.wire.endpoint import Endpoint, Request, Response, json_response
from sandbox.wire.numbers import trimmed

HOST = "api.gateio.ws"
POOLS = ("gate_tickers", "gate_contracts", "gate_spot_tickers", "gate_pairs")
KEPT_MS = 7 * 86_400_000  # how long a delisted contract stays in the list
SETTLED_IN = {"usdt": False, "btc": True}


def failure(label: str, message: str = "", status: int = 400) -> Response:
    """An error as Gate writes it."""
    return json_response({"label": label, "message": message}, status)


def in_contracts(one: Listing, raw_units: float, price: float) -> float:
    """A size in raw base units as contracts."""
    return round(raw_units * price) if one.inverse else raw_units / one.contract_size


class Gate:
    """The bulk endpoints over one world."""

    def __init__(self, world: World) -> None:
        self.world = world
        listings = world.universe.listings
        perps = world.universe.rows("gate", "perp").tolist()
        self.perps = {name: [row for row in perps if listings[row].inverse == inverse]
                      for name, inverse in SETTLED_IN.items()}  # fmt: skip
        self.spot = world.universe.rows("gate", "spot").tolist()

    def tickers(self, request: Request) -> Response:
        """GET /futures/{settle}/tickers."""
        if (rows := self.perps.get(request.query["settle"])) is None:
            return failure("INVALID_SETTLE")
        world, wanted = self.world, request.query.get("contract")
        state, last = world.minute(request.now_ms // 60_000), world.last(request.now_ms).tolist()
        rows = [row for row in rows if state.listed[row]]
        columns = (state.price_24h, state.high_24h, state.low_24h, state.mark, state.index, state.oi, state.quote_24h,
                   state.base_24h, state.rate)  # fmt: skip
        out = []
        for row, *values in zip(rows, *(column[rows].tolist() for column in columns), strict=True):
            then, high, low, mark, index, oi, quote, base, rate = values
            one, now = world.universe.listings[row], last[row]
            if wanted and one.symbol != wanted:
                continue
            digits, step = one.decimals, 1.0 / world.universe.scale[row]
            settled = base if one.inverse else quote
            traded = round(in_contracts(one, base, mark))
            rate_text = trimmed(rate, 6)
            out.append({
                "last": trimmed(now, digits), "low_24h": trimmed(min(low, now), digits),
                "high_24h": trimmed(max(high, now), digits), "volume_24h": str(traded),
                "change_percentage": f"{(now / then - 1) * 100:.2f}", "change_price": trimmed(now - then, digits),
                "funding_rate_indicative": rate_text, "index_price": trimmed(index, digits + 2),
                "volume_24h_base": str(round(base)), "volume_24h_quote": str(round(quote)), "contract": one.symbol,
                "volume_24h_settle": str(round(settled)), "funding_rate": rate_text,
                "mark_price": trimmed(mark, digits + 2), "total_size": trimmed(in_contracts(one, oi, mark), 1),
                "highest_bid": trimmed(max(now - step, step), digits), "highest_size": str(1 + traded // 30_000),
                "lowest_ask": trimmed(now, digits), "lowest_size": str(1 + traded // 20_000),
                "quanto_multiplier": "0" if one.inverse else trimmed(one.contract_size, 4),
            })  # fmt: skip
        return json_response(out)

    def contracts(self, request: Request) -> Response:
        """GET /futures/{settle}/contracts."""
        if (rows := self.perps.get(request.query["settle"])) is None:
            return failure("INVALID_SETTLE")
        world = self.world
        state, last = world.minute(request.now_ms // 60_000), world.last(request.now_ms).tolist()
        following = next_funding_ms(request.now_ms, state.hours)
        shown = [row for row in rows if _shown(world.universe.listings[row], request.now_ms)]
        columns = (state.mark, state.index, state.oi, state.base_24h, state.rate, state.hours, following, state.listed)
        out = []
        for row, *values in zip(shown, *(column[shown].tolist() for column in columns), strict=True):
            mark, index, oi, base, rate, hours, settles, listed = values
            one = world.universe.listings[row]
            age_days = (request.now_ms - one.listed_ms) / 86_400_000
            out.append(_contract(one) | {
                "last_price": trimmed(last[row], one.decimals), "mark_price": trimmed(mark, one.decimals + 2),
                "index_price": trimmed(index, one.decimals + 2),
                "funding_rate": trimmed(rate, 6), "funding_rate_indicative": trimmed(rate, 6),
                "funding_interval": hours * 3600, "funding_next_apply": settles // 1000,
                "in_delisting": not listed, "status": "trading" if listed else "delisted",
                "position_size": trimmed(in_contracts(one, oi, mark), 1),
                "trade_size": str(round(in_contracts(one, base, mark) * max(age_days, 1.0))),
                "trade_id": round(age_days * 1e4) + 1, "orderbook_id": round(age_days * 1e6) + 1,
            })  # fmt: skip
        return json_response(out)

    def spot_tickers(self, request: Request) -> Response:
        """GET /spot/tickers."""
        world, wanted = self.world, request.query.get("currency_pair")
        state, last = world.minute(request.now_ms // 60_000), world.last(request.now_ms).tolist()
        rows = [row for row in self.spot if state.listed[row]]
        columns = (state.price_24h, state.high_24h, state.low_24h, state.quote_24h, state.base_24h)
        out = []
        for row, *values in zip(rows, *(column[rows].tolist() for column in columns), strict=True):
            then, high, low, quote, base = values
            one, now = world.universe.listings[row], last[row]
            if wanted and one.symbol != wanted:
                continue
            price, step = f"%.{one.decimals}f", 1.0 / world.universe.scale[row]
            out.append({
                "currency_pair": one.symbol, "last": price % now, "lowest_ask": price % now,
                "highest_bid": price % max(now - step, step), "change_percentage": f"{(now / then - 1) * 100:.2f}",
                "base_volume": trimmed(base, 8), "quote_volume": trimmed(quote, 8),
                "high_24h": price % max(high, now), "low_24h": price % min(low, now),
            })  # fmt: skip
        return json_response(out)

    def pairs(self, request: Request) -> Response:
        """GET /spot/currency_pairs."""
        listings = [self.world.universe.listings[row] for row in self.spot]
        return json_response([
            {"id": one.symbol, "base": one.base_raw, "quote": one.quote, "fee": "0.2", "min_quote_amount": "1",
             "amount_precision": max(0, one.lot_decimals), "precision": one.decimals,
             "trade_status": "tradable" if request.now_ms < one.delisted_ms else "untradable",
             "sell_start": one.listed_ms // 1000, "buy_start": one.listed_ms // 1000}
            for one in listings if _shown(one, request.now_ms)
        ])  # fmt: skip


def _shown(one: Listing, now_ms: int) -> bool:
    return one.listed_ms <= now_ms < one.delisted_ms + KEPT_MS


def _contract(one: Listing) -> dict[str, Any]:
    """The fields that do not change from minute to minute."""
    ended = 0 if one.delisted_ms == NEVER_MS else one.delisted_ms // 1000
    return {
        "name": one.symbol, "type": "inverse" if one.inverse else "direct",
        "quanto_multiplier": "0" if one.inverse else trimmed(one.contract_size, 4),
        "ref_discount_rate": "0", "order_price_deviate": "0.2", "maintenance_rate": "0.005", "mark_type": "index",
        "mark_price_round": trimmed(10.0 ** -(one.decimals + 2), one.decimals + 2), "funding_offset": 0,
        "risk_limit_base": "1000000", "interest_rate": "0.0003",
        "order_price_round": trimmed(10.0**-one.decimals, one.decimals), "order_size_min": "1",
        "ref_rebate_rate": "0.2", "risk_limit_step": "1000000", "leverage_min": "1", "leverage_max": "50",
        "risk_limit_max": "5000000", "maker_fee_rate": "-0.0001", "taker_fee_rate": "0.00075",
        "order_size_max": "1000000", "short_users": 310, "long_users": 420,
        "config_change_time": one.listed_ms // 1000, "funding_impact_value": "10000", "orders_limit": 100,
        "enable_bonus": True, "enable_credit": True, "enable_decimal": False, "create_time": one.listed_ms // 1000,
        "launch_time": one.listed_ms // 1000, "delisting_time": ended, "delisted_time": ended,
        "funding_cap_ratio": "0.75", "funding_rate_limit": str(funding_cap(one.venue)),
    }  # fmt: skip


def endpoints(world: World) -> list[Endpoint]:
    """The bulk endpoints of Gate."""
    gate = Gate(world)
    return [
        Endpoint("gate", HOST, "/api/v4/futures/<settle:str>/tickers", gate.tickers, "gate_tickers"),
        Endpoint("gate", HOST, "/api/v4/futures/<settle:str>/contracts", gate.contracts, "gate_contracts"),
        Endpoint("gate", HOST, "/api/v4/spot/tickers", gate.spot_tickers, "gate_spot_tickers"),
        Endpoint("gate", HOST, "/api/v4/spot/currency_pairs", gate.pairs, "gate_pairs"),
    ]
