"""A minute of every venue, recorded whenever it may be, is what the simulated market was then; and the two minutes from
there, served by the API, end in the right buckets of every step.

The starts are special ones, which are always among them, and others that are drawn: `--starts 50` draws up to fifty,
`--starts-seed` draws them again. What fails names its start.
"""

import asyncio
from collections.abc import Iterator
from dataclasses import dataclass

import pytest

from ingest.landing.rows import Row
from ingest.venues import VENUES
from ingest.venues.binance import BINANCE
from ingest.venues.bybit import BYBIT
from ingest.venues.hyperliquid import HYPERLIQUID
from sandbox.market.listings.aster import DOLLAR, SHIELD
from sandbox.market.world import World
from tests.support.pipeline.product_minutes import Product
from tests.support.pipeline.recorder_minutes import MINUTE, only, recorder
from tests.support.pipeline.warehouse import Warehouse, seeded
from tests.support.servers.api_server import Api
from tests.support.start import HOUR, clock_from, to_text
from tests.support.starts import starts as drawn

# A run of many starts is as long as there are many.
pytestmark = pytest.mark.timeout(0)
KINDS = {
    "perp_dexes", "perp_tickers", "perp_details", "spot_tickers", "spot_details", "funding", "funding_intervals",
    "open_interest", "marks", "index_tickers", "instruments", "spot_instruments", "option_tickers", "option_index",
    "option_instruments", "option_open_interest", "fx_rates", "fx_daily",
}  # fmt: skip
ASKED = [only(venue, KINDS) for venue in VENUES]


@dataclass(frozen=True)
class Truth:
    """What the simulated market was in a minute, by venue, type and symbol; prices in the quote per raw base unit."""

    listed: set[tuple[str, str, str]]
    price: dict[tuple[str, str, str], float | None]
    funding_8h: dict[tuple[str, str, str], float]
    interval_h: dict[tuple[str, str, str], int]


