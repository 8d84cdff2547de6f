"""GET /api/order-book-depth and its markets on a small replica."""

import pytest

from tests.support.replica.replica import LAST
from tests.support.servers.api_server import Api


@pytest.mark.requirement("depth:shape", "depth:order", "depth:missing")
def test_depth(api: Api) -> None:
    content = api.get("/api/order-book-depth").json
    assert {name: content[name] for name in content if name not in ("venues", "source")} == {
        "bands_pct": [0.1], "as_of": LAST, "state": "partial", "imbalance_band_pct": 1.0, "market_order_usd": 100_000,
        "levels_per_side": 500, "n_books": 4, "n_failed": 3,
    }  # fmt: skip
    binance, bybit = content["venues"]
    assert (binance["venue"], binance["n_universe"], binance["missing"]) == ("binance", 3, ["OLDUSDT"])
    assert [market["symbol"] for market in binance["markets"]] == ["ETHUSDT", "BTCUSDT"]
    # Equal open interest: by market id.
    assert [market["symbol"] for market in bybit["markets"]] == ["BBBUSDT", "BTCUSDT"]
    assert (bybit["n_universe"], bybit["missing"]) == (3, ["NEWUSDT"])
    assert binance["markets"][1] == {
        "symbol": "BTCUSDT", "base": "BTC", "mid": 60_000.0, "imbalance": 0.2, "imbalance_range_pct": 1.0,
        "cost_buy_bps": 3.5, "cost_buy_truncated": False, "cost_sell_bps": 4.5, "cost_sell_truncated": True,
        "depth": [{"band_pct": 0.1, "bid_usd": 600.0, "ask_usd": 400.0, "total_usd": 1000.0,
                   "bid_truncated": False, "ask_truncated": True}],
    }  # fmt: skip


@pytest.mark.requirement("depth:levels")
def test_the_curve_of_a_book(api: Api) -> None:
    content = api.get("/api/order-book-depth/binance:perp:BTCUSDT").json
    assert content == {
        "market": "binance:perp:BTCUSDT", "base": "BTC", "as_of": LAST, "mid": 60_000.0, "bid_reach_pct": 0.02,
        "ask_reach_pct": 0.01, "source": "order_book_levels@e1842",
        "levels": [{"away_pct": 0.01, "bid_usd": 300.0, "ask_usd": 400.0},
                   {"away_pct": 0.02, "bid_usd": 600.0, "ask_usd": None}],
    }  # fmt: skip


@pytest.mark.requirement("depth:levels")
def test_a_market_without_a_book_is_not_empty_but_not_found(api: Api) -> None:
    answer = api.get("/api/order-book-depth/binance:spot:BTCUSDT")
    assert answer.status == 404
    assert answer.json["error"].startswith("no order book of this market was recorded in the last 10 minutes")
    answer = api.get("/api/order-book-depth/binance:perp:NONEUSDT")
    assert (answer.status, answer.json) == (404, {"error": "unknown market"})
    assert api.get("/api/order-book-depth/BTC").status == 400
