{{ config(incremental_strategy="replace_keys", replace_keys=["venue"]) }}
{#- What each venue's perps add up to, by observations of the last five minutes. A venue without any keeps its last row. -#}
{%- set max_age_ms = 300000 %}
with seen as (
  select
    venue, market_id, max(t) as t, max_by(oi_usd, t) as oi_usd, max_by(vol24h_usd, t) as vol24h_usd
  from {{ ref("series_market_1m") }}
  where t between {{ newest_minute() }} - {{ max_age_ms }} and {{ newest_minute() }}
    and type = 'perp' and aggregated and coalesce(oi_usd, vol24h_usd) is not null
  group by venue, market_id
)

select
  seen.venue, any_value(venues.name) as name, max(t) as observed_ms,
  sum(oi_usd) as oi_usd, sum(vol24h_usd) as vol24h_usd,
  coalesce(bool_or(seen.oi_usd is null and seen.vol24h_usd > 0), false) as oi_partial,
  count(*)::integer as n_markets
from seen
left join {{ ref("venues") }} as venues on seen.venue = venues.venue
group by seen.venue
