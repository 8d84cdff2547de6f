"""All venues held to one table: declarations that hold together, and a recorded minute that is whole, read and true."""

import ast
import json
from collections import Counter
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import ingest.venues
import sandbox.venues
from ingest.declaration.endpoint import Endpoint, Request
from ingest.declaration.venue import Venue
from ingest.venues import VENUES
from sandbox.derived.chain import Chain, chain
from sandbox.derived.constituents import constituents
from sandbox.derived.positioning import long_fraction, takers
from sandbox.http.streams import liquidations_of
from sandbox.market.listings import funding_cap
from sandbox.market.world import World
from sandbox.venues import SIMULATED_VENUES
from sandbox.venues.binance import options as binance_options
from sandbox.venues.bybit import options as bybit_options
from sandbox.wire.settlements import settlements
from tests.ingest.venues.conftest import NOW_MS, FirstMinute
from tests.support.pipeline.warehouse import MINUTE, Warehouse, response, seeded

MACRO = Path(__file__).parents[3] / "dbt_project" / "macros" / "recording.sql"
LONGEST_S = 3600
"""Keys that come round more seldom than this count as requested hourly: a share of them is requested in between."""
STAGING = MACRO.parents[1] / "models" / "staging"
HOUR = 60 * MINUTE
NOW = NOW_MS // MINUTE
FILES = {"metrics_files", "mark_bars_files", "index_bars_files", "premium_bars_files", "liquidations_files"}
BAR_FILES = {"perp_bars_files", "spot_bars_files", "settlements_files"}
EMPTY = {"binance": {"open_interest_history"} | FILES | BAR_FILES, "bybit": {"open_interest_history"},
         "hyperliquid": {"liquidation_fills", "open_interest_files"}, "gate": BAR_FILES,
         "bitget": {"perp_bars_files", "spot_bars_files"},
         "kucoin": {"open_interest_history"} | BAR_FILES, "okx": {"open_interest_history"} | BAR_FILES}  # fmt: skip
"""Views that a minute does not fill: of the past alone, or of fills that are liquidations."""
UNREAD = {"hyperliquid": {"dex_positions", "wallet_fills"}}
"""Endpoints whose first bodies have nothing to read: no liquidation, no position on a builder's dex."""
CLOSED_ALONE = {("hyperliquid", "perp_bars"), ("kucoin", "spot_bars"), ("mexc", "perp_bars"), ("okx", "perp_bars"),
                ("okx", "spot_bars")}  # fmt: skip
"""Bars that a venue sends, or that are asked for, once they are closed."""


def test_each_file_declares_the_venue_that_it_is_named_after() -> None:
    files = sorted(path.stem for path in Path(ingest.venues.__file__).parent.glob("[!_]*.py"))
    assert [venue.name for venue in ingest.venues.VENUES] == files


def test_each_recorded_venue_is_simulated() -> None:
    simulated = [one.venue for one in sandbox.venues.SIMULATED_VENUES]
    assert simulated == [venue.name for venue in ingest.venues.VENUES]


@pytest.mark.parametrize("venue", VENUES, ids=lambda venue: venue.name)
def test_declarations_hold_together(venue: Venue) -> None:
    """Every name that a declaration refers to is declared."""
    names, pools = {endpoint.name for endpoint in venue.endpoints}, {pool.name for pool in venue.pools}
    assert len(names) == len(venue.endpoints)
    for endpoint in venue.endpoints:
        assert endpoint.pool in pools
        if endpoint.fan_out:
            sources = (endpoint.fan_out.of, endpoint.fan_out.within, endpoint.fan_out.without)
            assert {source.endpoint for source in sources if source} <= names
    assert {stream.topics.endpoint for stream in venue.streams if stream.topics} <= names