def truth(world: World, tick_ms: int) -> Truth:
    """As the venues are asked: a second after the minute began."""
    state, last = world.minute(tick_ms // MINUTE), world.last(tick_ms + 1_000)
    listings = world.universe.listings
    rows = [row for row in range(len(listings)) if state.listed[row]]
    names = {row: (one.venue, one.type, one.symbol) for row in rows if (one := listings[row])}
    perps = [row for row in rows if names[row][1] == "perp"]
    return Truth(
        listed=set(names.values()),
        # Some of Aster's symbols have a mark price and funding alone.
        price={names[row]: None if listings[row].group in (SHIELD, DOLLAR) else float(last[row]) for row in rows},
        funding_8h={names[row]: float(state.rate[row] * 8 / state.hours[row]) for row in perps},
        interval_h={names[row]: int(state.hours[row]) for row in perps},
    )


@dataclass(frozen=True)
class Recorded:
    """Every start's minute, with what was recorded, what is built of it and what is true."""

    rows: dict[int, list[Row]]
    truths: dict[int, Truth]
    warehouse: Warehouse


async def record(starts: list[int]) -> tuple[dict[int, list[Row]], dict[int, Truth]]:
    rows, truths = {}, {}
    for start in starts:
        async with recorder(ASKED) as (venues, minute):
            rows[start] = await minute(start, 120)
            truths[start] = truth(venues.app.ctx.sandbox.world, start)
    return rows, truths


@pytest.fixture(scope="module")
def recorded(pytestconfig: pytest.Config, tmp_path_factory: pytest.TempPathFactory) -> Recorded:
    rows, truths = asyncio.run(record(starts(pytestconfig)))
    warehouse = seeded(tmp_path_factory.mktemp("starts"))
    warehouse.build(row._asdict() for of_start in rows.values() for row in of_start)
    return Recorded(rows, truths, warehouse)


def starts(config: pytest.Config) -> list[int]:
    return drawn(config.getoption("--starts"), config.getoption("--starts-seed"))


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    if "start" in metafunc.fixturenames:
        metafunc.parametrize("start", starts(metafunc.config), ids=to_text, scope="module")


def test_every_venue_responds(start: int, recorded: Recorded) -> None:
    asked = {row.venue for row in recorded.rows[start]}
    assert asked == {venue.name for venue in VENUES}
    assert [row for row in recorded.rows[start] if row.status != 200 or row.error] == []


def test_every_body_is_read(start: int, recorded: Recorded) -> None:
    assert recorded.warehouse.rows("from int_rejected where tick_ms = ?", [start]) == []


def test_markets_are_those_that_are_traded(start: int, recorded: Recorded) -> None:
    """Each with its price, and a perp with its funding and the interval in which it is paid."""
    query = """select venue, type, symbol, m.price * i.multiplier, funding_8h, funding_interval_h
               from int_market_minutes as m join instruments as i using (market_id, venue, type, symbol)
               where minute_ms = ? and i.usd_like"""
    found = {(venue, kind, symbol): values for venue, kind, symbol, *values in recorded.warehouse.rows(query, [start])}
    true = recorded.truths[start]
    assert found.keys() <= true.listed
    # Dated futures are not asked for, and what is quoted in other money than dollars is left out here.
    missing = true.listed - found.keys()
    dollars = [one for one in missing if one[2].endswith(("USDT", "USDC")) and not one[2].startswith("KRW-")]
    assert [*dollars, *(one for one in missing if one[1] == "perp")] == []
    for market, (price, funding_8h, interval_h) in found.items():
        last = true.price[market]
        assert price == (None if last is None else pytest.approx(last, rel=1e-3)), market
        if market[1] == "perp":
            assert interval_h == true.interval_h[market], market
            # The coarsest round a rate to six decimals, be it for eight hours or for one.
            assert funding_8h == pytest.approx(true.funding_8h[market], abs=5e-6), market


def test_options_expire_later(start: int, recorded: Recorded) -> None:
    query = "select venue, min(expiry_ms) from int_option_snapshots where snapshot_ms = ? group by venue"
    soonest = dict(recorded.warehouse.rows(query, [start]))
    assert soonest.keys() == {"binance", "bybit", "okx", "deribit"}
    # There is an expiry at 08:00 UTC of every day.
    assert {venue: at for venue, at in soonest.items() if not start < at <= start + 24 * HOUR} == {}


SERVED = [only(venue, KINDS) for venue in (BINANCE, BYBIT, HYPERLIQUID)]
BTC = ("binance:perp:BTCUSDT", "bybit:perp:BTCUSDT", "hyperliquid:perp:BTC")
STEPS = {"1m": MINUTE, "5m": 5 * MINUTE, "15m": 15 * MINUTE, "1h": HOUR, "4h": 4 * HOUR, "1d": 24 * HOUR}


@dataclass(frozen=True)
class Served:
    """Two minutes that were recorded, built and published, what is true in each, and the API that serves them."""

    minutes: tuple[int, int]
    truths: dict[int, Truth]
    api: Api

    def true(self, market: str, at_ms: int) -> tuple[float, float]:
        """Price of a perp, and its funding of 8 hours."""
        venue, kind, symbol = market.split(":")
        truth, name = self.truths[at_ms], (venue, kind, symbol)
        price = truth.price[name]
        assert price is not None
        return price, truth.funding_8h[name]


async def record_into(product: Product, minutes: tuple[int, int]) -> dict[int, Truth]:
    truths = {}
    async with recorder(SERVED) as (venues, minute):
        for at_ms in minutes:
            rows = await minute(at_ms, 120)
            truths[at_ms] = truth(venues.app.ctx.sandbox.world, at_ms)
            await asyncio.to_thread(product.land, rows)
    return truths


@pytest.fixture(scope="module")
def served(start: int, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    minutes = (start, start + MINUTE)
    product = Product(tmp_path_factory.mktemp("served"))
    truths = asyncio.run(record_into(product, minutes))
    with clock_from(start + 2 * MINUTE):  # minutes ahead of the clock are not built
        product.build()
        product.publish()
    with product.served() as api:
        yield Served(minutes, truths, api)


@pytest.mark.parametrize("step", STEPS)
def test_buckets_of_every_step_hold_their_newest_minute(served: Served, step: str) -> None:
    """Those two minutes may lie in two hours, days, months or years."""
    width = STEPS[step]
    newest = {minute - minute % width: minute for minute in served.minutes}
    first = min(newest)
    for market in BTC:
        span = {"market": market, "step": step, "start": first, "end": max(newest) + width}
        price, funding = served.api.series("price", **span), served.api.series("funding", **span)
        assert price["step"] == width
        assert price["t"] == funding["t"] == list(newest), market
        true = [served.true(market, minute) for minute in newest.values()]
        assert price["v"] == pytest.approx([one[0] for one in true], rel=1e-3), market
        assert funding["v"] == pytest.approx([one[1] for one in true], abs=5e-6), market


def test_nothing_is_missing_between_the_minutes(served: Served) -> None:
    first, last = served.minutes
    for metric in ("price", "oi", "funding"):
        body = served.api.series(metric, base="BTC", step="1m", start=first, end=last + MINUTE)
        assert body["t"] == [first, last], metric
        assert all(body["v"]), metric
        assert body["gaps"] == [], metric


def test_the_newest_minute_is_served(served: Served) -> None:
    """Every perp of the venues with its funding, whose interval may have ended in that minute."""
    last = served.minutes[-1]
    body = served.api.get("/api/markets").json
    assert last <= body["server_ts"] <= last + MINUTE
    perps = {(one["venue"], "perp", one["symbol"]): one for coin in body["coins"] for one in coin["perps"]}
    assert len(perps) > 100
    found = {name: one["funding"] for name, one in perps.items()}
    assert found == pytest.approx({name: served.truths[last].funding_8h[name] for name in perps}, abs=5e-6)
    for market in BTC:
        venue, kind, symbol = market.split(":")
        assert perps[venue, kind, symbol]["price"] == pytest.approx(served.true(market, last)[0], rel=1e-3), market
