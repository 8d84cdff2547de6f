"""Depth, ranking, listings, premiums and wallets' liquidations from recorded minutes with faults, against plain Python.

The simulators' clock is moved minute by minute; the recorder's own parts ask, land and are built, published and served.
"""

from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from ingest.venues.aster import ASTER
from ingest.venues.binance import BINANCE
from ingest.venues.bithumb import BITHUMB
from ingest.venues.bybit import BYBIT
from ingest.venues.coinbase import COINBASE
from ingest.venues.fx import FX
from ingest.venues.hyperliquid import HYPERLIQUID
from ingest.venues.lighter import LIGHTER
from ingest.venues.upbit import UPBIT
from tests.support.pipeline.product_minutes import Fault, Moment, Product
from tests.support.pipeline.recorder_minutes import MINUTE
from tests.support.replica.replica_snapshots import DAY, HOUR
from tests.support.servers.api_server import Api
from tests.support.start import start_ms

ASKED = (BINANCE, BYBIT, HYPERLIQUID, ASTER, LIGHTER, UPBIT, BITHUMB, COINBASE, FX)
MINUTES = (0, 1, 2, 6, 7, 8)  # the recorder stands still for three minutes
NEVER: Fault = {"kind": "outage", "venue": "lighter"}
UNTOLD: Fault = {"kind": "changed_field", "venue": "aster", "path": "/fapi/v1/openInterest", "field": "openInterest",
                 "as": "null", "where": {"symbol": "BTCUSDT"}}  # fmt: skip
SOMETIMES: tuple[tuple[range, Fault], ...] = (
    (range(2, 9), {"kind": "outage", "venue": "aster"}),
    (range(6, 9), {"kind": "truncated", "venue": "bybit", "path": "/v5/market/orderbook"}),
)


class Served(NamedTuple):
    """The API, and the product with everything that was recorded."""

    api: Api
    product: Product
    start: int


