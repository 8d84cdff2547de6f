"""A small real replica for tests: the tables of a published edition with deterministic, hand-checkable data.

Every tier is made from one formula per market and time, so a test can compute any served number by itself.
"""

import json
import shutil
import time
from pathlib import Path

import duckdb

from orchestration.publish.definitions import read_written
from orchestration.publish.replica import BASE_KEY, number_coins
from tests.support.pipeline.shared import shared
from tests.support.replica.replica_snapshots import build_snapshots, tables_of
from tests.support.replica.replica_statistics import build_statistics

AS_OF_MS = 1_781_526_896_789  # 2026-06-15 12:34:56.789 UTC
DAY = 86_400_000
# step, width, how many days of it the replica holds, keep_days
TIERS = (
    ("1m", 60_000, 3, 7),
    ("5m", 300_000, 8, 30),
    ("15m", 900_000, 20, None),
    ("1h", 3_600_000, 90, None),
    ("4h", 14_400_000, 200, None),
    ("1d", DAY, 1000, None),
    ("3d", 3 * DAY, 3000, None),
)
# venue, type, symbol, base, hip3, aggregated, price level
MARKETS = (
    ("binance", "perp", "BTCUSDT", "BTC", False, True, 60_000.0),
    ("binance", "perp", "BTCUSDC", "BTC", False, True, 60_030.0),
    ("binance", "spot", "BTCUSDT", "BTC", False, True, 59_980.0),
    ("bybit", "perp", "BTCUSDT", "BTC", False, True, 60_010.0),
    ("hyperliquid", "perp", "BTC", "BTC", False, True, 60_020.0),
    ("binance", "perp", "ETHUSDT", "ETH", False, True, 3_000.0),
    ("binance", "spot", "ETHUSDT", "ETH", False, True, 2_999.0),
    ("bybit", "perp", "ETHUSDT", "ETH", False, True, 3_001.0),
    ("binance", "perp", "1000PEPEUSDT", "PEPE", False, True, 0.0000123),
    ("hyperliquid", "perp", "kPEPE", "PEPE", False, True, 0.0000124),
    ("hyperliquid", "perp", "xyz:TSLA", "xyz:TSLA", True, False, 300.0),
)
# They have their columns from the dbt project alone.


CATALOG = read_written()
MINUTE = 60_000
LAST = AS_OF_MS - AS_OF_MS % MINUTE
# start, end, venue, endpoint, reason: an outage seen by two endpoints, outages that touch, and one of the recorder
GAPS = (
    (LAST - 300 * MINUTE, LAST - 290 * MINUTE, "binance", "perp_tickers", "venue_unreachable"),
    (LAST - 295 * MINUTE, LAST - 285 * MINUTE, "binance", "spot_tickers", "venue_error"),
    (LAST - 285 * MINUTE, LAST - 280 * MINUTE, "binance", "spot_tickers", "venue_error"),
    (LAST - 200 * MINUTE, LAST - 199 * MINUTE, "bybit", "liquidations", "partial"),
    (LAST - 400 * MINUTE, LAST - 395 * MINUTE, "okx", "long_short_accounts", "venue_error"),
    (LAST - 390 * MINUTE, LAST - 385 * MINUTE, "bybit", "long_short_accounts", "venue_error"),
    (LAST - 380 * MINUTE, LAST - 375 * MINUTE, "binance", "long_short_top_accounts", "partial"),
    (LAST - 370 * MINUTE, LAST - 368 * MINUTE, "bybit", "order_books", "venue_unreachable"),
    (LAST - 100 * MINUTE, LAST - 90 * MINUTE, None, None, "recorder_down"),
    (LAST - 90 * MINUTE, LAST - 89 * MINUTE, None, None, "recorder_down"),
)

