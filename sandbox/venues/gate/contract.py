"""Gate on the wire, market by market: candles, contract_stats, funding history, index constituents, liquidations."""

from typing import Any

import numpy as np

from sandbox.derived.constituents import constituents
from sandbox.derived.ladder import ladder, texts
from sandbox.derived.positioning import long_of_late, takers
from sandbox.http.streams import liquidations_of
from sandbox.market.derivatives import funding_hours, funding_rate, liquidations, open_interest
from sandbox.market.noise import Floats, Ints
from sandbox.market.world import World
from sandbox.venues.gate.market import HOST, SETTLED_IN, failure, in_contracts
from sandbox.wire.candles import INTERVALS, candles
from sandbox.wire.endpoint import Endpoint, Request, Response, json_response
from sandbox.wire.numbers import trimmed, whole
from sandbox.wire.settlements import settlements

POOLS = ("gate_candles", "gate_spot_candles", "gate_stats", "gate_funding", "gate_constituents", "gate_liquidations",
         "gate_spot_books")  # fmt: skip
MINUTE_MS = 60_000
LIQUIDATION_MINUTES = 58
_NAMES = {"binance": "Binance", "gate": "Gate.io", "okx": "OKX", "bybit": "Bybit", "kucoin": "KuCoin", "mexc": "MEXC",
          "bitget": "Bitget", "coinbase": "Coinbase"}  # fmt: skip
_MOST_POINTS = 2000
_STATS_SPAN = 1440  # minutes of bars computed at once
_BAD_RANGE = "too many points, at most 2000"


