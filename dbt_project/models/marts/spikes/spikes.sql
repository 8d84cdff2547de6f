{{ config(incremental_strategy="add_rows", triggers=["recorded", "after_history"]) }}
-- Volume spikes in the closed bars that this build brings, and, when a backfill has ended, in the last two days of the bars
-- that it brought. A stored spike never changes: neither a restated bar nor a more complete history alters or removes it.
{%- set day_ms, cooldown_ms = 86400000, 900000 %}
{%- set least_usd, least_z, least_bars = 50000, 6, 60 %}
{#- A literal, so that scans of the bars skip older row groups. Named on every path: dbt reads dependencies while
    parsing, when nothing is incremental. #}
{%- set touched = ref("int_touched_minutes") %}
{%- set first = run_query("select coalesce(min(minute_ms), 0) from " ~ touched).rows[0][0] if is_update() else 0 %}
{%- set fetched = window_holds(["after_history"], window_endpoints()) %}
{%- set fetched_first = as_of_ms() - 2 * day_ms %}
{%- set columns = "minute_ms, market_id, venue, type, symbol, base, hip3, open, close, volume_usd, taker_buy_usd, taker_sell_usd" %}
with recursive
{% if fetched %}
-- The quartiles of the 24 hours before each bar are cheap, MAD is not. Half of the bars are at least as far from the median
-- as the nearer of the other quartiles, so MAD is no less than that distance (but for interpolation: hence 0.9 below).
measured as (
  select {{ columns }}, source, ln(1 + volume_usd) as x, quantile_cont(ln(1 + volume_usd), [0.25, 0.5, 0.75]) over past as quarters
  from {{ ref("int_market_bars") }}
  where
    volume_usd is not null and minute_ms >= {{ fetched_first - day_ms }}
    and market_id in (select f.market_id from {{ ref("int_market_bars") }} as f where f.source = 'backfilled' and f.minute_ms >= {{ fetched_first }})
  window past as (partition by market_id order by minute_ms range between {{ day_ms }} preceding and 60000 preceding)
),
{% endif %}

loud as materialized (
  select {{ columns }}, tick_ms
  from {{ ref("int_market_bars") }}
  where
    source = 'recorded' and volume_usd >= {{ least_usd }}
    and minute_ms >= {{ first }}
    and tick_ms in (select w.tick_ms from {{ source("pipeline", "window_minutes") }} as w)
  {% if fetched %}
  union all
  select {{ columns }}, (select max(w.tick_ms) from {{ source("pipeline", "window_minutes") }} as w)
  from measured
  where
    source = 'backfilled' and volume_usd >= {{ least_usd }} and minute_ms >= {{ fetched_first }}
    and 0.6745 * (x - quarters[2]) >= 0.9 * {{ least_z }} * least(quarters[3] - quarters[2], quarters[2] - quarters[1])
  {% endif %}
),

-- The market's own bars of the 24 hours before.
past as (
  select l.minute_ms, l.market_id, ln(1 + b.volume_usd) as x
  from loud as l
  join {{ ref("int_market_bars") }} as b
    on l.market_id = b.market_id and b.minute_ms between l.minute_ms - {{ day_ms }} and l.minute_ms - 60000
  where b.minute_ms >= {{ ([first, fetched_first] | min if fetched else first) - day_ms }} and b.volume_usd is not null
),

baselines as (
  select minute_ms, market_id, median(x) as middle, mad(x) as mad, count(*)::integer as baseline_n
  from past
  group by minute_ms, market_id
),

alerts as materialized (
  select
    l.minute_ms, l.market_id, l.venue, l.type, l.symbol, l.base, l.hip3,
    -- The takers' side where it is published, else the direction of the price; null if both are balanced.
    case sign(coalesce(l.taker_buy_usd - l.taker_sell_usd, l.close - l.open)) when 1 then 'buy' when -1 then 'sell' end as dir,
    0.6745 * (ln(1 + l.volume_usd) - b.middle) / b.mad as sig,
    l.volume_usd, exp(b.middle) - 1 as baseline_usd, b.baseline_n, l.close as price, l.tick_ms
  from loud as l
  join baselines as b on l.minute_ms = b.minute_ms and l.market_id = b.market_id
  where b.mad > 0 and b.baseline_n >= {{ least_bars }} and 0.6745 * (ln(1 + l.volume_usd) - b.middle) / b.mad >= {{ least_z }}
  {% if is_update() %}
    and not exists (
      select 1 from {{ this }} as known
      where known.market_id = l.market_id and abs(known.ts - l.minute_ms) < {{ cooldown_ms }}
    )
  {% endif %}
),

-- The first spike of each market, then each next one that is at least the cooldown later.
chosen as (
  select market_id, min(minute_ms) as minute_ms from alerts group by market_id
  union all
  select t.market_id, min(a.minute_ms)
  from chosen as t
  join alerts as a on t.market_id = a.market_id and a.minute_ms >= t.minute_ms + {{ cooldown_ms }}
  group by t.market_id, t.minute_ms
)

select
  -- Half of the MD5 of the market and the minute, cut to the integers that JSON can hold.
  (md5_number_lower(market_id || ' ' || minute_ms) & 9007199254740991)::bigint as id,
  minute_ms as ts, market_id, venue, type, symbol, base, hip3, 'volume' as kind, dir, sig, volume_usd, baseline_usd, baseline_n, price, tick_ms
from alerts
semi join chosen using (market_id, minute_ms)