# One market's values in the bucket that starts at t. i is the market's number. Unknown now and then, by design.
MARKET_SQL = """
create table series_market_{step} as
select t, market_id, venue, type, symbol, base, {key} as base_key, 'USDT' as quote, hip3, aggregated,
    case when (t // {ms} + i) % 41 <> 0 then level * (1 + sin(t / 1e8 + i) / 20) end as price,
    case when (t // {ms} + i) % 43 <> 0 then level * (1 + sin(t / 1e8 + i) / 20) end as open,
    open * (1 + (t // {ms} + i) % 5 / 100) as high, open * (1 - (t // {ms} + i) % 3 / 100) as low,
    (high + low) / 2 as close,
    1e6 * (i + 1) as vol24h_usd,
    case when (t // {ms} + i) % 37 <> 0 then 1000.0 * (1 + (t // {ms} + i) % 97) end as volume_usd,
    400.0 as taker_buy_usd, 600.0 as taker_sell_usd,
    case when type = 'perp' then 1e7 * (i + 1) * (1 + cos(t / 1e9 + i) / 10) end as oi_usd,
    case when type = 'perp' then 100.0 end as oi_base,
    case when type = 'perp' and (t // {ms} + i) % 29 <> 0 then 1e-4 * sin(t / 1e8 + i) end as funding_8h,
    ({ms} // 60000)::integer as funding_n,
    case when type = 'perp' and venue <> 'hyperliquid' then (t // {ms} + i) % 3 * 100.0 end as liq_long_usd,
    case when type = 'perp' and venue <> 'hyperliquid' then (t // {ms} + i) % 4 * 100.0 end as liq_short_usd,
    if(volume_usd is null, 0, {ms} // 60000)::integer as volume_n,
    if(open is null, 0, {ms} // 60000)::integer as candle_n,
    if(liq_long_usd is null, 0, {ms} // 60000)::integer as liq_n,
    if(t < {since}, 'backfilled', 'recorded') as source,
    t + {ms} as known_ms, t + {ms} + 60000 as bar_known_ms, null::struct(until_ms bigint)[] as earlier
from range({lo}, {hi}, {ms}) as buckets(t), market_list
where (t // {ms}) % 53 <> 0
order by base, market_id, t
"""
ACROSS_SQL = """
    sum(price * vol24h_usd) / sum(vol24h_usd) filter (price is not null) as price,
    sum(volume_usd) as volume_usd, sum(taker_buy_usd) as taker_buy_usd, sum(taker_sell_usd) as taker_sell_usd,
    sum(oi_usd) as oi_usd,
    sum(funding_8h * oi_usd) / sum(oi_usd) filter (funding_8h is not null) as funding_8h,
    sum(liq_long_usd) as liq_long_usd, sum(liq_short_usd) as liq_short_usd, count(*)::integer as n_markets,
    count(price)::integer as n_price, count(oi_usd)::integer as n_oi,
    count(*) filter (funding_8h is not null and oi_usd is not null)::integer as n_funding,
    count(*) filter (volume_n = {ms} // 60000)::integer as n_volume,
    count(*) filter (volume_n = {ms} // 60000 and taker_buy_usd is not null)::integer as n_taker,
    count(*) filter (liq_n = {ms} // 60000)::integer as n_liquidations,
    if(min(source) = max(source), min(source), 'mixed') as source
from series_market_{step} where aggregated
"""
# What a market's rows have, by the families of metrics that markets are expected of.
FAMILIES = (
    "if(type = 'spot', ['price', 'volume', 'candles', 'taker'], "
    "['price', 'volume', 'candles', 'taker', 'oi', 'funding', 'liquidations'])"
)
# Of one coin alone, so that the series of others have no gaps but GAPS. One of its markets was listed two days ago,
# another was delisted a day ago.
EXPECTED_SQL = f"""
create table expected_markets as
select market_id, venue, type, base, {FAMILIES} as families,
    if(venue = 'bybit', {{as_of}} - 172800000, 0) as from_ms, if(type = 'spot', {{as_of}} - 86400000, null) as to_ms
from market_list where base = 'ETH'
"""
BASE_SQL = f"""
create table series_base_{{step}} as
select t, base, case when grouping(type) = 0 then type else 'all' end as type, {BASE_KEY} as base_key, {ACROSS_SQL}
group by grouping sets ((t, base, type), (t, base))
order by base_key, base, type, t
"""
VENUE_SQL = f"""
create view series_venue_{{step}} as
select t, base, type, venue, {ACROSS_SQL} group by t, base, type, venue
union all select t, base, 'all' as type, venue, {ACROSS_SQL} group by t, base, venue
"""
# Rows as they were known: of 5 minutes, each when its bucket had ended, its volume and candle a minute later.
KNOWN_SQL = f"""
create view known_market as
select * exclude (base_key)
    replace (
        if(bar_known_ms <= getvariable('asked_known_at_ms'), volume_usd, null) as volume_usd,
        if(bar_known_ms <= getvariable('asked_known_at_ms'), open, null) as open,
        if(bar_known_ms <= getvariable('asked_known_at_ms'), high, null) as high,
        if(bar_known_ms <= getvariable('asked_known_at_ms'), low, null) as low,
        if(bar_known_ms <= getvariable('asked_known_at_ms'), close, null) as close
    )
from series_market_5m
where known_ms <= getvariable('asked_known_at_ms') and base = getvariable('asked_base')
    and t >= getvariable('asked_from_ms') and t < getvariable('asked_to_ms');
create view known_base as select t, base, if(grouping(type) = 0, type, 'all') as type, {ACROSS_SQL}
group by grouping sets ((t, base, type), (t, base));
create view known_venue as select t, base, if(grouping(type) = 0, type, 'all') as type, venue, {ACROSS_SQL}
group by grouping sets ((t, base, venue, type), (t, base, venue));
""".replace("series_market_{step}", "known_market").format(ms=300_000)
# Ratios of the venues that publish them: Bybit publishes accounts only, and no venue publishes 1-minute buckets.
RATIO_SQL = """
create table series_ratios_{step} as
select t, market_id, venue, base, aggregated,
    case when (t // {ms} + length(market_id)) % 31 <> 0 then 0.5 + sin(t / 1e8 + length(market_id)) / 5 end as accounts,
    case when venue = 'binance' and t // {ms} % 23 <> 0 then 0.5 + cos(t / 1e8) / 5 end as top_acct,
    case when venue = 'binance' then 0.5 + cos(t / 2e8) / 5 end as top_pos,
    oi_usd,
    case when venue = 'binance' then 2 + sin(t / 2e8) end as taker_buy_size,
    case when venue = 'binance' then 2 + cos(t / 2e8) end as taker_sell_size
from series_market_{step} where type = 'perp' and venue in ('binance', 'bybit')
order by base, market_id, t
"""
VENUE_RATIO_SQL = """
create view series_venue_ratios_{step} as
select t, base, venue, sum(accounts * oi_usd) / sum(oi_usd) filter (accounts is not null) as accounts,
    sum(top_acct * oi_usd) / sum(oi_usd) filter (top_acct is not null) as top_acct,
    sum(top_pos * oi_usd) / sum(oi_usd) filter (top_pos is not null) as top_pos,
    sum(oi_usd) filter (accounts is not null) as oi_usd, sum(taker_buy_size) as taker_buy_size,
    sum(taker_sell_size) as taker_sell_size
from series_ratios_{step} where aggregated group by t, base, venue
"""
DEPTH_SQL = """
create table series_depth_{step} as
select t, market_id, venue, base, aggregated, 1e6 * (1 + t // {ms} % 7) as bid_usd, 1e6 * (1 + t // {ms} % 5) as ask_usd
from series_market_{step} where market_id in ('binance:perp:BTCUSDT', 'bybit:perp:BTCUSDT')
order by base, market_id, t
"""
MARKETS_SQL = """
create table markets as
select base, count(*)::integer as markets, count(*)::integer + (base = 'PEPE')::integer as expected,
    sum(vol24h) filter (type = 'perp') as perp_vol24h, sum(vol24h) filter (type = 'spot') as spot_vol24h,
    sum(oi) as oi_usd, 1e-4 as funding_avg, list(distinct venue order by venue) as venues, bool_and(hip3) as hip3,
    ['layer-1'] as cat, 1e-2 as oi_1h, null::double as oi_4h, 3e-2 as oi_24h, 2e-5 as funding_spread,
    coalesce(list(entry order by oi desc) filter (type = 'perp'), []) as perps,
    coalesce(list(entry order by vol24h desc) filter (type = 'spot'), []) as spots
from (
    select *, {'venue': venue, 'symbol': symbol, 'quote': 'USDT', 'price': level, 'vol24h': vol24h, 'funding': funding,
        'oi_usd': oi, 'px_1h': 1e-2, 'px_4h': null::double, 'px_24h': -2e-2, 'oi_1h': null::double,
        'oi_4h': null::double, 'oi_24h': null::double, 'url': 'https://example.org/' || symbol, 'hip3': hip3} as entry
    from (select *, 1e6 * (i + 1) as vol24h, case when type = 'perp' then 1e7 * (i + 1) end as oi,
        case when type = 'perp' then 1e-4 end as funding from market_list)
)
group by base
"""
# Liquidations of a coin and of all, ratios with and without a change, a contract, one that lacks an anchor, movers.
LIVE_SQL = """
insert into liquidations by name
select base, {as_of} - 86400000 as since,
    {{'1h': one, '4h': one, '12h': one, '24h': {{'long': 5.0, 'short': 7.0, 'count': 2}}}} as totals,
    map {{'binance': {{'long': 5.0, 'short': 7.0, 'count': 2}}}} as by_venue,
    if(base is null, [{{'base': 'BTC', 'markets': 2, 'expected': 3, '1h': two, '4h': two, '12h': two,
        '24h': two}}], null) as coins,
    [{{'ts': {as_of} - 60000, 'venue': 'binance', 'symbol': 'BTCUSDT', 'base': 'BTC', 'side': 'long', 'usd': 5.0,
        'price': 60000.0}}] as biggest, biggest as recent,
    if(base is null, [{{'t': {as_of} // 3600000 * 3600000, 'long': 5.0, 'short': null}}], null) as timeline
from (
    select unnest(['BTC', null]) as base, {{'long': 0.0, 'short': 7.0, 'count': 1}} as one,
        {{'long': 0.0, 'short': 7.0}} as two);
insert into long_short by name
select 'BTC' as base, {{'symbol': 'BTCUSDT', 'long': 0.6, 'ts': {as_of} // 300000 * 300000, 'chg_1h': 0.01,
    'chg_4h': -0.02, 'chg_24h': null}} as binance_accounts;
insert into oi_acceleration by name
select *, [{as_of} - 7200000, {as_of} - 3600000, {as_of}] as targets_ms from (
    select 'binance:perp:BTCUSDT' as market_id, 'binance' as venue, 'BTCUSDT' as symbol, 'BTC' as base,
        0.1 as previous_fraction, 0.2 as recent_fraction, 10.0 as acceleration_pp, 1e6 as previous_usd,
        2e6 as recent_usd,
        5e7 as oi_usd, [{as_of} - 7200000, {as_of} - 3600000, {as_of}] as anchors_ms, null as reason
    union all
    select 'bybit:perp:BTCUSDT', 'bybit', 'BTCUSDT', 'BTC', null, null, null, null, null, 4e7, null, 'missing_anchor');
insert into market_movers by name
select section, {as_of} as as_of, unit, if(section = 'funding', 'not observed', null) as unavailable, null as note,
    if(section = 'funding', [], rows) as up, if(section in ('funding', 'liquidations'), null, rows) as down
from (values ('price', 'fraction'), ('oi', 'fraction'), ('long_short', 'fraction'), ('funding', 'fraction_per_8h'),
    ('liquidations', 'usd')) as sections(section, unit),
    (select [{{'base': 'BTC', 'venue': 'binance', 'symbol': 'BTCUSDT', 'value': 0.1,
        'coin_url': '/api/coin/BTC'}}] as rows);
"""
TABLES_SQL = """
create table market_list (i int, venue text, type text, symbol text, base text, hip3 bool, aggregated bool,
    level double, market_id text);
create table market_index (market_id text, venue text, type text, symbol text, base text, quote text, hip3 bool,
    aggregated bool, first_ms bigint, last_ms bigint);
create table gaps (start_ms bigint, end_ms bigint, venue text, endpoint text, reason text);
create table recording_status (venue text, last_good_ms bigint, last_error text, last_error_ms bigint,
    ok_endpoints int, failed_endpoints int);
create table market_losses (venue text, type text, family text, endpoint text, start_ms bigint, end_ms bigint,
    markets int, lost int, missing int, examples text[]);
create table suspect_rows ("check" text, market_id text, venue text, from_ms bigint, to_ms bigint, value text,
    expected text, seen_ms bigint);
create table quarantined_bodies (quarantine_id bigint, state text, tick_ms bigint, venue text, endpoint text,
    key text, requested_ms bigint, load_id text, bytes bigint, models text, error text, alone bool,
    set_aside_ms bigint);
create table upgrade_days (day_ms bigint, begin_ms bigint, next_ms bigint, end_ms bigint, models text[],
    from_version text, started_ms bigint, finished_ms bigint, error text);
create table landed_files (load_id text, file text, first_ms bigint, last_ms bigint);
create table edition (edition_id bigint, as_of_ms bigint, published_ms bigint, recorded_since_ms bigint,
    build_id bigint);
create table catalog (metric text, definition json);
create table tiers (step text, step_ms bigint, keep_days int);
create table base_keys (base text, base_key uinteger);
create table table_states (name text, state text);
"""
LEVERAGED = "gate:spot:BTC3L_USDT"
"""A structured token: a market that has its own series and is of no coin."""
STRUCTURED_SQL = f"""
insert into market_index by name
select market_id, venue, type, symbol, base, quote, hip3, aggregated, tick_ms as first_ms, tick_ms as last_ms
from market_register where market_id = '{LEVERAGED}'
"""

