{{ config(incremental_strategy="replace_all", triggers=["every_5m", "after_history"]) }}
{#- For how long the perps with the highest open interest have paid funding in one direction, by settled payments only.
    A payment whose predecessor is unknown (more than a day earlier, or not published) begins a run. -#}
{%- set most, day_ms, now_ms = 50, 86400000, as_of_ms() %}
{#- Referenced on every path, because dbt reads dependencies while parsing, when nothing runs. -#}
{%- set scope = source("pipeline", "settings") ~ ref("recording_runs") %}
with perps as (
  {{ perps_by_oi() }}
  qualify rank <= {{ most }}
),

payments as (
  select
    lookback, p.market_id, p.settled_ms, p.funding_rate, p.interval_h, sign(p.funding_rate)::integer as sign,
    if(p.interval_h is null, null, lag(sign(p.funding_rate)) over run) as sign_before
  from {{ ref("int_settlements") }} as p
  cross join {{ named_windows(funding_windows()) }} as windows
  where
    p.settled_ms > {{ now_ms - funding_windows().values() | max * day_ms }} and p.settled_ms <= {{ now_ms }}
    and p.settled_ms > {{ now_ms }} - days * {{ day_ms }} and p.funding_rate is not null
    and p.market_id in (select market_id from perps)
  window run as (partition by lookback, p.market_id order by p.settled_ms)
),

newest as (
  select
    lookback, market_id, count(*)::integer as n_payments, max(settled_ms) as latest_ms,
    max_by({rate: funding_rate, sign: sign, interval_h: interval_h}, settled_ms) as latest,
    max(settled_ms) filter (sign_before is distinct from sign or sign = 0) as run_ms
  from payments
  group by lookback, market_id
),

runs as (
  select
    lookback, market_id, sum(p.interval_h) as hours,
    max(if(p.settled_ms = newest.run_ms and p.sign_before = -p.sign, p.settled_ms, null)) as last_reversal_ms
  from payments as p
  join newest using (lookback, market_id)
  where p.settled_ms >= newest.run_ms and newest.latest.sign <> 0
  group by lookback, market_id
)

select
  lookback, rank, market_id, venue, symbol, base, oi_usd, latest.rate as latest_rate, latest_ms,
  round(latest.interval_h)::integer as interval_h, {{ now_ms }} - latest_ms > 1.5 * latest.interval_h * 3600000 as stale,
  latest.sign as sign, coalesce(hours, 0) as current_streak_h, last_reversal_ms, n_payments, {{ now_ms }}::bigint as evaluated_at_ms
from newest
join perps using (market_id)
left join runs using (lookback, market_id)
where latest.interval_h is not null