@pytest.mark.parametrize("venue", VENUES, ids=lambda venue: venue.name)
def test_a_full_minute_fits_the_budget(venue: Venue) -> None:
    """With the whole universe (VENUES 0.3), a first minute that catches up and asks all stays inside every pool."""
    coins = {"hyperliquid": 430, "okx": 480, "lighter": 215}.get(venue.name, 850)
    sizes = {
        "open_interest": 700,
        "perp_tickers": 12,
        "spot_bars": 1500,
        "option_open_interest": 40,
        "wallet_positions": 10,
        "dex_positions": 60,
        "wallet_fills": 500,
        "index_tickers": 6,
    }
    if venue.name == "binance":
        # Those of COIN-M, which count against its own limit.
        sizes |= {"settlements": 40}
    if venue.name == "lighter":
        sizes |= {"spot_bars": 15}
    if venue.name == "bitget":
        # Its statistics are asked of the most traded alone.
        sizes |= {"long_short_accounts": 50, "taker_ratio": 50}
    used: Counter[str] = Counter()
    for endpoint in venue.endpoints:
        count, fan_out = 1, endpoint.fan_out
        if fan_out:
            count = sizes.get(endpoint.name, coins) if fan_out.of else len(fan_out.always)
            if fan_out.top is not None:
                rest = -(-(count - fan_out.top) * endpoint.every_s // fan_out.rest_s) if fan_out.rest_s else 0
                count = fan_out.top + rest
        most = endpoint.bars.most if endpoint.bars else 0
        weight = endpoint.weight(Request("", 0, most)) if callable(endpoint.weight) else endpoint.weight
        used[endpoint.pool] += count * weight
    for pool in venue.pools:
        assert used[pool.name] <= (pool.limit - pool.history) * max(1, 60 / pool.window_s)


def minutes_between(endpoint: Endpoint) -> int:
    """Minutes after which the endpoint, or the last of its rotating keys, is requested again."""
    fan_out = endpoint.fan_out
    rotation_s = (fan_out.rest_s or 0) if fan_out and fan_out.top == 0 else 0
    return max(endpoint.every_s, min(rotation_s, LONGEST_S)) // 60


def test_gaps_count_a_response_until_the_kind_is_requested_again() -> None:
    """A shorter time there would be a gap after every response; a longer one would hide a missing response."""
    text = MACRO.read_text()
    _, _, rest = text.partition("{{ return(")
    counted = {
        kind: minutes for minutes, kinds in ast.literal_eval(rest.partition(") }}")[0]).items() for kind in kinds
    }
    declared: dict[str, int] = {}
    for venue in VENUES:
        declared |= {stream.name: 1 for stream in venue.streams if stream.name in counted}
        for endpoint in venue.endpoints:
            declared[endpoint.name] = max(declared.get(endpoint.name, 0), minutes_between(endpoint))
    assert {kind: declared[kind] for kind in counted} == counted


# What each venue publishes of its perpetuals: last, mark and index price, quote volume of 24 h, funding rate, its
# interval in hours, open interest in raw base units, and the base units of one contract where it counts contracts.
COINS = "open_interest, 0 from"
CONTRACTS = """open_contracts * contract_size / if(inverse, mark_price, 1),
               contract_size / if(inverse, mark_price, 1), inverse from"""
PRICES = "symbol, last_price, mark_price, index_price"
PERPS = {
    "aster": f"""{PRICES}, vol24h_quote, funding_rate, interval_h, {COINS} stg_aster__funding
                 left join stg_aster__funding_intervals using (symbol) left join stg_aster__perp_tickers using (symbol)
                 left join stg_aster__open_interest using (symbol)""",
    "binance": f"""{PRICES}, vol24h_quote, funding_rate, f.interval_h,
                   coalesce(open_interest, open_contracts * contract_size / mark_price),
                   if(inverse, contract_size / mark_price, 1), inverse from stg_binance__perp_tickers
                   join stg_binance__funding as f using (symbol) join stg_binance__open_interest using (symbol)
                   join stg_binance__instruments using (symbol)""",
    "bitget": f"""{PRICES}, vol24h_quote, t.funding_rate, interval_h, {COINS} stg_bitget__perp_tickers as t
                  join stg_bitget__funding using (symbol)""",
    "bybit": f"""{PRICES}, vol24h_quote, funding_rate, interval_h, single_open_interest,
                 if(inverse, 1 / mark_price, 1), inverse from stg_bybit__perp_tickers
                 join stg_bybit__instruments using (symbol)""",
    "gate": f"""{PRICES}, vol24h_quote, funding_rate, interval_h, {CONTRACTS} stg_gate__perp_tickers
                join stg_gate__instruments using (symbol)""",
    "hyperliquid": f"""{PRICES}, vol24h_usd, funding_rate, interval_h, open_interest / 2, 0
                       from stg_hyperliquid__perp_tickers""",  # it counts both sides
    "kucoin": f"""{PRICES}, vol24h_quote, funding_rate, t.interval_h, {CONTRACTS} stg_kucoin__perp_tickers as t
                  join stg_kucoin__instruments as i using (symbol)""",
    "lighter": f"""{PRICES}, vol24h_quote, funding_rate, interval_h, {COINS} stg_lighter__perp_tickers
                   join stg_lighter__funding using (symbol)""",
    "mexc": f"""{PRICES}, vol24h_quote, f.funding_rate, interval_h, {CONTRACTS} stg_mexc__perp_tickers
                join stg_mexc__instruments using (symbol) join stg_mexc__funding as f using (symbol)""",
    "okx": f"""{PRICES}, vol24h_quote, funding_rate, interval_h, {COINS} stg_okx__perp_tickers
               join stg_okx__funding using (symbol) join stg_okx__open_interest using (symbol)
               join stg_okx__marks using (symbol)""",
}
EXACT = 1e-9
"""The tolerance, relative, of what a venue publishes in full; the tables below say what it rounds, and how."""
COIN_MARGINED = {"binance", "bitget", "bybit", "gate", "kucoin", "mexc", "okx"}
# Decimals of mark and index price beyond those of the last price; others have eight in all. Bitget's index is whole.
MORE_DECIMALS = {"bitget": 0, "bybit": 0, "gate": 2, "hyperliquid": 0, "kucoin": 1, "lighter": 0, "mexc": 1, "okx": 1}
# Decimals of a rate, in tickers and in settlements; Lighter publishes percent with four.
RATE_DECIMALS = {"aster": 8, "binance": 8, "gate": 6, "kucoin": 6, "lighter": 6}
SETTLED_DECIMALS = RATE_DECIMALS | {"bybit": 8}
# Decimals of the day's volume: cents, or whole dollars (of KuCoin, contracts of a dollar).
DAY_DECIMALS = {"aster": 2, "binance": 2, "gate": 0, "kucoin": 0}
# Decimals of a bar's turnover; others have eight.
TURNOVER_DECIMALS = {("aster", "perp_bars"): 5, ("binance", "perp_bars"): 5, ("gate", "perp_bars"): 5,
                     ("lighter", "perp_bars"): 6, ("lighter", "spot_bars"): 6, ("mexc", "spot_bars"): 2}  # fmt: skip
# Closed bars of a first minute: a key that was never answered is asked its newest 99 minutes, the last of which is
# still open; these send that one not at all or in addition.
BARS = {("coinbase", "spot_bars"): 99, ("hyperliquid", "perp_bars"): 99, ("kucoin", "perp_bars"): 99,
        ("kucoin", "spot_bars"): 99, ("mexc", "perp_bars"): 99}  # fmt: skip
USUAL_BARS = 98
# Settlements of each market that is asked for; Binance and Aster send the newest of all markets.
SETTLED = {"bitget": 20, "bybit": 25, "gate": 24, "hyperliquid": 25, "kucoin": 7, "lighter": 13, "mexc": 20, "okx": 25}
# Five-minute statistics: how many, and the minutes since the newest share of longs began.
STATISTICS = {"binance": (100, 5), "bitget": (30, 5), "bybit": (100, 0), "gate": (24, 5), "okx": (100, 5)}


GATE_COUNTS = {"long_short_accounts": ("long_users", "short_users"),
               "long_short_top_accounts": ("top_long_account", "top_short_account"),
               "long_short_top_positions": ("top_long_size", "top_short_size")}  # fmt: skip


def half(decimals: int) -> float:
    """The most by which rounding to so many decimals changes a number, with room for a float's last bits."""
    return 0.5 * 10.0**-decimals * (1 + 1e-6)


SPOT = [path.parent.name for path in sorted(STAGING.glob("*/stg_*__spot_tickers.sql"))]
each_venue = pytest.mark.parametrize("venue", VENUES, ids=lambda venue: venue.name)


def listed(world: World, venue: str, kind: str) -> dict[str, int]:
    """Symbol → row of what trades in the minute."""
    state, listings = world.minute(NOW), world.universe.listings
    return {listings[row].symbol: row for row in world.universe.rows(venue, kind).tolist() if state.listed[row]}


def columns_of(warehouse: Warehouse, view: str) -> list[str]:
    """The names of a view's columns."""
    return [name for (name,) in warehouse.rows(f"select column_name from (describe {view})")]


def views(venue: str, suffix: str = "") -> list[str]:
    """The kinds of a venue's staging views."""
    return sorted(path.stem.partition("__")[2] for path in (STAGING / venue).glob(f"*__*{suffix}.sql"))


def pairs_of(suffix: str) -> list[tuple[str, str]]:
    """(venue, kind) of all views whose name ends so."""
    return [(venue.name, kind) for venue in VENUES for kind in views(venue.name, suffix)]


@each_venue
def test_a_minute_is_answered_whole(first_minute: FirstMinute, venue: Venue) -> None:
    """Each endpoint is asked, every request answered, and the frames of the stream are there."""
    rows = first_minute.rows[venue.name]
    assert [row for row in rows if row["error"] or row["status"] not in (200, 101)] == []
    streams = {stream.name for stream in venue.streams} & {"liquidations"}
    assert {row["endpoint"] for row in rows} == {endpoint.name for endpoint in venue.endpoints} | streams


@each_venue
def test_every_view_reads_its_bodies_and_rejects_none(first_minute: FirstMinute, venue: Venue) -> None:
    read: set[str] = set()
    for kind in views(venue.name):
        query = f"select count(*), count(reject), list(distinct endpoint) from stg_{venue.name}__{kind}"
        [(count, rejected, endpoints)] = first_minute.warehouse.rows(query)
        assert rejected == 0, kind
        assert count > 0 or kind in EMPTY.get(venue.name, ()), kind
        read |= set(endpoints or ())
        assert kind not in {endpoint.name for endpoint in venue.endpoints} or kind in endpoints, kind
    assert read >= {endpoint.name for endpoint in venue.endpoints} - UNREAD.get(venue.name, set())


@pytest.mark.parametrize("venue", PERPS)
def test_perpetuals_are_the_worlds(first_minute: FirstMinute, venue: str) -> None:
    """Every perpetual that trades, and no other: prices, the day's volume, funding per 8 hours, open interest."""
    world = first_minute.world
    state, last, listings = world.minute(NOW), world.last(NOW_MS), world.universe.listings
    rows = listed(world, venue, "perp")
    found = {row[0]: row[1:] for row in first_minute.warehouse.rows(f"select {PERPS[venue]}")}
    assert set(found) == set(rows)
    assert {listings[row].inverse for row in rows.values()} == {venue in COIN_MARGINED, False}
    for symbol, (price, mark, index, volume, rate, hours, held, lot, *inverse) in found.items():
        row, counts_dollars = rows[symbol], bool(inverse and inverse[0])
        rounded = half(listings[row].decimals + MORE_DECIMALS[venue] if venue in MORE_DECIMALS else 8)
        if venue == "aster" and listings[row].group:
            assert (price, held) == (None, None), "a market of another book has neither a ticker nor open interest"
        else:
            # OKX has the day's coins, here at the last price; MEXC's coin-margined turnover is coins at the mark.
            day = 0.1 if venue == "okx" or (venue == "mexc" and counts_dollars) else EXACT
            cents = half(DAY_DECIMALS[venue]) if venue in DAY_DECIMALS else 0
            if venue in ("binance", "bybit") and counts_dollars:
                # Whole contracts; Binance's turnover is that of a mean price with eight decimals.
                cents = 0.5 * listings[row].contract_size + float(state.base_24h[row]) * half(8)
            # Whole contracts of dollars, here at the mark price as published; of coins they are exact.
            contracts = 0.5 * lot + held * rounded / mark if counts_dollars else 0
            assert price == pytest.approx(last[row], rel=EXACT), symbol
            assert volume == pytest.approx(state.quote_24h[row], rel=day, abs=cents), symbol
            assert held == pytest.approx(state.oi[row], rel=EXACT, abs=contracts), symbol
        assert mark == pytest.approx(state.mark[row], rel=1e-12, abs=rounded), symbol
        assert index == pytest.approx(state.index[row], rel=1e-12, abs=0 if venue == "bitget" else rounded), symbol
        assert hours == state.hours[row], symbol
        assert abs(rate) <= funding_cap(venue)
        fine = half(RATE_DECIMALS[venue]) if venue in RATE_DECIMALS else 0
        assert rate == pytest.approx(state.rate[row], rel=1e-12, abs=max(fine, 1e-12)), symbol


@pytest.mark.parametrize(
    ("venue", "kind"),
    [
        ("aster", "funding"),
        ("binance", "funding"),
        ("bitget", "funding"),
        ("kucoin", "perp_tickers"),
        ("mexc", "funding"),
        ("okx", "funding"),
    ],
)
def test_the_next_funding_ends_the_interval_in_force(first_minute: FirstMinute, venue: str, kind: str) -> None:
    state, rows = first_minute.world.minute(NOW), listed(first_minute.world, venue, "perp")
    found = first_minute.warehouse.rows(f"select symbol, next_funding_ms from stg_{venue}__{kind}")
    funded = {symbol: at for symbol, at in found if at is not None}
    assert set(funded) == set(rows)
    for symbol, at in funded.items():
        interval_ms = int(state.hours[rows[symbol]]) * HOUR
        assert (at % interval_ms, NOW_MS < at <= NOW_MS + interval_ms) == (0, True), symbol


@pytest.mark.parametrize("venue", SPOT)
def test_spot_markets_are_the_worlds(first_minute: FirstMinute, venue: str) -> None:
    """Every spot market that trades, and no other: the last price, and the day's volume in the quote currency."""
    world = first_minute.world
    state, last = world.minute(NOW), world.last(NOW_MS)
    rows = listed(world, venue, "spot")
    query = f"select symbol, last_price, vol24h_quote from stg_{venue}__spot_tickers"
    found = first_minute.warehouse.rows(query)
    assert {symbol for symbol, *_ in found} == set(rows)
    for symbol, price, volume in found:
        row = rows[symbol]
        day = state.base_24h[row] * price if venue == "coinbase" else state.quote_24h[row]
        assert price == pytest.approx(last[row], rel=EXACT), symbol
        assert volume == pytest.approx(day, rel=EXACT, abs=half(8)), symbol


@pytest.mark.parametrize("venue", [venue for venue, kind in pairs_of("instruments") if kind == "instruments"])
def test_contracts_are_the_worlds(first_minute: FirstMinute, venue: str) -> None:
    """What trades is what is listed, under its own base and quote. Aster lists its other books' markets nowhere."""
    world, view = first_minute.world, f"stg_{venue}__instruments"
    rows, listings = listed(world, venue, "perp"), world.universe.listings
    columns = columns_of(first_minute.warehouse, view)
    dated = () if venue in ("bitget", "mexc") else ("listed_ms",)  # of some or by another clock there
    more = [name for name in ("contract_size", "inverse", "settle", *dated) if name in columns]
    query = f"select {', '.join(['symbol', 'base_raw', 'quote', *more])} from {view} where status = 'trading'"
    found = {symbol: values for symbol, *values in first_minute.warehouse.rows(query)}
    expected = {symbol for symbol, row in rows.items() if venue != "aster" or not listings[row].group}
    assert {symbol for symbol in found if (venue, "perp", symbol) in world.universe.row} == expected
    for symbol in expected:
        one = listings[rows[symbol]]
        base = f"{one.group}:{one.base_raw}" if venue == "hyperliquid" and one.group else one.base_raw
        true = {"contract_size": one.contract_size, "inverse": one.inverse, "listed_ms": one.listed_ms,
                "settle": base if one.inverse else one.quote}  # fmt: skip
        assert found[symbol] == [base, one.quote, *(true[name] for name in more)], symbol


@pytest.mark.parametrize(("venue", "kind"), pairs_of("_bars"))
def test_closed_bars_are_the_worlds(first_minute: FirstMinute, venue: str, kind: str) -> None:
    """Some markets, from the busiest to the quietest: every figure of every closed minute, and the current one open."""
    world, warehouse = first_minute.world, first_minute.warehouse
    view, rows = f"stg_{venue}__{kind}", listed(world, venue, kind.removesuffix("_bars"))
    columns = columns_of(warehouse, view)
    volumes = [
        name
        for name in ("volume", "volume_contracts", "turnover", "taker_buy_turnover", "taker_buy_contracts")
        if name in columns
    ]
    symbols = [row[0] for row in warehouse.rows(f"select symbol from {view} group by 1 order by sum(close) desc, 1")]
    assert set(symbols) <= set(rows)
    for symbol in symbols[:: max(1, len(symbols) // 5)]:
        query = (
            f"select opened_ms, closed_ms, open, high, low, close, {', '.join(volumes)} from {view} where symbol = ?"
        )
        bars = warehouse.rows(f"{query} order by 1", [symbol])
        one = world.universe.listings[rows[symbol]]
        assert {end - start for start, end, *_ in bars} == {MINUTE - 1}
        assert (bars[-1][1] // MINUTE == NOW) == ((venue, kind) not in CLOSED_ALONE), symbol
        count = BARS.get((venue, kind), USUAL_BARS)
        closed = [start for start, end, *_ in bars if end < NOW_MS]
        assert closed == [at * MINUTE for at in range(NOW - count, NOW)], symbol
        true = world.bars(rows[symbol], bars[0][0] // MINUTE, NOW - bars[0][0] // MINUTE)
        for start, end, *prices_and_volumes in bars:
            if end >= NOW_MS:
                continue
            prices, traded = prices_and_volumes[:4], dict(zip(volumes, prices_and_volumes[4:], strict=True))
            n = start // MINUTE - true.first_minute
            ohlc = (true.open, true.high, true.low, true.close)
            assert prices == pytest.approx([part[0, n] for part in ohlc], rel=EXACT), symbol
            base, quote = float(true.volume[0, n]), float(true.quote_volume[0, n])
            size = one.contract_size
            counted = (quote if one.inverse else base) / size
            expected = {"volume": base, "volume_contracts": counted, "turnover": quote,
                        "taker_buy_turnover": quote * float(true.taker_buy[0, n]),
                        "taker_buy_contracts": counted * float(true.taker_buy[0, n])}  # fmt: skip
            for name, value in traded.items():
                if value is None and name.endswith("_contracts"):
                    assert not one.inverse, "counted in coins"
                    continue
                if value is None:
                    assert ("turnover" in name, one.inverse) == (True, True), "settled in coins: no turnover in USD"
                    continue
                # Volumes come in lots (OKX: eight decimals), or in whole contracts.
                lots = half(8 if venue == "okx" else one.lot_decimals)
                dollars = half(TURNOVER_DECIMALS.get((venue, kind), 8))
                if venue == "bybit" and one.inverse:
                    dollars = half(0)  # contracts of 1 USD
                least = {"volume": lots}.get(name, half(0) if name.endswith("_contracts") else dollars)
                assert value == pytest.approx(expected[name], rel=1e-12, abs=least), (symbol, name)


@pytest.mark.parametrize("venue", [venue for venue, _ in pairs_of("settlements")])
def test_settlements_are_the_worlds(first_minute: FirstMinute, venue: str) -> None:
    """Of each market without a hole, from the newest that is due; times may be some ms late."""
    world = first_minute.world
    found: dict[str, list[tuple[int, float]]] = {}
    query = f"select symbol, settled_ms, funding_rate from stg_{venue}__settlements order by 1, 2 desc"
    for symbol, at, rate in first_minute.warehouse.rows(query):
        assert at % HOUR < 100
        found.setdefault(symbol, []).append((at // HOUR * HOUR, rate))
    assert found
    for symbol, paid in found.items():
        assert len(paid) == SETTLED.get(venue, len(paid)), symbol
        true = settlements(world, world.universe.row[venue, "perp", symbol], NOW_MS, len(paid))
        assert [at for at, _ in paid] == [at for at, _, _ in true], symbol
        fine = half(SETTLED_DECIMALS[venue]) if venue in SETTLED_DECIMALS else 1e-12
        assert [rate for _, rate in paid] == pytest.approx([rate for _, rate, _ in true], rel=1e-12, abs=fine), symbol


@pytest.mark.parametrize(("venue", "kind"), [
    (venue, kind) for venue, kind in pairs_of("") if kind.startswith("long_short_")])  # fmt: skip
def test_shares_of_longs_are_the_worlds(first_minute: FirstMinute, venue: str, kind: str) -> None:
    """Of ten markets and bitcoin: shares with four decimals; Gate counts heads and contracts, each a whole number."""
    world, warehouse = first_minute.world, first_minute.warehouse
    symbols = [row[0] for row in warehouse.rows(f"select distinct symbol from stg_{venue}__{kind} order by 1")]
    for symbol in {*symbols[:: max(1, len(symbols) // 10)], *(one for one in symbols if one[:3] == "BTC")}:
        query = f"select t, long_fraction, period_ms from stg_{venue}__{kind} where symbol = ? order by 1"
        times, shares, periods = zip(*warehouse.rows(query, [symbol]), strict=True)
        count, newest = STATISTICS[venue]
        assert set(periods) == {5 * MINUTE}
        assert list(times) == [(NOW - newest - 5 * back) * MINUTE for back in reversed(range(count))], symbol
        row = np.array([world.universe.row[venue, "perp", symbol]])
        true = long_fraction(world, row, kind.removeprefix("long_short_"), np.array(times) // MINUTE)[0]
        fine = 0.5 / fewest_counted(first_minute, kind, symbol) if venue == "gate" else half(4)
        assert list(shares) == pytest.approx(true.tolist(), abs=fine), symbol


def fewest_counted(first_minute: FirstMinute, kind: str, symbol: str) -> int:
    """Of the users, accounts or contracts that Gate counts the longs and shorts of: the fewest of all times."""
    longs, shorts = GATE_COUNTS[kind]
    bodies = [row["body"] for row in first_minute.rows["gate"] if row["key"] == symbol and longs in row["body"]]
    return min(int(line[longs]) + int(line[shorts]) for body in bodies for line in json.loads(body))


@pytest.mark.parametrize("venue", [venue for venue, _ in pairs_of("taker_ratio")])
def test_taker_volumes_are_the_worlds(first_minute: FirstMinute, venue: str) -> None:
    """Of ten markets, in the unit that the venue counts."""
    world, warehouse = first_minute.world, first_minute.warehouse
    symbols = [row[0] for row in warehouse.rows(f"select distinct symbol from stg_{venue}__taker_ratio order by 1")]
    for symbol in symbols[:: max(1, len(symbols) // 10)]:
        query = f"select t, period_ms, unit, taker_buy, taker_sell from stg_{venue}__taker_ratio where symbol = ?"
        found = warehouse.rows(f"{query} order by 1", [symbol])
        row = world.universe.row[venue, "perp", symbol]
        [(period, unit)] = {line[1:3] for line in found}
        count = STATISTICS[venue][0]
        assert period == 5 * MINUTE
        assert [line[0] for line in found] == [(NOW - 5 * back) * MINUTE for back in range(count, 0, -1)], symbol
        flow = takers(world, np.array([row]), found[0][0] // MINUTE, len(found), period // MINUTE)
        one = world.universe.listings[row]
        size = one.contract_size if unit == "contracts" else 1.0
        quoted = unit == "usd" or (unit == "contracts" and one.inverse)
        bought, sold = (flow.buy_quote, flow.sell_quote) if quoted else (flow.buy, flow.sell)
        for column, true in ((3, bought), (4, sold)):
            # Whole contracts, four decimals, or Bitget's lots.
            lots = one.lot_decimals if venue == "bitget" else 4
            least = half(0 if unit == "contracts" else lots)
            expected = (true[0] / size).tolist()
            assert [line[column] for line in found] == pytest.approx(expected, rel=1e-12, abs=least), symbol


@pytest.mark.parametrize(("venue", "kind"), pairs_of("_books"))
def test_books_surround_the_last_price(first_minute: FirstMinute, venue: str, kind: str) -> None:
    world = first_minute.world
    rows, last = listed(world, venue, "perp" if kind == "order_books" else "spot"), world.last(NOW_MS)
    books = first_minute.warehouse.rows(f"select symbol, bids, asks from stg_{venue}__{kind}")
    assert books
    for symbol, bids, asks in books:
        assert bids[0][0] < asks[0][0] == pytest.approx(last[rows[symbol]], rel=EXACT), symbol
        assert [price for price, *_ in bids] == sorted((price for price, *_ in bids), reverse=True)
        assert [price for price, *_ in asks] == sorted(price for price, *_ in asks)
        assert min(size for _, size, *_ in [*bids, *asks]) > 0


@pytest.mark.parametrize("venue", [venue for venue, _ in pairs_of("index_components")])
def test_the_weights_of_an_index_are_those_of_its_coins_spot_markets(first_minute: FirstMinute, venue: str) -> None:
    world = first_minute.world
    query = f"select symbol, exchange, weight from stg_{venue}__index_components"
    found: dict[str, dict[str, float | None]] = {}
    for symbol, exchange, weight in first_minute.warehouse.rows(query):
        found.setdefault(symbol, {})[exchange] = weight
    assert found
    for symbol, weights in found.items():
        if venue == "mexc":  # it names the exchanges of an index, many of them, without weights
            assert set(weights.values()) == {None}
            continue
        row = world.universe.row[venue, "perp", symbol]
        true: dict[str, float | None] = {
            ALIASES.get(venue, {}).get(name, name): weight for name, _, _, weight in constituents(world, row, NOW)
        }
        assert set(weights) == set(true), symbol
        if venue == "gate":  # the exchanges of the coin's spot markets, without weights
            assert set(weights.values()) == {None}, symbol
            continue
        assert weights == pytest.approx(true, abs=EXACT), symbol
        assert sum(weight or 0 for weight in weights.values()) == pytest.approx(1, abs=EXACT), symbol


ALIASES = {"bitget": {"gate": "gateio"}}
SHOWN = {"aster": lambda one: not one.group, "gate": lambda one: not one.inverse}
# The quote of a liquidation in USD, as the venue counts sizes.
WORTH = {"binance": "coalesce(size * price, size_contracts * contract_size)",
         "bitget": "size_quote", "bybit": "coalesce(size * price, size_contracts)",
         "gate": "size_contracts * contract_size * price",
         "okx": "size_contracts * contract_size * if(inverse, 1, price)"}  # fmt: skip


@pytest.mark.parametrize("venue", [venue for venue, kind in pairs_of("liquidations") if kind == "liquidations"])
def test_liquidations_are_the_worlds(first_minute: FirstMinute, venue: str) -> None:
    """Those of the minute that the venue sends: whose, which side, and how much."""
    world, warehouse = first_minute.world, first_minute.warehouse
    simulated = next(one for one in SIMULATED_VENUES if one.venue == venue)
    window_ms = simulated.liquidation_window_ms or 0
    every = liquidations_of(world, venue, NOW, window_ms)
    sent = [one for one in every if venue not in SHOWN or SHOWN[venue](one.listing)]
    worth = WORTH.get(venue, "size * price")
    join = f" join stg_{venue}__instruments using (symbol)" if "contract_size" in worth else ""
    found = warehouse.rows(f"select ts, symbol, side, {worth} from stg_{venue}__liquidations{join} order by 1, 2, 3")
    expected = sorted(
        (one.ts, one.listing.symbol, "long" if one.long else "short", one.size * one.price, one.listing) for one in sent
    )
    assert expected
    assert [row[:3] for row in found] == [row[:3] for row in expected]
    for (*_, usd), (*_, true, one) in zip(found, expected, strict=True):
        # Binance, Bybit and OKX send whole contracts of coin-margined markets.
        contract = one.contract_size if venue in ("binance", "bybit", "okx") and one.inverse else 0
        assert usd == pytest.approx(true, rel=EXACT, abs=contract), one.symbol


BROKEN = {"cut off": '[{"symbol":"A","longAcc', "another format": "<html>"}


@pytest.fixture(scope="module")
def broken(tmp_path_factory: pytest.TempPathFactory) -> Warehouse:
    """The staging views over bodies that cannot be read, of every endpoint of every venue."""
    warehouse = seeded(tmp_path_factory.mktemp("broken"))
    asked = [(venue.name, endpoint.name) for venue in VENUES for endpoint in venue.endpoints]
    warehouse.build(
        [response(NOW * MINUTE, *names, body, key=key) for names in asked for key, body in BROKEN.items()], "raw_window"
    )
    return warehouse


@each_venue
def test_a_body_that_cannot_be_read_is_one_rejected_row_of_each_view(broken: Warehouse, venue: Venue) -> None:
    """Nothing is taken from it, and it is counted: by every view that reads the endpoint."""
    rejected: dict[str, list[str]] = {}
    for kind in views(venue.name):
        query = f"select endpoint, key, reject from stg_{venue.name}__{kind} order by 1, 2"
        for endpoint, key, reject in broken.rows(query):
            assert reject == "unreadable", (kind, endpoint, key)
            rejected.setdefault(f"{kind} of {endpoint}", []).append(key)
    assert rejected == {name: sorted(BROKEN) for name in rejected}
    assert {name.rpartition(" of ")[2] for name in rejected} == {endpoint.name for endpoint in venue.endpoints}


def truth(true: Chain, names: list[str]) -> dict[str, tuple[Any, ...]]:
    columns = (true.expiry_ms, true.strike, true.call, true.mark_iv, true.forward, true.price, true.open_interest,
               true.volume_24h, true.bid_iv)  # fmt: skip
    return dict(zip(names, zip(*(column.tolist() for column in columns), strict=True), strict=True))


@pytest.mark.parametrize(("venue", "module"), [("binance", binance_options), ("bybit", bybit_options)],
                         ids=["binance", "bybit"])  # fmt: skip
def test_option_chains_are_the_worlds(first_minute: FirstMinute, venue: str, module: Any) -> None:
    """What two venues quote alike, an option at a time: volatilities, the forward, prices in coins, contracts."""
    warehouse, world = first_minute.warehouse, first_minute.world
    for coin in ("BTC", "ETH"):
        true = chain(world, venue, coin, NOW, module.HELD[coin])
        expected = truth(true, module.instruments(true))
        found = warehouse.rows(
            f"""select instrument, expiry_ms, strike, option_type, mark_iv, bid_iv, forward, mark_price_coins
                from stg_{venue}__option_tickers where coin = '{coin}'"""
        )
        assert {row[0] for row in found} == set(expected)
        for name, expiry, strike, kind, iv, bid_iv, forward, coins in found:
            reported = expected[name]
            assert (expiry, strike, kind) == (reported[0], reported[1], "call" if reported[2] else "put")
            assert iv == pytest.approx(reported[3], abs=6e-5)
            assert forward == pytest.approx(reported[4], abs=0.002)
            assert coins * forward == pytest.approx(max(reported[5], 0), abs=0.11)
            assert bid_iv is None or bid_iv == pytest.approx(reported[8], abs=6e-5)
        index = f"select index_price from stg_{venue}__option_index where coin = '{coin}'"
        assert warehouse.rows(index) == [(pytest.approx(true.index, abs=1e-7),)]
        source = f"stg_{venue}__option_" + ("open_interest" if venue == "binance" else "tickers")
        held = dict(warehouse.rows(f"select instrument, open_interest_coins from {source}"))
        assert {name: held[name] for name in expected} == pytest.approx(
            {name: reported[6] for name, reported in expected.items()}, abs=0.006
        )
        source = f"stg_{venue}__option_" + ("volumes" if venue == "binance" else "tickers")
        traded = dict(warehouse.rows(f"select instrument, volume_coins from {source}"))
        assert {name: traded[name] for name in expected} == pytest.approx(
            {name: reported[7] for name, reported in expected.items()}, abs=0.006
        )