DECLARED = {
    "live": ("liquidations", "long_short", "oi_acceleration", "market_movers"),
    "funding": ("funding_percentiles", "funding_persistence"),
    "indices": ("altcoin_season", "altcoin_season_coins", "fear_greed"),
    "series": ("minute_files",),
    "spikes": ("spikes", "spike_outcomes", "spike_stats"),
}


def build_replica(path: Path, edition_id: int, as_of_ms: int = AS_OF_MS, max_days: int = 3000) -> None:
    """Write a whole replica file as the publisher leaves it, with at most `max_days` of history. Built once in a
    run."""
    with shared("replicas") as folder:
        built = folder / f"{as_of_ms}_{max_days}.duckdb"
        if not built.exists():
            _build(built.with_suffix(".new"), as_of_ms, max_days)
            built.with_suffix(".new").rename(built)
    shutil.copyfile(built, path)
    with duckdb.connect(str(path)) as con:
        con.execute("update edition set edition_id = ?", [edition_id])
        con.execute("update table_states set state = ? where starts_with(name, 'series_')", [f"build {edition_id}"])


def _build(path: Path, as_of_ms: int, max_days: int) -> None:
    with duckdb.connect(str(path)) as con:
        con.execute("set threads = 1")
        con.execute("begin")
        declared = (tables_of(f"{folder}/_{folder}.yml", *names) for folder, names in DECLARED.items())
        con.execute(TABLES_SQL + "".join(declared))
        rows = [(i, *market, ":".join(market[:3])) for i, market in enumerate(MARKETS)]
        con.executemany("insert into market_list values (?, ?, ?, ?, ?, ?, ?, ?, ?)", rows)
        for step, ms, days, _ in TIERS:
            bounds = {
                "step": step,
                "ms": ms,
                "key": BASE_KEY,
                "since": as_of_ms - 3 * DAY,
                "lo": (as_of_ms - min(days, max_days) * DAY) // ms * ms,
                "hi": as_of_ms,
            }
            con.execute(MARKET_SQL.format(**bounds))
            con.execute(BASE_SQL.format(**bounds))
            con.execute(VENUE_SQL.format(**bounds))
            if step != "1m":
                for sql in (RATIO_SQL, VENUE_RATIO_SQL, DEPTH_SQL):
                    con.execute(sql.format(**bounds))
        con.execute(KNOWN_SQL)
        con.execute(MARKETS_SQL)
        con.execute(EXPECTED_SQL.format(as_of=as_of_ms))
        con.execute(LIVE_SQL.format(as_of=as_of_ms))
        con.execute(
            "insert into market_index select market_id, venue, type, symbol, base, 'USDT', hip3, aggregated, ?, ?"
            " from market_list",
            [as_of_ms - 3000 * DAY, as_of_ms],
        )
        con.executemany("insert into gaps values (?, ?, ?, ?, ?)", GAPS)
        minute = as_of_ms - as_of_ms % MINUTE
        con.executemany("insert into recording_status values (?, ?, ?, ?, ?, ?)", [
            ("binance", minute, None, None, 8, 0),
            ("bybit", minute - 5 * MINUTE, "503 Service Unavailable", minute, 2, 4),
            ("hyperliquid", minute, None, None, 4, 0),
        ])  # fmt: skip
        con.executemany("insert into market_losses values ('bybit', 'perp', ?, 'perp_tickers', ?, ?, 250, 249, ?, ?)", [
            ("price", minute, None, 249, ["bybit:perp:BTCUSDT"]),
            ("oi", minute - MINUTE, minute, 0, None),
        ])  # fmt: skip
        con.executemany("insert into suspect_rows values (?, ?, ?, ?, ?, ?, ?, ?)", [
            ("minutes_in_range", f"binance:perp:{symbol}", "binance", minute - MINUTE, minute, "-5", "> 0", minute)
            for symbol in ("BTCUSDT", "ETHUSDT")
        ])  # fmt: skip
        con.executemany(
            "insert into quarantined_bodies values (?, ?, ?, 'kucoin', 'perp_bars', ?, ?, '1.5', 80, 'staged_bars', ?, "
            "true, ?)",
            [
                (number, state, minute, symbol, minute, f"Conversion Error: {symbol}", minute + number)
                for number, state, symbol in ((1, "set aside", "XBT"), (2, "retrying", "ETH"), (3, "dropped", "X"))
            ],
        )
        today = as_of_ms - as_of_ms % DAY
        con.executemany(
            "insert into upgrade_days values (?, ?, ?, ?, ?, ?, ?, ?, ?)",
            [
                (day, day, next_ms, day + DAY, ["int_market_minutes", "series_market_1m"], "0.1.0", minute, done, error)
                for day, next_ms, done, error in (
                    (today - DAY, today, minute, None),
                    (today - 2 * DAY, today - 2 * DAY + DAY // 2, None, None),
                    (today - 3 * DAY, today - 3 * DAY, None, "the committed landing file a.parquet is missing"),
                )
            ],
        )
        con.execute("insert into landed_files values ('1.5', '2026-06-15/1.5.x.parquet', 0, ?)", [as_of_ms])
        con.execute("insert into edition values (0, ?, ?, ?, 1)", [as_of_ms, as_of_ms + 5_000, as_of_ms - 3 * DAY])
        con.executemany("insert into catalog values (?, ?)", [(name, json.dumps(d)) for name, d in CATALOG.items()])
        con.executemany("insert into tiers values (?, ?, ?)", [(step, ms, keep) for step, ms, _, keep in TIERS])
        con.execute("drop table market_list")
        build_snapshots(con, as_of_ms)
        build_statistics(con, as_of_ms)
        con.execute(STRUCTURED_SQL)
        con.execute("insert into table_states select table_name, 'as built' from duckdb_tables()")
        number_coins(con, "market_index")
        con.execute("commit")


def publish(serving: Path, edition_id: int, as_of_ms: int = AS_OF_MS, max_days: int = 3000) -> Path:
    """Publish an edition into the replica that nobody reads, then flip the pointer. Returns the file."""
    serving.mkdir(parents=True, exist_ok=True)
    path = serving / f"replica_{'ab'[edition_id % 2]}.duckdb"
    fresh = serving / f"edition_{edition_id}.duckdb"
    build_replica(fresh, edition_id, as_of_ms, max_days)
    wait_for_lock(path)
    fresh.replace(path)
    pointer = {"replica": path.name, "edition_id": edition_id, "as_of_ms": as_of_ms, "published_ms": as_of_ms + 5_000}
    write_pointer(serving, json.dumps(pointer))
    return path


def write_pointer(serving: Path, text: str) -> None:
    """Write current.json as the publisher does: atomically."""
    partial = serving / "current.json.new"
    partial.write_text(text)
    partial.replace(serving / "current.json")


def wait_for_lock(path: Path, deadline_s: float = 30) -> None:
    """Wait until nobody reads the replica: as the publisher, who opens it for writing, has to."""
    end = time.monotonic() + deadline_s
    while path.exists():
        try:
            duckdb.connect(str(path)).close()
            return
        except duckdb.IOException:
            if time.monotonic() > end:
                raise
            time.sleep(0.05)
