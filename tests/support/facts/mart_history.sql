-- Recorded history from $start to $end, in the order in which builds would have written it.
create temporary table hours as select unnest(range($start, $end, 3600000)) as t;
create temporary table minutes as select unnest(range($start, $end, 60000)) as t;
create temporary view each_hour as
select $start + i // 300 * 3600000 as t, 'S' || i % 300 as symbol, 'binance:perp:' || symbol as market_id
from range(($end - $start) // 3600000 * 300) as numbers(i);
create temporary view each_minute as
select $start + i // 3 * 60000 as t, 'S' || i % 3 as symbol, 'binance:perp:' || symbol as market_id
from range(($end - $start) // 60000 * 3) as numbers(i);

insert into series_market_1h by name
select t, market_id, 'binance' as venue, 'perp' as type, symbol, symbol as base, true as aggregated, 1.0 as price,
  2.0 as oi_usd, 60 as funding_n
from each_hour;
insert into series_market_4h by name select * exclude (known_ms, earlier) from series_market_1h where t % 14400000 = 0 order by t;
insert into series_market_1d by name select * exclude (known_ms, earlier) from series_market_1h where t % 86400000 = 0 order by t;
insert into series_base_1h by name
select t, symbol as base, 'perp' as type, 1.0 as price, 1 as n_markets from each_hour;
insert into series_base_4h by name select * from series_base_1h where t % 14400000 = 0 order by t;
insert into series_base_1d by name select * from series_base_1h where t % 86400000 = 0 order by t;

insert into series_market_1m by name
select t, market_id, 'binance' as venue, 'perp' as type, symbol, symbol as base, true as aggregated, 1.0 as price, 1 as funding_n
from each_minute;
insert into series_market_5m by name select * exclude (known_ms, bar_known_ms, earlier) from series_market_1m where t % 300000 = 0 order by t;
insert into series_market_15m by name select * exclude (known_ms, bar_known_ms, earlier) from series_market_1m where t % 900000 = 0 order by t;
insert into series_base_1m by name
select t, symbol as base, 'perp' as type, 1.0 as price, 1 as n_markets
from each_minute;
insert into series_base_5m by name select * from series_base_1m where t % 300000 = 0 order by t;
insert into series_base_15m by name select * from series_base_1m where t % 900000 = 0 order by t;

insert into int_market_minutes by name
select t as minute_ms, market_id, 'binance' as venue, 'perp' as type, symbol, symbol as base, true as aggregated, 1.0 as price
from each_minute;
insert into int_market_bars by name
select t as minute_ms, t + 60000 as tick_ms, market_id, 'binance' as venue, 'perp' as type, symbol, symbol as base, 1.0 as volume_usd
from each_minute;
insert into int_liquidations by name
select t as tick_ms, t as ts, market_id, 'binance' as venue, symbol, symbol as base, true as aggregated, 'long' as side, 1.0 as usd
from each_minute;
insert into int_response_minutes by name
select t as tick_ms, 'binance' as venue, unnest(['perp_tickers', 'funding', 'perp_bars']) as endpoint, 1 as requests, 1 as ok,
  0 as failed, 0 as unreachable
from minutes order by t;
insert into int_stream_minutes by name
select t as tick_ms, 'binance' as venue, 'liquidations' as endpoint, '' as key, 60000 as connected_ms from minutes order by t;

insert into recording_runs by name
select t as start_ms, t + 3600000 as end_ms, 'binance' as venue, 'funding' as endpoint, if(t % 7200000 = 0, 'ok', 'partial') as outcome
from hours order by t;
insert into recording_runs values ('', '', 'ok', $start, $end)
