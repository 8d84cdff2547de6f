"""The snapshot tables of a small replica, for `replica`: rows whose served numbers follow by hand."""

from functools import cache
from pathlib import Path

import duckdb
import yaml

from orchestration.publish.methodology import STATE as METHODOLOGY

MINUTE, HOUR, DAY = 60_000, 3_600_000, 86_400_000
SQL = """
create table order_book_depth as
select venue, symbol, venue || ':perp:' || symbol as market_id, base, $last as requested_ms, $last - back as book_ms,
    coalesce(back > 0, true) as failed, oi_usd, level::double as mid,
    if(level is null, null, [{band_pct: 0.1::double, bid_usd: 600.0::double, ask_usd: 400.0::double,
        total_usd: 1000.0::double, bid_truncated: false, ask_truncated: true}]) as depth,
    0.2::double as imbalance, 1e0 as imbalance_range_pct, 3.5::double as cost_buy_bps, false as cost_buy_truncated,
    4.5::double as cost_sell_bps, true as cost_sell_truncated, 500::bigint as levels
from (values
    ('binance', 'BTCUSDT', 'BTC', 5e6, 60000.0, 0), ('binance', 'ETHUSDT', 'ETH', 7e6, 3000.0, 120000),
    ('binance', 'OLDUSDT', 'OLD', 9e6, 1.0, 660000), ('bybit', 'BTCUSDT', 'BTC', 2e6, 60010.0, 0),
    ('bybit', 'BBBUSDT', 'BBB', 2e6, 2.0, 0), ('bybit', 'NEWUSDT', null, null, null, null)
) as books(venue, symbol, base, oi_usd, level, back);

create table order_book_levels as
select market_id, venue, symbol, base, book_ms, mid, 0.02::double as bid_reach_pct, 0.01::double as ask_reach_pct,
    [{away_pct: 0.01::double, bid_usd: 300.0::double, ask_usd: 400.0::double},
        {away_pct: 0.02::double, bid_usd: 600.0::double, ask_usd: null::double}] as levels
from order_book_depth where book_ms is not null;

create table venue_totals (venue varchar, name varchar, observed_ms bigint, oi_usd double, vol24h_usd double,
    oi_partial boolean, n_markets integer);
insert into venue_totals values
    ('hyperliquid', 'Hyperliquid', $last, 600.0, 300.0, false, 3),
    ('aster', 'Aster', $last - 600000, 100.0, 700.0, true, 5),
    ('binance', 'Binance', $last, 9000.0, 9000.0, false, 500);

create table listings as
select venue || ':perp:' || symbol as market_id, venue, symbol, base,
    if(base in ('PEND', 'PEPE'), 'prelaunch', 'trading') as status,
    $as_of - (age * 86400000)::bigint as listed_ms, null::bigint as delisted_ms, first_open::double as first_open
from (values
    ('binance', 'BTCUSDT', 'BTC', 10.0, 50000.0), ('binance', 'GONEUSDT', 'GONE', 10.0, 2.0),
    ('bybit', 'ETHUSDT', 'ETH', 29.5, 3000.0), ('binance', 'ETHUSDT', 'ETH', 60.25, null),
    ('bybit', 'BTCUSDT', 'BTC', 91.0, 1.0), ('binance', 'SOONUSDT', 'SOON', -1.0, null),
    ('gate', 'X_USDT', 'X', 1.0, 1.0), ('binance', 'PENDUSDT', 'PEND', 5.0, null),
    ('binance', '1000PEPEUSDT', 'PEPE', 80.0, null)
) as listed(venue, symbol, base, age, first_open);

create table premiums (exchange varchar, base varchar, t bigint, minute_ms bigint, price double, reference_price double,
    usdt_price double, usd_rate double, rate_source varchar, rate_ms bigint, premium double, premium_usdt double,
    gap double, source varchar, tick_ms bigint);
-- Hour n before the newest: 1 + n / 1000 percent on one exchange; the other one, and every seventh hour, are unknown.
insert into premiums
select exchange, base, t, t + 3540000, 1430.0, 1.0, 1400.0, 1400.0, 'bank', $last - 7200000,
    1 + n / 1000, if(exchange = 'bithumb', null, 2.0), n, 'minutes', t
from (select range as n, $last - $last % 3600000 - range * 3600000 as t from range(0, 10000)),
    (values ('upbit', 'BTC'), ('bithumb', 'BTC'), ('upbit', 'PEPE'), ('coinbase', 'BTC')) as covered(exchange, base)
where (t // 3600000) % 7 <> 0 and (exchange <> 'bithumb' or n < 3);

create table liquidation_events (ts bigint, venue varchar, symbol varchar, base varchar, side varchar, usd double,
    price double);
create table wallet_liquidations (venue varchar, symbol varchar, coin varchar, t bigint, tid varchar, wallet varchar,
    role varchar, side varchar, usd double, price double, tick_ms bigint);
insert into wallet_liquidations
select 'hyperliquid', coin, coin, $as_of - back, tid, '0x' || tid, 'victim', side, usd, 2.0, $last
from (values
    ('BTC', 1, 'long', 100.0, '1'), ('BTC', 7200000, 'short', 50.0, '2'), ('ETH', 7200000, 'long', 150.0, '3'),
    ('SOL', 86400000, 'long', 10.0, '4'), ('SOL', 86400001, 'short', 1000.0, '5')
) as events(coin, back, side, usd, tid);
"""

