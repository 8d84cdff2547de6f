"""The snapshot tables of a small replica, for `tests.replica`: rows whose served numbers follow by hand."""

import duckdb

MINUTE, HOUR, DAY = 60_000, 3_600_000, 86_400_000
SQL = """
create table order_book_depth as
select venue, symbol, venue || ':perp:' || symbol as market_id, base, $last as asked_ms, $last - back as book_ms,
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

create table venue_totals (venue varchar, name varchar, observed_ms bigint, oi_usd double, vol24h_usd double,
    oi_partial boolean, n_markets integer);
insert into venue_totals values
    ('hyperliquid', 'Hyperliquid', $last, 600.0, 300.0, false, 3),
    ('aster', 'Aster', $last - 600000, 100.0, 700.0, true, 5),
    ('binance', 'Binance', $last, 9000.0, 9000.0, false, 500);

create table listings as
select venue || ':perp:' || symbol as market_id, venue, symbol, base, 'trading' as status,
    $as_of - (age * 86400000)::bigint as listed_ms, null::bigint as delisted_ms, first_open::double as first_open
from (values
    ('binance', 'BTCUSDT', 'BTC', 10.0, 50000.0), ('binance', 'GONEUSDT', 'GONE', 10.0, 2.0),
    ('bybit', 'ETHUSDT', 'ETH', 29.5, 3000.0), ('binance', 'ETHUSDT', 'ETH', 60.25, null),
    ('bybit', 'BTCUSDT', 'BTC', 91.0, 1.0), ('binance', 'SOONUSDT', 'SOON', -1.0, null),
    ('gate', 'X_USDT', 'X', 1.0, 1.0)
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

-- Spike n began n minutes before the newest closed minute, until two days before: buy, sell, unknown in turn.
create table spikes as
select 9007199254700000 + n as id, $last - 60000 - n * 60000 as ts, venue || ':perp:' || symbol as market_id, venue,
    'perp' as type, symbol, base, false as hip3, 'volume' as kind, [ 'buy', 'sell', null ][1 + n % 3] as dir,
    6 + n % 10 / 3 as sig, 123456.789e0 + n as volume_usd, 2345.6789e0 as baseline_usd, 100 as baseline_n,
    1234.56789e0 as price, $last as tick_ms
from (select range as n, range % 4 as i from range(2880))
join (values (0, 'binance', 'BTCUSDT', 'BTC'), (1, 'bybit', 'BTCUSDT', 'BTC'), (2, 'binance', 'ETHUSDT', 'ETH'),
    (3, 'hyperliquid', 'xyz:TSLA', 'xyz:TSLA')) as spiked(i, venue, symbol, base) using (i);
-- Every fifth spike lost the bar that decides; the others went up by one tenth of a percent a horizon.
create table spike_outcomes as
select id, ts, horizon_min, ts + (horizon_min + 1) * 60000 as due_ms,
    if(lost, 'unavailable', 'observed') as state, if(lost, 'missing_outcome', null) as reason,
    if(lost, null, horizon_min / 1e3) as return,
    if(lost, null, case dir when 'buy' then horizon_min / 1e3 when 'sell' then -horizon_min / 1e3 end)
        as directional_return, $last as tick_ms
from (select *, (id - 9007199254700000) % 5 = 4 as lost from spikes) cross join unnest([5, 15, 60]) as h(horizon_min)
where ts + (horizon_min + if(lost, 75, 0)) * 60000 < $last;
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


def build_snapshots(con: duckdb.DuckDBPyConnection, as_of_ms: int) -> None:
    """Write the tables as the publisher leaves them."""
    times = {"$as_of": str(as_of_ms), "$last": str(as_of_ms - as_of_ms % MINUTE)}
    sql = SQL
    for name, text in times.items():
        sql = sql.replace(name, text)
    con.execute(sql)