@pytest.fixture(scope="module")
def served(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    start = start_ms()
    product = Product(tmp_path_factory.mktemp("derived"))
    moments = [
        Moment(start + number * MINUTE, (NEVER, UNTOLD, *(fault for when, fault in SOMETIMES if number in when)))
        for number in MINUTES
    ]
    product.record(ASKED, moments)
    with product.served() as api:
        yield Served(api, product, start)


def levels(body: Any) -> tuple[list[list[float]], list[list[float]]]:
    """Bids and asks, as either venue writes them."""
    book = body.get("result", body)
    return tuple([[float(price), float(size)] for price, size in book[side]] for side in sides(book))  # type: ignore[return-value]


def sides(book: Any) -> tuple[str, str]:
    return ("b", "a") if "b" in book else ("bids", "asks")


def cost_bps(side: list[list[float]], mid: float, usd: float = 100_000) -> float:
    """How far from the mid an order of this size is filled on average."""
    left, size = usd, 0.0
    for price, amount in side:
        taken = min(left, price * amount)
        left, size = left - taken, size + taken / price
    return abs((usd - left) / size / mid - 1) * 10_000


@pytest.mark.requirement("depth:pipeline")
def test_depth_is_the_recorded_book_summed_by_hand(served: Served) -> None:
    content = served.api.get("/api/order-book-depth").json
    assert content["bands_pct"] == [0.1, 0.5, 1.0, 2.0]
    newest = {
        (row.venue, row.key): body
        for v in ("binance", "bybit")
        for row, body in served.product.bodies(v, "order_books")
    }
    checked = 0
    for venue in content["venues"]:
        assert (venue["n_universe"], venue["missing"]) == (20, [])
        assert len(venue["markets"]) == 20
        for market in venue["markets"]:
            if market["symbol"].startswith("1000"):
                continue
            bids, asks = levels(newest[venue["venue"], market["symbol"]])
            mid = (bids[0][0] + asks[0][0]) / 2
            assert market["mid"] == pytest.approx(mid)
            for band in market["depth"]:
                within = [
                    sum(price * size for price, size in side if abs(price / mid - 1) * 100 <= band["band_pct"] + 1e-9)
                    for side in (bids, asks)
                ]
                assert [band["bid_usd"], band["ask_usd"]] == pytest.approx(within, rel=1e-9), market["symbol"]
                assert band["total_usd"] == pytest.approx(sum(within))
                ends = [abs(side[-1][0] / mid - 1) * 100 for side in (bids, asks)]
                cut = [end < band["band_pct"] for end in ends]
                assert [band["bid_truncated"], band["ask_truncated"]] == cut
            assert market["cost_buy_bps"] == pytest.approx(cost_bps(asks, mid), rel=1e-6)
            assert market["cost_sell_bps"] == pytest.approx(cost_bps(bids, mid), rel=1e-6)
            one = market["depth"][2]
            both = one["bid_usd"] + one["ask_usd"]
            assert market["imbalance"] == pytest.approx((one["bid_usd"] - one["ask_usd"]) / both)
            checked += 1
    assert checked >= 30
    held = {(perp["venue"], perp["symbol"]): perp["oi_usd"] for perp in perps(served.api)}
    for venue in content["venues"]:
        order = [held[venue["venue"], market["symbol"]] for market in venue["markets"]]
        assert order == pytest.approx(sorted(order, reverse=True), rel=0.02)
    # The newest round of one venue failed: its books of the round before count.
    assert (content["n_books"], content["n_failed"], content["state"]) == (40, 20, "ok")


def perps(api: Api) -> list[dict[str, Any]]:
    return [perp for coin in api.get("/api/markets").json["coins"] for perp in coin["perps"]]


@pytest.mark.requirement("dex:pipeline", "states:dex:each")
def test_the_ranking_adds_up_the_markets_and_names_missing_venues(served: Served) -> None:
    content = served.api.get("/api/perp-dex-ranking").json
    venues = {venue["venue"]: venue for venue in content["venues"]}
    status = {name: venue["status"] for name, venue in venues.items()}
    assert status == {"hyperliquid": "live", "aster": "stale", "lighter": "missing"}
    mine = [perp for perp in perps(served.api) if perp["venue"] == "hyperliquid" and not perp["hip3"]]
    for figure, of in (("oi_usd", "oi_usd"), ("vol24h_usd", "vol24h")):
        assert venues["hyperliquid"][figure] == pytest.approx(sum(perp[of] or 0 for perp in mine), rel=1e-9)
    # The last good value is that of its last minute.
    row, tickers = list(served.product.bodies("aster", "perp_tickers"))[-1]
    assert row.tick_ms == served.start + MINUTE
    assert venues["aster"]["vol24h_usd"] == pytest.approx(sum(float(one["quoteVolume"]) for one in tickers), rel=1e-9)
    assert venues["lighter"]["oi_share"] is None
    # One of its perps is traded, and nobody knows how much of it is held.
    assert [venues[name]["oi_partial"] for name in ("hyperliquid", "aster", "lighter")] == [False, True, None]
    for share in ("oi_share", "vol_share"):
        assert sum(venue[share] or 0 for venue in content["venues"]) == pytest.approx(1, abs=1e-12)


@pytest.mark.requirement("dex:pipeline", "states:dex:each", "states:depth:loading")
def test_an_exchange_without_a_response_is_loading_in_the_first_minute(tmp_path: Path) -> None:
    product = Product(tmp_path)
    product.record((HYPERLIQUID, ASTER, LIGHTER), [Moment(start_ms(), (NEVER,))])
    with product.served() as api:
        content = api.get("/api/perp-dex-ranking").json
        status = {venue["venue"]: venue["status"] for venue in content["venues"]}
        assert status == {"hyperliquid": "live", "aster": "live", "lighter": "loading"}
        # Nobody has asked for books or for the other exchanges' lists.
        for path in ("/api/order-book-depth", "/api/new-listings"):
            answer = api.get(path)
            assert (answer.status, answer.json["state"]) == (503, "loading")
            assert int(answer.headers["retry-after"]) > 0


@pytest.mark.requirement("listings:pipeline")
def test_listings_are_those_of_the_venue_s_list(served: Served) -> None:
    content = served.api.get("/api/new-listings").json
    as_of = content["as_of"]
    _, body = list(served.product.bodies("binance", "instruments"))[-1]
    listed = {
        one["symbol"]: one["onboardDate"]
        for one in body["symbols"]
        if one["quoteAsset"] == "USDT" and "_" not in one["symbol"] and as_of - 90 * DAY <= one["onboardDate"] <= as_of
    }
    reported = {row["symbol"]: row["listed_ms"] for row in content["listings"] if row["venue"] == "binance"}
    assert reported == listed
    assert content["counts"]["binance"] == len(listed)
    times = [row["listed_ms"] for row in content["listings"]]
    assert times == sorted(times, reverse=True)
    assert (content["failed"], content["missing"]) == ([], [])
    now = {(perp["venue"], perp["symbol"]): perp for perp in perps(served.api)}
    for row in content["listings"]:
        perp = now.get((row["venue"], row["symbol"]))
        assert row["live"] == (perp is not None)
        if perp:
            assert [row["price"], row["oi_usd"], row["vol_24h"], row["funding"]] == [
                perp["price"], perp["oi_usd"], perp["vol24h"], perp["funding"],
            ]  # fmt: skip


def closes(served: Served, venue: str, symbol: str) -> dict[int, float]:
    """The newest reported close of each closed minute."""
    found: dict[int, float] = {}
    for row, body in served.product.bodies(venue, "spot_bars"):
        if row.key != symbol:
            continue
        for bar in body:
            if venue == "binance":
                at, close = int(bar[0]), float(bar[4])
            elif venue == "coinbase":
                at, close = int(bar[0]) * 1000, float(bar[4])
            else:
                reported = datetime.fromisoformat(bar["candle_date_time_utc"]).replace(tzinfo=UTC)
                at, close = int(reported.timestamp() * 1000), float(bar["trade_price"])
            if at + MINUTE <= row.tick_ms:
                found[at] = close
    return found


def points(own: dict[int, float], reference: dict[int, float]) -> dict[int, int]:
    """The last common minute of each hour."""
    return {minute - minute % HOUR: minute for minute in sorted(own.keys() & reference.keys())}


@pytest.mark.requirement("premiums:pipeline")
def test_premiums_are_those_of_the_recorded_minutes(served: Served) -> None:
    reference = closes(served, "binance", "BTCUSDT")
    bank = {body[0]["timestamp"]: body[0]["basePrice"] for _, body in served.product.bodies("fx", "fx_rates")}
    # A central bank's rate is of 15:00 UTC of its day.
    central = {
        int(datetime.fromisoformat(f"{body['date']}T15:00Z").timestamp() * 1000): body["rates"]["KRW"]
        for _, body in served.product.bodies("fx", "fx_daily")
    }

    def rate_at(ms: int) -> float:
        """The bank's newest rate published by then, or else the central bank's newest."""
        rates = next(rates for rates in (bank, central) if min(rates) <= ms)
        return float(rates[max(at for at in rates if at <= ms)])

    korean = served.api.get("/api/kimchi-premium/history?base=BTC&range=1d").json
    for exchange in ("upbit", "bithumb"):
        own, token = closes(served, exchange, "KRW-BTC"), closes(served, exchange, "KRW-USDT")
        expected, by_token = {}, {}
        for hour, minute in points(own, reference).items():
            expected[hour] = 100 * (own[minute] / rate_at(minute + MINUTE) / reference[minute] - 1)
            if minute in token:
                by_token[hour] = 100 * (own[minute] / token[minute] / reference[minute] - 1)
        assert expected, exchange
        for name, wanted in ((exchange, expected), (f"{exchange}_usdt", by_token)):
            reported = {t: v for t, v in zip(korean["t"], korean[name], strict=True) if v is not None}
            assert reported == pytest.approx(wanted, abs=1e-9), name
    assert "won a dollar by dunamu" in korean["source"]
    american = served.api.get("/api/coinbase-premium/history?base=ETH&range=1d").json
    own, reference = closes(served, "coinbase", "ETH-USD"), closes(served, "binance", "ETHUSDT")
    minutes = points(own, reference)
    assert american["t"] == sorted(minutes)
    assert american["gap"] == pytest.approx([own[minutes[t]] - reference[minutes[t]] for t in american["t"]])
    assert american["premium"] == pytest.approx(
        [100 * (own[minutes[t]] / reference[minutes[t]] - 1) for t in american["t"]], abs=1e-9
    )


@pytest.mark.requirement("wallets:pipeline", "states:wallets:partial")
def test_each_liquidation_that_a_wallet_reports_counts_once(served: Served) -> None:
    events: dict[tuple[str, int, int], tuple[str, float]] = {}
    for row, body in served.product.bodies("hyperliquid", "wallet_fills"):
        for fill in body:
            if reported := fill.get("liquidation"):
                own = reported["liquidatedUser"].lower() == row.key.lower()
                side = "long" if (fill["side"] == "A") == own else "short"
                key = (fill["coin"], fill["time"], fill["tid"])
                events[key] = (side, float(fill["px"]) * float(fill["sz"]))
    content = served.api.get("/api/hyperliquid/liquidations?window=7d").json
    core = {key: event for key, event in events.items() if ":" not in key[0] and key[1] >= content["from"]}
    assert core
    for side in ("long", "short"):
        of_side = [usd for reported, usd in core.values() if reported == side]
        assert content["totals"][f"n_{side}"] == len(of_side)
        assert content["totals"][f"{side}_usd"] == pytest.approx(sum(of_side))
        assert sum(value or 0 for value in content["hourly"][side]) == pytest.approx(sum(of_side))
    assert sum(coin["n"] for coin in content["coins"]) == len(core)
    sums = [coin["long_usd"] + coin["short_usd"] for coin in content["coins"]]
    assert sums == sorted(sums, reverse=True)
    # Nobody was listening to the liquidators before the recording began.
    assert (content["complete"], content["partial"]) == (False, True)
