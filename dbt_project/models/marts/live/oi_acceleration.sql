{{ config(incremental_strategy="replace_all", triggers=["recorded", "after_history"]) }}
{#- The change of the hourly change of a contract's open interest, in coins (methods: open-interest acceleration), for
    the contracts with the highest open interest; a minimum of open interest only shortens the list at its end. -#}
{%- set now_ms = newest_minute_ms() %}
with perps as (
  select
    *, coalesce(oi_usd, oi_usd_1h, oi_usd_2h) as held_usd,
    case
      when contract_changed then 'contract_changed'
      when listed_ms > {{ now_ms - 7200000 }} then 'listed_recently'
      when not coalesce(oi_base_2h > 0 and oi_base_1h > 0 and oi_base is not null, false) then 'missing_anchor'
    end as reason
  from {{ ref("live_markets") }}
  where type = 'perp' and not hip3
)

select
  market_id, venue, symbol, base,
  if(reason is null, oi_base_1h / oi_base_2h - 1, null) as previous_fraction,
  if(reason is null, oi_base / oi_base_1h - 1, null) as recent_fraction,
  if(reason is null, 100 * (oi_base / oi_base_1h - oi_base_1h / oi_base_2h), null) as acceleration_pp,
  if(reason is null, (oi_base_1h - oi_base_2h) * oi_usd_1h / oi_base_1h, null) as previous_usd,
  if(reason is null, (oi_base - oi_base_1h) * oi_usd / nullif(oi_base, 0), null) as recent_usd,
  held_usd as oi_usd,
  if(reason is null, [oi_ms_2h, oi_ms_1h, oi_ms], null) as anchors_ms,
  {{ [now_ms - 7200000, now_ms - 3600000, now_ms] }}::bigint[] as targets_ms,
  reason
from perps
where held_usd is not null
order by held_usd desc, market_id
limit 50
