"""Hyperliquid's spot bodies: pairs named by index, tokens that are found by their `index` field."""

from hashlib import blake2b
from typing import Any

from sandbox.market.listing import Listing
from sandbox.market.listings.hyperliquid import COLLATERAL
from sandbox.market.world import World
from sandbox.wire.numbers import pointed

_FIRST_TOKEN = 400  # token index of pair 1; quotes keep their real indices
_QUOTE_INDEX = {name: index for index, name in COLLATERAL.items()}


def _rows(world: World, now_ms: int) -> list[int]:
    listings = world.universe.listings
    rows = [int(row) for row in world.universe.rows("hyperliquid", "spot") if listings[row].listed_ms <= now_ms]
    return sorted(rows, key=lambda row: listings[row].index)


def _token_index(one: Listing) -> int:
    return 1 if one.base_raw == "PURR" else 150 if one.base_raw == "HYPE" else _FIRST_TOKEN + one.index


def _token(name: str, index: int, size_decimals: int, full_name: str | None) -> dict[str, Any]:
    token_id = "0x" + blake2b(name.encode(), digest_size=16).hexdigest()
    contract = None
    if full_name:
        contract = {"address": "0x" + blake2b(token_id.encode(), digest_size=20).hexdigest(),
                    "evm_extra_wei_decimals": 10}  # fmt: skip
    return {
        "name": name, "szDecimals": size_decimals, "weiDecimals": 8, "index": index, "tokenId": token_id,
        "isCanonical": name in ("USDC", "PURR"), "evmContract": contract, "fullName": full_name,
        "deployerTradingFeeShare": "0.0",
    }  # fmt: skip


def spot_meta(world: World, now_ms: int) -> dict[str, Any]:
    """Pairs and tokens; a delisted pair leaves the universe, but its token and context remain."""
    universe = []
    tokens = [_token(name, index, 8 if index == 0 else 2, None if index == 0 else name)
              for index, name in COLLATERAL.items()]  # fmt: skip
    for row in _rows(world, now_ms):
        one = world.universe.listings[row]
        name = f"Unit {one.coin}" if one.base_raw != one.coin else None
        tokens.append(_token(one.base_raw, _token_index(one), one.lot_decimals, name))
        if now_ms < one.delisted_ms:
            universe.append({"tokens": [_token_index(one), _QUOTE_INDEX[one.quote]], "name": one.symbol,
                             "index": one.index, "isCanonical": one.index == 0})  # fmt: skip
    return {"universe": universe, "tokens": sorted(tokens, key=lambda token: int(token["index"]))}


def spot_contexts(world: World, now_ms: int) -> list[dict[str, Any]]:
    """One context per pair ever listed; they are matched by `coin`, not by position."""
    state, last = world.minute(now_ms // 60_000), world.last(now_ms)
    out = []
    for row in _rows(world, now_ms):
        one = world.universe.listings[row]
        listed = bool(state.listed[row])
        out.append({
            "prevDayPx": pointed(state.price_24h[row], one.decimals),
            "dayNtlVlm": pointed(state.quote_24h[row] if listed else 0.0, 8),
            "markPx": pointed(last[row], one.decimals),
            "midPx": pointed(last[row], one.decimals) if listed else None,
            "circulatingSupply": "999000000.0", "coin": one.symbol, "totalSupply": "1000000000.0",
            "dayBaseVlm": pointed(state.base_24h[row] if listed else 0.0, one.lot_decimals),
        })  # fmt: skip
    return out
