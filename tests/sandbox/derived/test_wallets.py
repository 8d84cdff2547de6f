"""Wallets of the simulated market: liquidated where the mark price reaches, the same from any call."""

from sandbox.derived.wallets import Wallets
from sandbox.market.clock import Clock
from sandbox.market.listing import ANCHOR_MS
from sandbox.market.universe import build_universe
from sandbox.market.world import build_world
from sandbox.venues.hyperliquid.wallets import wallets_of
from tests.support.pipeline.warehouse import MINUTE

NOW = ANCHOR_MS + 7 * 3_600_000 + 2_500


def test_positions_are_liquidated_when_the_mark_price_reaches_them() -> None:
    def wallets() -> Wallets:
        return wallets_of(build_world(build_universe("small"), 1, Clock(fixed_ms=NOW)))

    first, minute = wallets(), NOW // MINUTE
    found = first.cells_at(minute)
    for one in found.each():
        path = [
            first.mark(one["row"], at) for at in range(one["opened_ms"] // MINUTE + 1, one["closed_ms"] // MINUTE + 1)
        ]
        reached = [mark <= one["liquidation"] if one["long"] else mark >= one["liquidation"] for mark in path]
        assert not any(reached[:-1])
        assert not one["liquidated"] or reached[-1]
        if one["seat"] > 300:
            break
    # The same whatever was asked before, and however it is asked.
    other = wallets()
    for at in (minute + 700, minute - 9000, minute):
        other.cells_at(at)
    again = other.cells_at(minute)
    by_range = other.between(minute * MINUTE, minute * MINUTE)
    for name in found.__slots__:
        assert (getattr(found, name) == getattr(again, name)).all(), name
        assert (getattr(found, name) == getattr(by_range, name)).all(), name
