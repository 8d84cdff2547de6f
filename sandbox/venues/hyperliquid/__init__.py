"""Simulated Hyperliquid: POST /info with its types, core and HIP-3 dexes, spot."""

from collections.abc import Callable
from hashlib import blake2b
from typing import Any

import numpy as np

from sandbox.http.limits import Pool, Use
from sandbox.http.simulated_venue import SimulatedVenue
from sandbox.market.listings.hyperliquid import DEXES
from sandbox.market.noise import fraction
from sandbox.market.world import World
from sandbox.venues.hyperliquid import archive, wallets
from sandbox.venues.hyperliquid.spot import spot_contexts, spot_meta
from sandbox.venues.hyperliquid.wallets import HyperliquidWallets, annotations, wallets_of
from sandbox.wire.candles import INTERVALS, candles
from sandbox.wire.endpoint import Endpoint, Request, Response, json_response
from sandbox.wire.numbers import pointed
from sandbox.wire.settlements import settlements

HOST = "api.hyperliquid.xyz"
NEWEST_CANDLES = 5000
MOST_SETTLEMENTS = 500
_LEVERAGE = ((3, 3), (10, 52), (20, 54), (40, 56))  # (max leverage, margin table)
_UNREADABLE = b"Failed to deserialize the JSON body into the target type"


def unreadable() -> Response:
    """The venue's response to a body that it cannot read."""
    return Response(_UNREADABLE, 422, content_type="text/plain; charset=utf-8")


def _address(name: str) -> str:
    return "0x" + blake2b(name.encode(), digest_size=20).hexdigest()


