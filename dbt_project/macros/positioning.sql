{#- The tiers of positioning (long fractions, taker flow) and of order books. They cover few markets, every few minutes, so
    they are tables apart from the series tiers, and fewer of their steps are stored. -#}

{#- Long fractions and the open interest that they belong to are states: a bucket has the last one. Taker sizes are flows: a
    bucket has their sum. -#}
{% macro long_shares() %}{{ return(["accounts", "top_acct", "top_pos"]) }}{% endmacro %}
{% macro ratio_states() %}{{ return(long_shares() + ["oi_usd"]) }}{% endmacro %}
{% macro taker_sizes() %}{{ return(["taker_buy_size", "taker_sell_size"]) }}{% endmacro %}

{#- A stored tier: rolled up from the finer tier, and where that has no value, what venues published for buckets of exactly
    this length. A value for an hour is never spread over its 5-minute buckets. A build restates the buckets for which it
    brings ratios or open interest. -#}
{% macro ratio_tier(step, finer=none) %}
{{ config(
    incremental_strategy="replace_keys", replace_keys=["market_id", "t"], replace_on="t",
    triggers=endpoints_of(families()["staged_ratios"].kinds + families()["staged_oi_history"].kinds + families()["staged_metrics"].kinds) + ["history_perp_bars"]
) }}
{%- set facts, instruments, markets = ref("int_ratios"), ref("instruments"), ref("series_market_" ~ step) %}
{%- set window = source("pipeline", "window_minutes") %}
{#- Referenced on every path, because dbt reads dependencies while parsing, when nothing is incremental. -#}
{%- set history = ref("touched_markets") %}
{%- set finest = ref("series_ratios_5m") if finer else this %}
with touched as materialized (
  select distinct {{ bucket("t", step) }} as t, market_id
  from {{ facts }}
  where period_ms <= {{ step_ms(step) }}{% if is_update() %} and tick_ms in (select tick_ms from {{ window }})
    and not (source = 'backfilled' and (tick_ms, venue) in (select (b.tick_ms, b.venue) from {{ source("pipeline", "window_built") }} as b))
  union
  select {{ bucket("t", step) }}, market_id
  from {{ finest }}
  where t in (select {{ bucket("tick_ms", "5m") }} from {{ window }})
  {% if finer %}
  union
  select {{ bucket("minute_ms", step) }}, market_id from {{ history }} where step <> '1m' and step in {{ history_steps(step) }}
  {% endif %}
  {% endif %}

),

published as (
  select
    t, market_id, any_value(f.venue) as venue, any_value(f.base) as base, coalesce(bool_or(i.aggregated), false) as aggregated,
    any_value(m.oi_usd) as oi_usd,
    {% for share in long_shares() %}max(long_fraction) filter (kind = '{{ share }}') as {{ share }}, {% endfor %}
    -- In coins where the venue publishes coins: USD would need a price.
    {% for side in ["buy", "sell"] %}max(coalesce(f.taker_{{ side }}_base, f.taker_{{ side }}_usd)) as taker_{{ side }}_size, {% endfor %}
    {{ source_of_parts("f.source") }} as source
  from {{ facts }} as f
  semi join touched using (t, market_id)
  left join {{ instruments }} as i using (market_id)
  -- A semi join, because DuckDB prunes a scan by the values of a join key but not by a subquery's bounds.
  left join (select markets.* from {{ markets }} as markets semi join touched using (t, market_id)) as m using (t, market_id)
  where period_ms = {{ step_ms(step) }}
  group by t, market_id
){% if not finer %}

select t, market_id, venue, base, aggregated, {{ (ratio_states() + taker_sizes()) | join(", ") }}, source
from published
{% else %},

finer_rows as (
  select rows.*
  from {{ ref("series_ratios_" ~ finer) }} as rows
  semi join (
    select t + unnest(range(0, {{ step_ms(step) }}, {{ step_ms(finer) }})) as t, market_id from touched
  ) as parts using (t, market_id)
),

rolled as (
  {{ last_and_sums_of("finer_rows", step, ratio_states(), taker_sizes(), source=true) }}
  {% if is_update() %}
  -- Tiers finer than an hour are trimmed after a while: an hour that was rolled up from them is kept.
  union all by name
  select stored.*
  from {{ this }} as stored
  semi join touched using (t, market_id)
  anti join (select distinct {{ bucket("t", step) }} as t, market_id from finer_rows) as known using (t, market_id)
  where stored.source <> 'backfilled'
  {% endif %}
)

select
  t, market_id, coalesce(rolled.venue, published.venue) as venue, coalesce(rolled.base, published.base) as base,
  coalesce(rolled.aggregated, published.aggregated) as aggregated,
  {% for column in ratio_states() + taker_sizes() %}coalesce(rolled.{{ column }}, published.{{ column }}) as {{ column }}, {% endfor %}
  case
    when rolled.source is null then published.source
    when rolled.source <> published.source and (
      {%- for column in long_shares() + taker_sizes() %}{{ " or " if not loop.first }}coalesce(rolled.{{ column }}, published.{{ column }}) is distinct from rolled.{{ column }}{% endfor -%}
    ) then 'mixed'
    else rolled.source
  end as source
from rolled
full join published using (t, market_id)
{% endif %}
{% endmacro %}

{#- Rows of `relation` by bucket and market: the last of states, the sum of flows. By base too (`by_base`) where it is read
    through a view, so that a reader's condition on it reaches the rows. -#}
{% macro last_and_sums_of(relation, step, states, flows=[], by_base=false, source=false) -%}
select
    bucket_t as t, market_id, venue, {{ "base" if by_base else "identity.base as base" }}, identity.aggregated as aggregated,
    {{ (states + flows) | join(", ") }}{{ ", source" if source }}
  from (
    select
      {{ bucket("t", step) }} as bucket_t, market_id,{{ " base," if by_base }} any_value(venue) as venue,
      max_by({base: base, aggregated: aggregated}, t) as identity
      {%- for column in states %}, max_by({{ column }}, t) as {{ column }}{% endfor %}
      {%- for column in flows %}, sum({{ column }}) as {{ column }}{% endfor %}
      {%- if source %},
      {{ source_of_parts() }} as source{% endif %}
    from {{ relation }}
    group by bucket_t, market_id{{ ", base" if by_base }}
  )
{%- endmacro %}

{#- A tier of ratios that is computed from the stored `tier` when it is read. -#}
{% macro ratio_view(step, tier) %}
{{ config(materialized="view_in_place") }}
{{ last_and_sums_of(
  ref("series_ratios_" ~ tier).include(database=false), step, ratio_states(), taker_sizes(), by_base=true, source=true) }}
{% endmacro %}

{#- A coin on one venue: shares weighted by the open interest that they are shares of, sizes summed. -#}
{% macro venue_ratios(step) %}
{{ config(materialized="view_in_place") }}
select
  t, base, venue,
  {% for share in long_shares() %}{{ weighted_mean(share, "oi_usd", fallback="avg(" ~ share ~ ")") }} as {{ share }}, {% endfor %}
  sum(oi_usd) filter (accounts is not null) as oi_usd,
  sum(taker_buy_size) as taker_buy_size, sum(taker_sell_size) as taker_sell_size, count(*)::integer as n_markets
from {{ ref("series_ratios_" ~ step).include(database=false) }}
where aggregated
group by t, base, venue
{% endmacro %}

{#- A stored tier of order books: of each market the last book in the bucket. -#}
{% macro depth_tier(step, finer=none) %}
{{ config(
    incremental_strategy="replace_series", replace_step=step, replace_key="market_id", triggers=endpoints_of(["order_books"])
) }}
{%- set window = source("pipeline", "window_minutes") %}
{%- set relation = ref("series_depth_" ~ finer) if finer else ref("int_book_depth") %}
{%- set time, width = ("t", step_ms(finer)) if finer else ("tick_ms", 60000) %}
with rows as (
  select * from {{ relation }}
  {% if is_update() %}
  semi join (
    select {{ bucket("tick_ms", step) }} + unnest(range(0, {{ step_ms(step) }}, {{ width }})) as {{ time }} from {{ window }}
  ) as touched using ({{ time }})
  {% endif %}
){% if not finer %},

books as (
  select
    tick_ms as t, market_id, b.venue, b.base, coalesce(i.aggregated, false) as aggregated,
    unnest(list_filter(depth, lambda band: band.band_pct = 1 and band.bid_usd is not null and band.ask_usd is not null)) as band
  from rows as b
  left join {{ ref("instruments") }} as i using (market_id)
),

sides as (
  select * exclude (band), band.bid_usd, band.ask_usd from books
){% endif %}

{{ last_and_sums_of("rows" if finer else "sides", step, ["bid_usd", "ask_usd"]) }}
{% endmacro %}

{#- A tier of order books that is computed from the stored `tier` when it is read. -#}
{% macro depth_view(step, tier) %}
{{ config(materialized="view_in_place") }}
{{ last_and_sums_of(ref("series_depth_" ~ tier).include(database=false), step, ["bid_usd", "ask_usd"], by_base=true) }}
{% endmacro %}