# Columns as the dbt project has them; a coin's options in two expiries, one of them without a smile.
OPTIONS_SQL = """
insert into option_coins by name
select 'BTC' as coin, $as_of - 300000 as as_of_ms, ['deribit', 'okx'] as venues, 60000.0 as spot, 15.0 as call_oi,
    12.0 as put_oi, 0.8 as pcr_oi, null as pcr_vol, 1.62e6 as notional_usd, 0.5 as atm_iv, 0.45 as call25_iv,
    0.6 as put25_iv, -0.15 as rr25, 0.025 as fly25;
insert into option_expiries by name
select 'BTC' as coin, $as_of + days * 86400000 as expiry_ms, expiry, kind, $as_of - 300000 as as_of_ms,
    ['deribit', 'okx'] as venues, pain as max_pain,
    if(pain is null, map {}, map {'deribit': pain}) as max_pain_by_venue, 15.0 as call_oi, 12.0 as put_oi,
    0.8 as pcr_oi, null as pcr_vol, 60000.0 as spot, 1.62e6 as notional_usd, kind = 'day' as partial, days,
    60100.0 as forward, iv as atm_iv, iv - 0.05 as call25_iv, iv + 0.1 as put25_iv, -0.15 as rr25, 0.025 as fly25,
    if(iv is null, map {}, map {'deribit': iv}) as atm_iv_by_venue,
    [{'venue': 'okx', 'reason': if(iv is null, 'no_forward', 'deltas_not_listed')}] as excluded
from (values (30.0, '2026-07-15', 'quarter', 55000.0, 0.5), (1.0, '2026-06-16', 'day', null, null))
    as listed(days, expiry, kind, pain, iv);
insert into option_strikes by name
select 'BTC' as coin, $as_of + 30.0 * 86400000 as expiry_ms, '2026-07-15' as expiry, strike, iv,
    ['deribit', 'okx'] as venues, if(iv is null, map {}, map {'deribit': iv}) as iv_by_venue, call_oi, put_oi,
    2.0 as call_volume, null as put_volume, put_oi is null as partial
from (values (50000.0, 0.7, 1.0, 5.0), (60000.0, 0.5, 9.0, 7.0), (75000.0, null, 5.0, null))
    as listed(strike, iv, call_oi, put_oi);
"""
# Two compared days of Binance, one of Bybit.
ACCURACY_SQL = """
insert into accuracy by name
select $day - back * 86400000 as t, venue, metric, 24 as n,
    if(venue = 'bybit', 0.03, 0.001) as median_difference, 0.01 as allowed_difference, 0.01 as p99_difference,
    0.02 as worst_difference, venue || ':perp:BTCUSDT' as worst_market_id, $day - back * 86400000 + 3600000 as worst_ms,
    102.0 as worst_served, 100.0 as worst_published, 3 as minutes_missing, $last as fetched_ms, $last as tick_ms
from (values (0, 'binance', 'price'), (0, 'binance', 'volume'), (0, 'bybit', 'funding'),
    (0, 'bybit', 'volume'), (7, 'binance', 'price'))
    as compared(back, venue, metric);
"""
# Two judged days; on the later one two perps, of which one was scored for one horizon alone.
RISK_SQL = """
insert into heatmap_verdicts by name
select unnest(range($day - 86400000, $day + 1, 86400000)) as day_ms, horizon_h, '2026-06-13' as day, 31 as sample,
    6 as days, $day - 5 * 86400000 as from_ms, 0.5 as rho_model, 0.4 as rho_base, 0.3 as hit_model, 0.1 as hit_base,
    0.1 as difference, 0.05 as difference_low, 0.2 as difference_high,
    if(horizon_h = 4, 'better', 'worse') as verdict, $last as tick_ms
from (select unnest([4, 24]) as horizon_h);
insert into liquidation_map_scores by name
select $day + hour * 3600000 as frozen_ms, horizon_h, 'binance:perp:' || base || 'USDT' as market_id, base, state,
    20 as bins, 100.0 as liquidated_usd, rho as rho_model, 0.4 as rho_base, 0.3 as hit_model, 0.1 as hit_base,
    $last as tick_ms
from (values (0, 4, 'BTC', 'scored', 0.2), (1, 4, 'BTC', 'scored', 0.4), (2, 4, 'BTC', 'quiet', null),
    (-1, 4, 'BTC', 'scored', 0.9), (0, 24, 'BTC', 'scored', 0.1), (0, 4, 'ETH', 'scored', -0.5),
    (24, 4, 'ETH', 'scored', 0.7)) as reported(hour, horizon_h, base, state, rho);
"""
# A market that left its coin and changed its terms, one that nothing happened to, and two that aggregates leave out.
REGISTER_SQL = """
insert into market_register by name
select venue || ':' || type || ':' || symbol as market_id, venue, type, symbol, base, base_raw, named_base, quote,
    left_out is null as aggregated, left_out, left_out = 'hip3' as hip3, [] as category, 0.001 as contract_size,
    1.0 as multiplier, false as inverse, true as metadata, 'trading' as status, $as_of - 86400000 as listed_ms,
    if(base = 'CORE@gate', [{from_ms: 0, to_ms: 60000, base: 'CORE', reason: 'name', price_ratio: null},
        {from_ms: 60000, to_ms: null, base: base, reason: 'parted', price_ratio: 5.5}], []) as identity,
    if(base = 'CORE@gate', [{since_ms: 0, contract_size: 0.01, multiplier: 1.0, inverse: false, quote: quote,
        settle: null}, {since_ms: 60000, contract_size: 0.001, multiplier: 1.0, inverse: false, quote: quote,
        settle: null}], []) as contracts,
    if(venue = 'binance', [{since_ms: 0, interval_h: 8.0}, {since_ms: 60000, interval_h: 4.0}], [])
        as funding_intervals,
    'https://' || venue || '.test/' || symbol as url, $last as tick_ms
from (values
    ('binance', 'perp', 'BTCUSDT', 'BTC', 'BTC', 'BTC', 'USDT', null),
    ('gate', 'perp', 'CORE_USDT', 'CORE@gate', 'CORE', 'CORE', 'USDT', null),
    ('gate', 'spot', 'BTC3L_USDT', 'BTC3L@gate', 'BTC3L', 'BTC3L@gate', 'USDT', 'structured'),
    ('upbit', 'spot', 'KRW-BTC', 'BTC', 'BTC', 'BTC', 'KRW', 'premiums')
) as listed(venue, type, symbol, base, base_raw, named_base, quote, left_out);
"""
# Forty days of two kinds, of which one began ten days ago and missed an hour of each day.
COVERAGE_SQL = """
insert into coverage_days by name
select $day + 172800000 - back * 86400000 as t, venue, endpoint, 1440 as minutes, 1440 - lost as recorded,
    0 as partial, 0 as venue_error, 0 as venue_unreachable, lost as not_recorded
from (select unnest(range(40)) as back)
join (values ('binance', 'perp_tickers', 40, 0), ('bybit', 'liquidations', 10, 60))
    as kinds(venue, endpoint, days, lost) on back < days;
"""
EXCHANGES_SQL = """
insert into exchanges by name
select *, 'The documents say so.' as liquidations_note, 'Measured.' as oi_note from (values
    ('binance', 'Binance', 'coins', 3, 2, 5, 'sample', 1.0, true),
    ('upbit', 'Upbit', 'premiums', 0, 9, 0, 'none', 1.0, false),
    ('bybit', 'Bybit', 'coins', 2, 1, 3, 'full', 0.5, false)
) as listed(venue, name, role, perps, spots, aggregated, liquidations, oi_factor, taker_side);
"""
MARTS = Path(__file__).parents[3] / "dbt_project/models/marts"


