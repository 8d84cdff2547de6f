-- As published_open_interest_is_of_its_instant, of every market and month that is stored, for open interest whose marks were
-- not recorded: the price that it implies at a full hour is the one at which the hour opened. Where the price five minutes
-- before or after is nearer by half and more, the labels of that market and month mean another instant than staging reads.
with observed as (
  select
    venue, market_id, t, oi_usd / oi_base as price, (t + 300000) // 3600000 * 3600000 as hour_ms
  from {{ ref("int_history_oi") }}
  where oi_usd > 0 and oi_base > 0 and period_ms = 300000 and (t + 300000) % 3600000 <= 600000
),

-- Only hours of which all three are known: the medians are of the same ones.
compared as (
  select
    o.venue, o.market_id, o.t - o.hour_ms as shift_ms, abs(ln(o.price / bars.open)) as difference,
    strftime(make_timestamp_ms(o.hour_ms), '%Y-%m') as month
  from observed as o
  join {{ ref("int_history_bars") }} as bars on o.market_id = bars.market_id and o.hour_ms = bars.t
  where bars.step = '1h' and bars.open > 0
  qualify count(*) over (partition by o.market_id, o.hour_ms) = 3
),

medians as (
  select venue, market_id, month, shift_ms, count(*) as n, median(difference) as difference
  from compared
  group by venue, market_id, month, shift_ms
)

select other.venue, other.market_id, other.month, other.shift_ms, other.difference, own.difference as difference_at_its_time, own.n
from medians as other
join medians as own on other.market_id = own.market_id and other.month = own.month and own.shift_ms = 0
-- Prices that hardly moved, or few of them, say nothing.
where own.n >= 24 and own.difference > 0.00005 and other.difference < own.difference / 2
