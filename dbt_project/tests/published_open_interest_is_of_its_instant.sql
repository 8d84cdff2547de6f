-- Open interest of the venues' history holds at the time `t` that staging gives it: its value in USD divided by its coins is
-- the mark price that was recorded then. Where the mark of another instant, a period or five minutes away, is nearer by half
-- and more, the venue labels its rows otherwise than staging reads them, as Binance did without notice on 2026-06-25.
{%- set newest = known_ms(ref("int_history_oi"), "max(t)") %}
with observed as (
  select venue, market_id, period_ms, t, oi_usd / oi_base as price
  from {{ ref("int_history_oi") }}
  where oi_usd > 0 and oi_base > 0 and period_ms between 300000 and 3600000 and t > {{ newest - 86400000 }}
),

shifted as (
  select *, unnest(list_distinct([-period_ms, -300000, 0, 300000, period_ms])) as shift_ms from observed
),

-- Only observations of which the marks of all instants are known: the medians are of the same ones.
compared as (
  select s.venue, s.shift_ms, abs(ln(s.price / m.mark_price)) as difference
  from shifted as s
  join {{ ref("int_market_minutes") }} as m on s.market_id = m.market_id and s.t + s.shift_ms = m.minute_ms
  where m.mark_price > 0 and m.minute_ms > {{ newest - 2 * 86400000 }}
  qualify count(*) over (partition by s.market_id, s.period_ms, s.t) = if(s.period_ms = 300000, 3, 5)
),

medians as (
  select venue, shift_ms, count(*) as n, median(difference) as difference from compared group by venue, shift_ms
)

select other.venue, other.shift_ms, other.difference, own.difference as difference_at_its_time, own.n
from medians as other
join medians as own on other.venue = own.venue and own.shift_ms = 0
-- Prices that hardly moved, or few of them, say nothing.
where own.n >= 12 and own.difference > 0.00005 and other.difference < own.difference / 2
