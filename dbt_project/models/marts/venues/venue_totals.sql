{{ config(incremental_strategy="replace_keys", replace_keys=["venue"], triggers=["recorded"]) }}
{#- Totals of each venue's perps, from observations of the five minutes up to its newest one. A build reads the minutes
    of its window; a venue without data in them keeps its last row. -#}
{%- set max_age_ms = 300000 %}
{%- set window = source("pipeline", "window_minutes") %}
{#- With a literal bound DuckDB skips older row groups. -#}
{%- set first = run_query("select min(tick_ms) from " ~ window).rows[0][0] if execute and is_update() else 0 %}
with seen as (
  select venue, market_id, t, oi_usd, vol24h_usd, max(t) over (partition by venue) as observed_ms
  from {{ ref("series_market_1m") }}
  where type = 'perp' and aggregated and coalesce(oi_usd, vol24h_usd) is not null
    and t between
      {% if is_update() %}{{ (first or 0) - max_age_ms }}
      {% else %}{{ newest_minute() }} - 86400000
      {% endif %}
    and {{ newest_minute() }}
),

markets as (
  select
    venue, market_id, any_value(observed_ms) as observed_ms,
    max_by(oi_usd, t) as oi_usd, max_by(vol24h_usd, t) as vol24h_usd
  from seen
  where t >= observed_ms - {{ max_age_ms }}
  group by venue, market_id
),

totals as (
  select
    venue, any_value(observed_ms) as observed_ms, sum(oi_usd) as oi_usd, sum(vol24h_usd) as vol24h_usd,
    coalesce(bool_or(markets.oi_usd is null and markets.vol24h_usd > 0), false) as oi_partial,
    count(*)::integer as n_markets
  from markets
  group by venue
)

select totals.venue, venues.name, totals.* exclude (venue)
from totals
left join {{ ref("venues") }} as venues on totals.venue = venues.venue
{% if is_update() %}
anti join {{ this }} as known on totals.venue = known.venue and totals.observed_ms < known.observed_ms
{% endif %}
