"""The statistics of a small replica, for `replica`: rows whose served numbers follow by hand."""

from datetime import UTC, datetime

import duckdb

DAY = 86_400_000
SQL = """
-- Ranks among all and on the venue; the last one is among the 50 of neither, the one before on its venue alone.
insert into funding_percentiles by name
select lookback, rank, venue_rank, venue || ':perp:' || base || 'USDT' as market_id, base, venue,
    base || 'USDT' as symbol, 1e9 / rank as oi_usd, live as live_funding, live as comparison_funding,
    if(live is null, null, $last) as comparison_time_ms, percentile,
    if(state = 'InsufficientHistory', 10, hours) as reference_count, hours as expected_count,
    reference_count / hours as coverage_fraction, 1e-4 as median_funding, -1e-5 as p10_funding, 3e-4 as p90_funding,
    state as row_state
from (values
    (1, 1, 'binance', 'BTC', 1e-4, 62.5, 'Ranked'), (2, 1, 'bybit', 'BTC', null, null, 'NoLiveFunding'),
    (3, 1, 'gate', 'ETH', 2e-4, null, 'InsufficientHistory'), (60, 2, 'binance', 'PEPE', -1e-4, 3.0, 'Ranked'),
    (70, 51, 'binance', 'OLD', -1e-4, 3.0, 'Ranked')
) as rows(rank, venue_rank, venue, base, live, percentile, state),
    (values ('7d', 168), ('30d', 720)) as windows(lookback, hours);

insert into funding_persistence by name
select '7d' as lookback, rank, venue || ':perp:' || symbol as market_id, venue, symbol, base, 1e9 / rank as oi_usd,
    rate as latest_rate, $last - 3600000 as latest_ms, hours as interval_h, rank = 3 as stale,
    sign(rate)::integer as sign, streak as current_streak_h, reversal as last_reversal_ms, 21 as n_payments,
    $as_of as evaluated_at_ms
from (values
    (1, 'binance', 'BTCUSDT', 'BTC', 1e-4, 8, 48, null), (3, 'bybit', 'ETHUSDT', 'ETH', 0.0, 8, 0, null),
    (2, 'hyperliquid', 'BTC', 'BTC', -2e-5, 1, 5, $last - 18000000),
    (4, 'okx', 'X', 'X', 3e-4, 4, 48, $last - 172800000)
) as rows(rank, venue, symbol, base, rate, hours, streak, reversal);

-- Day n before today: 50 + 50 * cos(n / 20), two days unknown; an older version too.
insert into altcoin_season by name
select $today - n * 86400000 as t, version,
    if(n in (3, 200), null, if(version = 0, 1, 50 + 50 * cos(n / 20))) as value, 4 as n_coins, 3 as n_beat_btc,
    9 as n_universe, 0.1 as btc_return,
    [{base: 'BTC', reason: 'benchmark'}, {base: 'YNG', reason: 'young'}] as excluded, true as final, $last as tick_ms
from range(1, 400) as days(n), (values (0), (1)) as versions(version);
insert into altcoin_season_coins by name
select $today - 86400000 as t, version, rank, base, base || 'USDT' as symbol, 0.1 + excess as return_90d,
    excess as vs_btc, excess > 0 as beat_btc, reason as excluded_reason, 0.1 as btc_return
from (values
    (2, 'SOL', 0.5, null), (1, 'ETH', 0.25, null), (null, 'BTC', 0.0, 'benchmark'), (3, 'YNG', null, 'young'),
    (4, 'ADA', -0.25, null), (5, 'XRP', 0.125, null)
) as rows(rank, base, excess, reason), (values (0), (1)) as versions(version);

-- Day n before today: percentile n % 100 of funding, 50 of positions; the others are absent. Day 5 has no index.
insert into fear_greed by name
select $today - n * 86400000 as t, 1 as formula_version, n % 100 as funding_percentile, 50 as ls_percentile,
    if(n = 5, null, (n % 100 + 50) / 2) as exact, if(n = 5, null, floor((n % 100 + 50) / 2 + 0.5))::integer as value,
    if(n = 5, null, 'Neutral') as label, n > 0 as final, $last as tick_ms
from range(0, 400) as days(n);

-- A spike of ADA every hour, outcomes of those that are due, the third one missing.
insert into spikes by name
select *, 'binance' as venue, 'perp' as type, base || 'USDT' as symbol, 'binance:perp:' || symbol as market_id,
    false as hip3, 'volume' as kind, 7.5 as sig, 1e6 as volume_usd, 1e4 as baseline_usd, 1440 as baseline_n,
    60000 as price, $last as tick_ms
from (
    select n as id, $last - n * 3600000 as ts, 'ADA' as base, if(n % 2 = 0, 'buy', 'sell') as dir from range(30) as t(n)
);
insert into spike_outcomes by name
select id, ts, horizon_min, ts + horizon_min * 60000 + 60000 as due_ms,
    if(id = 3, 'unavailable', 'observed') as state, if(id = 3, 'missing_outcome', null) as reason,
    if(id = 3, null, 0.01) as "return", if(id = 3, null, if(dir = 'buy', 0.01, -0.01)) as directional_return
from spikes, (values (5), (15), (60)) as horizons(horizon_min)
where id between 1 and 29;

-- Spike n began n minutes before the newest closed minute, until two days before: buy, sell, unknown in turn.
insert into spikes by name
select 9007199254700000 + n as id, $last - 60000 - n * 60000 as ts, venue || ':perp:' || symbol as market_id, venue,
    'perp' as type, symbol, base, false as hip3, 'volume' as kind, [ 'buy', 'sell', null ][1 + n % 3] as dir,
    6 + n % 10 / 3 as sig, 123456.789e0 + n as volume_usd, 2345.6789e0 as baseline_usd, 100 as baseline_n,
    1234.56789e0 as price, $last as tick_ms
from (select range as n, range % 4 as i from range(2880))
join (values (0, 'binance', 'BTCUSDT', 'BTC'), (1, 'bybit', 'BTCUSDT', 'BTC'), (2, 'binance', 'ETHUSDT', 'ETH'),
    (3, 'hyperliquid', 'xyz:TSLA', 'xyz:TSLA')) as spiked(i, venue, symbol, base) using (i);
-- Every fifth spike lost the bar that decides; the others went up by one tenth of a percent a horizon.
insert into spike_outcomes by name
select id, ts, horizon_min, ts + (horizon_min + 1) * 60000 as due_ms,
    if(lost, 'unavailable', 'observed') as state, if(lost, 'missing_outcome', null) as reason,
    if(lost, null, horizon_min / 1e3) as return,
    if(lost, null, case dir when 'buy' then horizon_min / 1e3 when 'sell' then -horizon_min / 1e3 end)
        as directional_return, $last as tick_ms
from (select *, (id - 9007199254700000) % 5 = 4 as lost from spikes where id > 99)
cross join unnest([5, 15, 60]) as h(horizon_min)
where ts + (horizon_min + if(lost, 75, 0)) * 60000 < $last;

insert into spike_stats by name
select lookback, base, $as_of - 1000 as as_of, $as_of - 86400000 as since_ms, sample, sample > 1 as mixed,
    n < 30 as low_n, 3 * n as measured, 3 as pending, sample - n as unavailable, $as_of - 80000000 as first_ms,
    $as_of - 1000000 as last_ms, n, hits, hits / nullif(n, 0) as hit_rate, hits / 1e4 as median,
    list_transform([5, 15, 60], lambda h: {horizon_min: h::integer, n: n, hits: hits, hit_rate: hits / nullif(n, 0),
        base_rate: 0.5, q1: -0.01, median: hits / 1e4, q3: 0.01, mean: 0.0, first_ms: 1, last_ms: 2,
        n_independent: n // 2, low_n: n < 30}) as overall,
    {venues: [{venue: 'binance', hip3: false, overall: overall}], directions: [{dir: 'buy', overall: overall}]}
        as split,
    $last as tick_ms
from (values
    ('', 200, 190, 100), ('BTC', 100, 90, 60), ('ADA', 60, 60, 20), ('SOL', 31, 30, 16), ('FEW', 9, 8, 8),
    ('OLD', 0, 0, 0)
) as rows(base, sample, n, hits), (values ('30d'), ('all')) as windows(lookback);
insert into spike_stats by name
select '7d' as lookback, base, $as_of as as_of, 0 as since_ms, 0 as sample, false as mixed, true as low_n,
    0 as measured, 0 as pending, 0 as unavailable, 0 as n, 0 as hits, [] as overall,
    {venues: [], directions: []} as split
from (values (''), ('BTC')) as rows(base);
"""


def build_statistics(con: duckdb.DuckDBPyConnection, as_of_ms: int) -> None:
    """Fill the declared tables as the publisher leaves them."""
    times = {"$as_of": as_of_ms, "$last": as_of_ms - as_of_ms % 60_000, "$today": as_of_ms - as_of_ms % DAY}
    sql = SQL
    for name, ms in times.items():
        sql = sql.replace(name, f"{ms}::bigint")
    con.execute(sql)


def date(t: int) -> str:
    """The UTC day of a time."""
    return datetime.fromtimestamp(t / 1000, UTC).strftime("%Y-%m-%d")