@cache
def tables_of(file: str, *names: str) -> str:
    """Empty tables with the columns that a file of the dbt project gives them: all of it, or these."""
    models = yaml.safe_load((MARTS / file).read_text())["models"]
    return "".join(
        f"create table {model['name']} ("
        + ", ".join(f'"{column["name"]}" {column["data_type"]}' for column in model["columns"])
        + ");"
        for model in models
        if not names or model["name"] in names
    )


# How open interest comes from two exchanges' bodies to its hours; some of it has not been run.
METHODOLOGY_SQL = """
insert into methodology_models
select model, layer, 'What ' || model || ' has.', reads, null, [], [], '{}', null from (values
    ('series_base_1h', 'marts', ['series_market_1h']), ('series_venue_1h', 'marts', ['series_market_1h']),
    ('series_market_1h', 'marts', ['staged_market_state', 'staged_instruments', 'symbols']),
    ('staged_market_state', 'intermediate', ['stg_binance__open_interest', 'stg_bybit__perp_tickers']),
    ('staged_instruments', 'intermediate', ['stg_bybit__instruments']), ('symbols', 'seeds', []),
    ('raw_window', 'intermediate', ['landing.responses']), ('landing.responses', 'sources', []),
    ('premiums', 'marts', ['raw_window'])
) as models(model, layer, reads);
insert into methodology_models
select 'stg_' || venue || '__' || kind, 'staging', 'Perps.', ['raw_window'], venue, [kind], ['GET https://' || request],
    '{"open_interest": "r.openInterest"}', 'https://example.org/' || kind
from (values
    ('binance', 'open_interest', 'fapi.binance.com/fapi/v1/openInterest'),
    ('bybit', 'perp_tickers', 'api.bybit.com/v5/market/tickers'),
    ('bybit', 'instruments', 'api.bybit.com/v5/market/instruments-info')
) as views(venue, kind, request);
insert into methodology_columns values
    ('markets', 'base', 'Canonical coin, for example `BTC`.'), ('markets', 'oi_usd', 'Open interest, USD.');
insert into methodology_models values ('markets', 'marts', 'One row per coin. Its markets are in it.', [], null, [], [],
    '{}', null);
insert into methodology_resources values
    ('/', []), ('/api/series/{metric}', ['series_base_1h', 'gaps']), ('/api/options/{coin}', ['option_coins']),
    ('/api/status', ['series_base_1h']), ('oi_history (MCP)', ['series_base_1h']);
insert into methodology_sql values ('series_base_1h', 'select 1'), ('stg_binance__open_interest', 'select 2');
insert into methodology_window_sql values ('raw_window', 'select 3');
insert into methodology_tests values
    ('sums_agree', 'test', ['series_base_1h', 'series_market_1h'], null, 'Sums agree.'),
    ('unique_hours', 'test', ['series_base_1h'], 't', ''), ('elsewhere', 'test', ['premiums'], null, ''),
    ('halves', 'unit_test', ['series_market_1h'], null, 'Halves.');
insert into methodology_results values
    ('sums_agree', 'fail', 3, 'Got 3 results', $last), ('unique_hours', 'pass', 0, '', $last),
    ('gone', 'pass', 0, '', $last);
"""


def build_snapshots(con: duckdb.DuckDBPyConnection, as_of_ms: int) -> None:
    """Write the tables as the publisher leaves them."""
    times = {
        "$as_of": str(as_of_ms),
        "$last": str(as_of_ms - as_of_ms % MINUTE),
        "$day": str(as_of_ms // DAY * DAY - 2 * DAY),
    }
    sql = SQL + tables_of("options/_options.yml") + OPTIONS_SQL + tables_of("risk/_risk.yml") + RISK_SQL
    sql += tables_of("quality/_quality.yml", "accuracy") + ACCURACY_SQL
    sql += tables_of("listings/_listings.yml", "market_register", "exchanges") + REGISTER_SQL + EXCHANGES_SQL
    sql += tables_of("gaps/_gaps.yml", "coverage_days") + COVERAGE_SQL
    sql += METHODOLOGY + METHODOLOGY_SQL
    for name, text in times.items():
        sql = sql.replace(name, text)
    con.execute(sql)