class Hyperliquid:
    """The info endpoint over one world."""

    def __init__(self, world: World) -> None:
        self.world = world
        self.by_symbol = {
            world.universe.listings[row].symbol: int(row) for row in world.universe.rows("hyperliquid", "perp", "spot")
        }
        perps = [int(row) for row in world.universe.rows("hyperliquid", "perp")]
        # A universe only grows: its order is the order of listing, and the contexts match it by position.
        perps.sort(key=lambda row: (world.universe.listings[row].listed_ms, world.universe.listings[row].symbol))
        self.dexes = {dex: [row for row in perps if world.universe.listings[row].group == dex] for dex in ("", *DEXES)}
        self.types: dict[str, Callable[[Request], Response]] = {
            "metaAndAssetCtxs": self.meta_and_contexts,
            "meta": self.meta,
            "perpDexs": self.perp_dexs,
            "spotMeta": lambda request: json_response(spot_meta(world, request.now_ms), weight=20),
            "spotMetaAndAssetCtxs": lambda request: json_response(
                [spot_meta(world, request.now_ms), spot_contexts(world, request.now_ms)], weight=20
            ),
            "candleSnapshot": self.candle_snapshot,
            "allMids": self.all_mids,
            "fundingHistory": self.funding_history,
            "perpConciseAnnotations": lambda request: json_response(annotations(world, request.now_ms), weight=20),
            "perpCategories": lambda request: json_response(
                [[coin, note["category"]] for coin, note in annotations(world, request.now_ms)], weight=20
            ),
        }
        self.of_wallets = HyperliquidWallets(world).types

    def info(self, request: Request) -> Response:
        """POST /info."""
        kind = request.body.get("type") if isinstance(request.body, dict) else None
        if not isinstance(kind, str):
            return unreadable()
        if (of_wallet := self.of_wallets.get(kind)) is not None:
            return of_wallet(request) or unreadable()
        handler = self.types.get(kind)
        return handler(request) if handler else unreadable()

    def _rows(self, request: Request) -> list[int] | None:
        rows = self.dexes.get(request.body.get("dex") or "")
        if rows is None:
            return None
        return [row for row in rows if self.world.universe.listings[row].listed_ms <= request.now_ms]

    def _meta(self, rows: list[int], dex: str, now_ms: int) -> dict[str, Any]:
        universe = []
        for row in rows:
            one = self.world.universe.listings[row]
            leverage, table = _LEVERAGE[one.index]
            entry: dict[str, Any] = {
                "szDecimals": one.lot_decimals, "name": one.symbol, "maxLeverage": leverage, "marginTableId": table,
            }  # fmt: skip
            if dex:
                entry |= {"onlyIsolated": True}
            if one.delisted_ms <= now_ms:
                entry["isDelisted"] = True
            if dex:
                entry |= {"marginMode": "strictIsolated", "growthMode": "enabled",
                          "lastGrowthModeChangeTime": "2025-11-23T17:37:10.033211662"}  # fmt: skip
            universe.append(entry)
        tables = [
            [table, {"description": f"tiered {leverage}x",
                     "marginTiers": [{"lowerBound": "0.0", "maxLeverage": leverage}]}]
            for leverage, table in _LEVERAGE
        ]  # fmt: skip
        collateral = DEXES[dex][1] if dex else 0
        return {"universe": universe, "marginTables": tables, "collateralToken": collateral}

    def meta(self, request: Request) -> Response:
        """The universe of one dex."""
        rows = self._rows(request)
        return Response(b"null", 500) if rows is None else json_response(
            self._meta(rows, request.body.get("dex") or "", request.now_ms), weight=20)  # fmt: skip

    def meta_and_contexts(self, request: Request) -> Response:
        """The universe of one dex with the live context of each position."""
        rows = self._rows(request)
        if rows is None:
            return Response(b"null", 500)
        state, last = self.world.minute(request.now_ms // 60_000), self.world.last(request.now_ms).tolist()
        columns = (state.price_24h, state.mark, state.index, state.premium, state.oi, state.rate, state.quote_24h,
                   state.base_24h, state.listed)  # fmt: skip
        contexts = []
        for row, *values in zip(rows, *(column[rows].tolist() for column in columns), strict=True):
            then, mark, index, premium, oi, rate, notional, base, listed = values
            one, now = self.world.universe.listings[row], last[row]
            step = 1.0 / self.world.universe.scale[row]
            shown: dict[str, Any] = {
                "funding": pointed(rate, 10), "openInterest": pointed(2 * oi, one.lot_decimals),
                "prevDayPx": pointed(then, one.decimals), "dayNtlVlm": pointed(notional, 10),
                "premium": pointed(premium, 10), "oraclePx": pointed(index, one.decimals),
                "markPx": pointed(mark, one.decimals), "midPx": pointed(now, one.decimals + 1),
                "impactPxs": [pointed(max(now - step, step), one.decimals), pointed(now + step, one.decimals)],
                "dayBaseVlm": pointed(base, one.lot_decimals),
            }  # fmt: skip
            if not listed:
                shown |= {"funding": "0.0", "openInterest": "0.0", "dayNtlVlm": "0.0", "premium": None,
                          "midPx": None, "impactPxs": None, "dayBaseVlm": "0.0"}  # fmt: skip
            contexts.append(shown)
        return json_response([self._meta(rows, request.body.get("dex") or "", request.now_ms), contexts], weight=20)

    def perp_dexs(self, request: Request) -> Response:
        """The HIP-3 dexes; the first entry, the core, is null."""
        out: list[dict[str, Any] | None] = [None]
        for dex, (full_name, _, _, _) in DEXES.items():
            listed = [self.world.universe.listings[row] for row in self.dexes[dex]]
            live = sorted(one.symbol for one in listed if one.listed_ms <= request.now_ms < one.delisted_ms)
            out.append({
                "name": dex, "fullName": full_name, "deployer": _address(dex), "oracleUpdater": None,
                "feeRecipient": _address(f"{dex} fees"),
                "assetToStreamingOiCap": [[symbol, "25000000.0"] for symbol in live],
                "subDeployers": [["setOracle", [_address(f"{dex} oracle")]]],
                "deployerFeeScale": "1.0", "lastDeployerFeeScaleChangeTime": "1970-01-01T00:00:00",
                "assetToFundingMultiplier": [[symbol, "0.5"] for symbol in live[:3]],
                "assetToFundingInterestRate": [],
            })  # fmt: skip
        return json_response(out, weight=20)

    def all_mids(self, request: Request) -> Response:
        """The mid price of every listed market of one dex; the core has the spot pairs too."""
        rows = self._rows(request)
        if rows is None:
            return Response(b"null", 500)
        if not request.body.get("dex"):
            rows = rows + self.world.universe.rows("hyperliquid", "spot").tolist()
        state, last = self.world.minute(request.now_ms // 60_000), self.world.last(request.now_ms)
        listings = self.world.universe.listings
        mids = {listings[row].symbol: pointed(last[row], listings[row].decimals + 1)
                for row in rows if state.listed[row]}  # fmt: skip
        return json_response(mids, weight=2)

    def funding_history(self, request: Request) -> Response:
        """Settlements of one coin from a time on, oldest first."""
        coin, start = request.body.get("coin"), request.body.get("startTime")
        end = request.body.get("endTime", request.now_ms)
        if not isinstance(coin, str) or not isinstance(start, int) or not isinstance(end, int):
            return unreadable()
        row = self.by_symbol.get(coin)
        if row is None or self.world.universe.listings[row].type != "perp":
            return Response(b"null", 500)
        last = min(end, request.now_ms, start + MOST_SETTLEMENTS * 3_600_000)
        found = [one for one in settlements(self.world, row, last, MOST_SETTLEMENTS + 1) if one[0] >= start][::-1]
        minutes = np.array([at // 60_000 - 1 for at, _, _ in found], dtype=np.int64)
        premiums = self.world.market.premium(np.array([row]), minutes)[0].tolist() if found else []
        shown = [
            {"coin": coin, "fundingRate": pointed(rate, 10), "premium": pointed(premium, 10),
             "time": at + int(fraction("settled", coin, at) * 80)}
            for (at, rate, _), premium in zip(found, premiums, strict=True)
        ]  # fmt: skip
        return json_response(shown[:MOST_SETTLEMENTS], weight=20 + len(shown) // 20)

    def candle_snapshot(self, request: Request) -> Response:
        """Candles of one coin between two times, oldest first; only the newest 5,000 exist."""
        req = request.body.get("req")
        if not isinstance(req, dict) or not isinstance(req.get("startTime"), int) or "coin" not in req:
            return unreadable()
        end = req.get("endTime", request.now_ms)
        if req.get("interval") not in INTERVALS or not isinstance(end, int):
            return unreadable()
        row = self.by_symbol.get(req["coin"])
        if row is None:
            return Response(b"null", 500)
        step = INTERVALS[req["interval"]]
        start = max(req["startTime"], (request.now_ms // (step * 60_000) - NEWEST_CANDLES + 1) * step * 60_000)
        # The candle that contains startTime is part of the response.
        start = start // (step * 60_000) * step * 60_000
        found = candles(self.world, row, step, start, end, NEWEST_CANDLES, request.now_ms)
        one = self.world.universe.listings[row]
        rows = [
            {"t": at, "T": at + found.step_ms - 1, "s": one.symbol, "i": req["interval"],
             "o": pointed(o, one.decimals), "c": pointed(c, one.decimals), "h": pointed(h, one.decimals),
             "l": pointed(low, one.decimals), "v": pointed(v, one.lot_decimals), "n": n}
            for at, o, h, low, c, v, _, n, _ in found.rows()
        ]  # fmt: skip
        return json_response(rows, weight=20 + len(rows) // 60)


def endpoints(world: World) -> list[Endpoint]:
    """The endpoint of Hyperliquid, and its statistics file."""
    stats = HyperliquidWallets(world)
    return [
        Endpoint("hyperliquid", HOST, "/info", Hyperliquid(world).info, "hyperliquid", 20, "POST"),
        Endpoint("hyperliquid", wallets.STATS, "/Mainnet/leaderboard", stats.leaderboard, "hyperliquid_stats"),
        *archive.endpoints(world),
    ]


def refusal(use: Use, pool: Pool, now_ms: int) -> Response:
    """429 with the body null."""
    return Response(b"null", 429)


SIMULATED = SimulatedVenue(
    venue="hyperliquid",
    hosts=(HOST, wallets.STATS, archive.HOST),
    pools={
        "hyperliquid": Pool(1200, 60_000),
        "hyperliquid_stats": Pool(10, 60_000),
        archive.POOL: Pool(100_000, 60_000),
    },
    endpoints=endpoints,
    refusal=refusal,
    sockets=wallets.sockets,
    topic=wallets.topic,
    frames=wallets.frames,
    holders=wallets_of,
)