class GateContract:
    """The endpoints of one market each."""

    def __init__(self, world: World) -> None:
        self.world = world
        listings = world.universe.listings
        perps = world.universe.rows("gate", "perp").tolist()
        self.perps = {settle: {listings[row].symbol: row for row in perps if listings[row].inverse == inverse}
                      for settle, inverse in SETTLED_IN.items()}  # fmt: skip
        self.pairs = {listings[row].symbol: row for row in world.universe.rows("gate", "spot").tolist()}

    def _row(self, request: Request, name: str = "contract") -> int | None:
        """The requested contract, if it was ever listed."""
        row = self.perps.get(request.query["settle"], {}).get(request.query.get(name, ""))
        return row if row is not None and self.world.universe.listed[row] * MINUTE_MS <= request.now_ms else None

    def candles(self, request: Request) -> Response:
        """GET /futures/{settle}/candlesticks, oldest first; the last one is running."""
        if (row := self._row(request)) is None:
            return failure("CONTRACT_NOT_FOUND")
        found = self._candles(request, row)
        if isinstance(found, Response):
            return found
        one = self.world.universe.listings[row]
        price = f"%.{one.decimals}f"
        return json_response([
            {"t": at // 1000, "o": price % o, "h": price % h, "l": price % low, "c": price % c,
             "v": round(in_contracts(one, v, c)), "sum": trimmed(q, 5)}
            for at, o, h, low, c, v, q, _, _ in found
        ])  # fmt: skip

    def spot_book(self, request: Request) -> Response:
        """GET /spot/order_book; with the id if it is requested."""
        row = self.pairs.get(request.query.get("currency_pair", ""))
        if row is None or not self.world.minute(request.now_ms // MINUTE_MS).listed[row]:
            return failure("INVALID_CURRENCY_PAIR", "Invalid currency pair")
        try:
            levels = whole(request.query, "limit") or 10
        except ValueError:
            return failure("INVALID_PARAM_VALUE", "limit")
        if not 1 <= levels <= 1000:
            return failure("INVALID_PARAM_VALUE", "limit")
        formats = self.world.price_format[row], self.world.lot_format[row]
        bids, asks = (texts(side, *formats) for side in ladder(self.world, row, levels, request.now_ms))
        shown: dict[str, Any] = {"current": request.now_ms, "update": request.now_ms - 6, "asks": asks, "bids": bids}
        return json_response({"id": request.now_ms // 100} | shown if request.query.get("with_id") == "true" else shown)

    def spot_candles(self, request: Request) -> Response:
        """GET /spot/candlesticks, oldest first; the last one is running."""
        row = self.pairs.get(request.query.get("currency_pair", ""))
        if row is None or self.world.universe.listed[row] * MINUTE_MS > request.now_ms:
            return failure("INVALID_CURRENCY_PAIR")
        found = self._candles(request, row)
        if isinstance(found, Response):
            return found
        step = INTERVALS[request.query.get("interval", "30m")] * MINUTE_MS
        price = f"%.{self.world.universe.listings[row].decimals}f"
        return json_response([
            [str(at // 1000), f"{q:.8f}", price % c, price % h, price % low, price % o, f"{v:.8f}",
             "true" if at + step <= request.now_ms else "false"]
            for at, o, h, low, c, v, q, _, _ in found
        ])  # fmt: skip

    def _candles(self, request: Request, row: int) -> Response | list[tuple[Any, ...]]:
        interval = request.query.get("interval", "30m")
        if interval not in INTERVALS:
            return failure("INVALID_PARAM_VALUE", "invalid interval")
        try:
            start, end, limit = (whole(request.query, name) for name in ("from", "to", "limit"))
        except ValueError as error:
            return failure("INVALID_PARAM_VALUE", f"invalid {error}")
        if limit is not None and (start is not None or end is not None):
            return failure("INVALID_PARAM_VALUE", "limit conflicts with from and to")
        step = INTERVALS[interval]
        if start is not None and ((end or request.now_ms // 1000) - start) // (60 * step) >= _MOST_POINTS:
            return failure("INVALID_PARAM_VALUE", _BAD_RANGE)
        begin, until = (None if value is None else value * 1000 for value in (start, end))
        count = _MOST_POINTS if begin is not None else min(limit or 100, _MOST_POINTS)
        found = candles(self.world, row, step, begin, until, count, request.now_ms)
        return [candle for candle in found.rows() if until is None or candle[0] <= until]

    def stats(self, request: Request) -> Response:
        """GET /futures/{settle}/contract_stats, oldest first; the newest bucket is running."""
        if (row := self._row(request)) is None:
            return failure("CONTRACT_NOT_FOUND")
        step = INTERVALS.get(request.query.get("interval", "5m"), 0)
        if step < 5:
            return failure("INVALID_PARAM_VALUE", "invalid interval")
        try:
            start, limit = whole(request.query, "from"), whole(request.query, "limit")
        except ValueError as error:
            return failure("INVALID_PARAM_VALUE", f"invalid {error}")
        count = min(limit or 30, _MOST_POINTS)
        newest = min(request.now_ms // MINUTE_MS, int(self.world.universe.delisted[row]) - 1) // step
        first = max(-(-start // (60 * step)) if start is not None else newest - count + 1,
                    -(-int(self.world.universe.listed[row]) // step))  # fmt: skip
        buckets = np.arange(first, min(newest, first + count - 1) + 1)
        return json_response(self._stats(row, buckets * step, step) if len(buckets) else [])

    def _stats(self, row: int, minutes: Ints, step: int) -> list[dict[str, Any]]:
        world, market = self.world, self.world.market
        one = world.universe.listings[row]

        def marks(rows: Ints, at: Ints) -> Floats:
            return np.exp(market.index_logs(rows, at)) * (1.0 + market.premium(rows, at))

        def rates(rows: Ints, at: Ints) -> Floats:
            return funding_rate(market, rows, at, funding_hours(market, rows, at))

        mark = world.of_late("mark", row, minutes, marks).tolist()
        held = world.of_late("held", row, minutes, lambda rows, at: open_interest(market, rows, at)).tolist()
        rate = world.of_late("rate", row, minutes, rates).tolist()
        bought, sold = self._taken(row, minutes, step)
        # Whole users and accounts, so that the shares are those of countable heads.
        users = round(200 + (world.universe.volume_usd[row] / 1e6) ** 0.75 * 20)
        crowd, top, held_top = (long_of_late(world, row, kind, minutes).tolist()
                                for kind in ("accounts", "top_accounts", "top_positions"))  # fmt: skip
        liquidated = self._liquidated(row, minutes, step).tolist()
        out = []
        for n, minute in enumerate(minutes.tolist()):
            price = mark[n]
            size = round(in_contracts(one, held[n], price))
            usd = 1.0 if one.inverse else one.contract_size * price
            longs, top_longs = round(users * crowd[n]), round(users // 10 * top[n])
            shorts, top_shorts = users - longs, users // 10 - top_longs
            large = round(size * 0.09)
            large_long = round(large * held_top[n])
            buy, sell = (round(in_contracts(one, part[n], price)) for part in (bought, sold))
            shown: dict[str, Any] = {}
            for side, base in zip(("long", "short"), liquidated[n], strict=True):
                gone = round(in_contracts(one, base, price))
                shown |= {f"{side}_liq_size": gone, f"{side}_liq_usd": gone * usd, f"{side}_liq_amount": base,
                          f"{side}_liq_usd_new": gone * usd}  # fmt: skip
            out.append({
                "time": minute * 60, "lsr_taker": buy / max(sell, 1), "lsr_account": longs / max(shorts, 1), **shown,
                "open_interest": size, "mark_price": round(price, one.decimals + 2),
                "top_lsr_size": large_long / max(large - large_long, 1), "top_long_size": large_long,
                "top_short_size": large - large_long, "open_interest_usd": size * usd,
                "top_lsr_account": top_longs / max(top_shorts, 1), "top_long_account": top_longs,
                "top_short_account": top_shorts, "long_taker_size": buy, "short_taker_size": sell,
                "long_users": longs, "short_users": shorts, "last_funding_rate": trimmed(rate[n], 6),
            })  # fmt: skip
        return out

    def _taken(self, row: int, minutes: Ints, step: int) -> tuple[list[float], list[float]]:
        """What takers bought and sold per bucket, in raw base units."""
        at_once = max(1, _STATS_SPAN // step)
        parts = [takers(self.world, np.array([row]), int(minutes[n]), len(minutes[n : n + at_once]), step)
                 for n in range(0, len(minutes), at_once)]  # fmt: skip
        bought, sold = [part.buy[0] for part in parts], [part.sell[0] for part in parts]
        return np.concatenate(bought).tolist(), np.concatenate(sold).tolist()

    def _liquidated(self, row: int, minutes: Ints, step: int) -> Floats:
        """Liquidated longs and shorts per bucket [buckets, 2], in raw base units."""

        def make(rows: Ints, at: Ints) -> Floats:
            found = liquidations(self.world.market, rows, np.arange(at[0], at[-1] + step))
            out = np.zeros((len(rows), len(at), 2))
            bucket = (found.ts // MINUTE_MS - at[0]) // step
            np.add.at(out, (np.searchsorted(rows, found.row), bucket, np.where(found.long, 0, 1)), found.size)
            return out

        return self.world.of_late(f"liquidated {step}", row, minutes, make)

    def settled(self, request: Request) -> Response:
        """GET /futures/{settle}/funding_rate, newest first."""
        if (row := self._row(request)) is None:
            return failure("CONTRACT_NOT_FOUND")
        try:
            start, end, limit = (whole(request.query, name) for name in ("from", "to", "limit"))
        except ValueError as error:
            return failure("INVALID_PARAM_VALUE", f"invalid {error}")
        before = request.now_ms if end is None else min(end * 1000, request.now_ms)
        found = settlements(self.world, row, before, min(limit or 100, 1000))
        return json_response([{"t": at // 1000, "r": trimmed(rate, 6)} for at, rate, _ in found
                            if start is None or at >= start * 1000])  # fmt: skip

    def constituents(self, request: Request) -> Response:
        """GET /futures/{settle}/index_constituents/{index}."""
        if (row := self._row(request, "index")) is None:
            return failure("INDEX_NOT_FOUND")
        legs = constituents(self.world, row, request.now_ms // MINUTE_MS)
        return json_response({"index": request.query["index"], "constituents": [
            {"exchange": _NAMES.get(venue, venue), "symbols": [f"{base}_{quote}"]} for venue, base, quote, _ in legs
        ]})  # fmt: skip

    def liquidated(self, request: Request) -> Response:
        """GET /futures/{settle}/liq_orders, newest first: those of the last hour. `size` is the position's."""
        if request.query["settle"] not in SETTLED_IN:
            return failure("INVALID_SETTLE")
        inverse, minute = SETTLED_IN[request.query["settle"]], request.now_ms // MINUTE_MS
        out = []
        for at in range(minute, minute - LIQUIDATION_MINUTES, -1):
            for one in reversed(liquidations_of(self.world, "gate", at)):
                listing = one.listing
                if listing.inverse != inverse or one.ts > request.now_ms:
                    continue
                size, price = in_contracts(listing, one.size, one.price), f"%.{listing.decimals}f"
                out.append({"time": one.ts // 1000, "contract": listing.symbol, "left": "0",
                            "size": trimmed(size if one.long else -size, 1), "fill_price": price % one.price,
                            "order_price": price % (one.price * (0.99 if one.long else 1.01))})  # fmt: skip
            if len(out) >= 1000:
                break
        return json_response(out[: min(whole(request.query, "limit") or 100, 1000)])


def endpoints(world: World) -> list[Endpoint]:
    """Gate's endpoints of one market each, and its liquidations."""
    gate = GateContract(world)
    return [
        Endpoint("gate", HOST, "/api/v4/futures/<settle:str>/candlesticks", gate.candles, "gate_candles"),
        Endpoint("gate", HOST, "/api/v4/spot/candlesticks", gate.spot_candles, "gate_spot_candles"),
        Endpoint("gate", HOST, "/api/v4/spot/order_book", gate.spot_book, "gate_spot_books"),
        Endpoint("gate", HOST, "/api/v4/futures/<settle:str>/contract_stats", gate.stats, "gate_stats"),
        Endpoint("gate", HOST, "/api/v4/futures/<settle:str>/funding_rate", gate.settled, "gate_funding"),
        Endpoint(
            "gate",
            HOST,
            "/api/v4/futures/<settle:str>/index_constituents/<index:str>",
            gate.constituents,
            "gate_constituents",
        ),
        Endpoint("gate", HOST, "/api/v4/futures/<settle:str>/liq_orders", gate.liquidated, "gate_liquidations"),
    ]
