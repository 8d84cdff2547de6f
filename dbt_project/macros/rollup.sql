{#- The series tiers: the only place where buckets are aggregated, and how a tier restates just what a build touched.

    A build touches whole buckets (those that hold a minute of its window: every market may have changed) and single
    markets elsewhere (a bar or liquidation that arrived late). Rebuilding whole buckets for the latter would rewrite
    the last hour of all markets every minute, because bars of quiet markets are requested once an hour. -#}

{#- Common table expressions `whole(t)` and `late(t, <key>)`: what a build touches at this step. Late rows are those of minutes
    and of backfilled hours and days that are not longer than it. -#}
{% macro touched_buckets(step, key) -%}
whole as materialized (
  select distinct {{ bucket("tick_ms", step) }} as t from ({{ whole_minutes() }})
),
late as materialized (
  select distinct {{ bucket("minute_ms", step) }} as t, {{ key }} from {{ ref("touched_markets") }}
  where {{ bucket("minute_ms", step) }} not in (select t from whole) and step in {{ history_steps(step) }}
),
{%- endmacro %}

{#- The steps in `touched_markets` that are not longer than `step`: minutes, and hours and days of history. -#}
{% macro history_steps(step) -%}
({% for name in ["1m", "1h", "1d"] if step_ms(name) <= step_ms(step) %}'{{ name }}'{{ ", " if not loop.last }}{% endfor %})
{%- endmacro %}

{#- Rows of `relation` that lie in touched buckets of `step`; its time column `time` has the width `part_ms`. The times
    are spelled out one by one, because DuckDB prunes a scan by the values of a join key but not by an expression. -#}
{% macro touched_rows(relation, step, key, time, part_ms) -%}
  {%- set parts -%} unnest(range(0, {{ step_ms(step) }}, {{ part_ms }})) {%- endset -%}
  select facts.* from {{ relation }} as facts
  semi join (select t + {{ parts }} as {{ time }} from whole) as touched using ({{ time }})
  union all
  select facts.* from {{ relation }} as facts
  semi join (select t + {{ parts }} as {{ time }}, {{ key }} from late) as touched using ({{ time }}, {{ key }})
{%- endmacro %}

{#- A coarser market tier from the finer one: the last state, the sum of flows, the mean of funding, the candle. Hours and days of
    history fill in where a market has no recorded row (see history.sql). -#}
{% macro rollup_market(step) %}
{{ config(incremental_strategy="replace_series", replace_step=step, replace_key="market_id") }}
{%- set finer = finer_step(step) %}
{%- set relation = ref("series_market_" ~ finer) %}
{#- Referenced on every path, because dbt reads dependencies while parsing, when nothing is incremental. -#}
{%- set scope = source("pipeline", "window_minutes") ~ ref("touched_markets") %}
with {% if is_update() %}{{ touched_buckets(step, "market_id") }}{% endif %}
finer_rows as (
  {% if is_update() %}{{ touched_rows(relation, step, "market_id", "t", step_ms(finer)) }}
  {% else %}select * from {{ relation }}{% endif %}
),

{{ last_and_sums(step, "finer_rows", history=step in ("1h", "1d")) }}
{% endmacro %}

{#- A market tier as a view, computed when it is read. It groups by base too, so that a reader's filter on the base is
    pushed down to the finer tier; a market that changed its base has a row for each. -#}
{% macro rollup_market_view(step) %}
{{ config(materialized="view_in_place") }}
with {{ last_and_sums(step, ref("series_market_" ~ finer_step(step)).include(database=false), by_base=true) }}
{% endmacro %}

{#- A base tier as a view, computed when it is read. -#}
{% macro rollup_base_view(step) %}
{{ config(materialized="view_in_place") }}
select t, base, coalesce(type, 'all') as type, {{ across_markets(step) }}
from {{ ref("series_market_" ~ step).include(database=false) }}
where aggregated
group by grouping sets ((t, base, type), (t, base))
{% endmacro %}

{#- Rows of `relation` by bucket and market: the last state, the sum of flows, the mean of funding, the candle; with `history`,
    backfilled rows are added. -#}
{% macro last_and_sums(step, relation, by_base=false, history=false) -%}
buckets as (
  select
    {{ bucket("t", step) }} as bucket_t, market_id,{{ " base," if by_base }} any_value(venue) as venue, any_value(type) as type,
    any_value(symbol) as symbol,
    max_by({base: base, quote: quote, hip3: hip3, aggregated: aggregated}, t) as identity,
    max_by(price, t) as price, max_by(vol24h_usd, t) as vol24h_usd,
    min_by(open, t) as open, max(high) as high, min(low) as low, max_by(close, t) as close, sum(candle_n) as candle_n,
    sum(volume_usd) as volume_usd, sum(taker_buy_usd) as taker_buy_usd, sum(taker_sell_usd) as taker_sell_usd,
    max_by(oi_usd, t) as oi_usd, max_by(oi_base, t) as oi_base,
    sum(funding_8h * funding_n) / nullif(sum(funding_n) filter (where funding_8h is not null), 0) as funding_8h,
    sum(funding_n) as funding_n,
    sum(liq_long_usd) as liq_long_usd, sum(liq_short_usd) as liq_short_usd,
    sum(volume_n) as volume_n, sum(liq_n) as liq_n,
    {{ source_of_parts() }} as source
  from {{ relation }}
  group by bucket_t, market_id{{ ", base" if by_base }}
){{ "," if history }}

{{ "rolled as (" if history }}
select
  bucket_t as t, market_id, venue, type, symbol, {{ "base" if by_base else "identity.base as base" }}, identity.quote as quote,
  identity.hip3 as hip3, identity.aggregated as aggregated, price, open, high, low, close,
  candle_n::integer as candle_n, vol24h_usd, volume_usd, taker_buy_usd, taker_sell_usd, oi_usd, oi_base, funding_8h,
  funding_n::integer as funding_n, liq_long_usd, liq_short_usd,
  volume_n::integer as volume_n, liq_n::integer as liq_n, source
from buckets
{% if history %}){{ with_history_of(step) }}{% endif %}
{% endmacro %}

{#- The `source` of an aggregated row: `recorded`, `backfilled`, or `mixed` if its parts differ. -#}
{% macro source_of_parts(source="source") -%}
case
      when count(*) filter (where {{ source }} is distinct from 'backfilled') = 0 then 'backfilled'
      when count(*) filter (where {{ source }} in ('backfilled', 'mixed')) = 0 then 'recorded'
      else 'mixed'
    end
{%- endmacro %}


{#- A base tier from the market tier of the same step: a coin on all venues, by type and for all types. -#}
{% macro rollup_base(step) %}
{{ config(incremental_strategy="replace_series", replace_step=step, replace_key="base") }}
{%- set relation = ref("series_market_" ~ step) %}
{#- Referenced on every path, because dbt reads dependencies while parsing, when nothing is incremental. -#}
{%- set scope = source("pipeline", "window_minutes") ~ ref("touched_markets") %}
with {% if is_update() %}{{ touched_buckets(step, "base") }}{% endif %}
markets as (
  {% if is_update() %}{{ touched_rows(relation, step, "base", "t", step_ms(step)) }}
  {% else %}select * from {{ relation }}{% endif %}
)

select t, base, coalesce(type, 'all') as type, {{ across_markets(step) }}
from markets
where aggregated
group by grouping sets ((t, base, type), (t, base))
{% endmacro %}

{#- The base tier by venue, as views: a coin has few markets on one venue, so aggregating them at read time costs little,
    while storing them would more than double every tier. The relation has no database name, so that the same view
    works in the replica. -#}
{% macro rollup_venue(step) %}
{{ config(materialized="view_in_place") }}
{%- set markets = ref("series_market_" ~ step).include(database=false) %}
select t, base, type, venue, {{ across_markets(step) }} from {{ markets }} where aggregated group by t, base, type, venue
union all
select t, base, 'all' as type, venue, {{ across_markets(step) }} from {{ markets }} where aggregated group by t, base, venue
{% endmacro %}

{#- Aggregate columns over several markets: sums of amounts, weighted means of prices and rates. -#}
{% macro across_markets(step) %}
  {#- Backfilled rows have no 24h volume: the weight is then the volume of the bucket. #}
  {%- set of_history = "if(source = 'backfilled', volume_usd, null)" %}
  {{ weighted_mean("price", "vol24h_usd", fallback=weighted_mean("price", of_history, fallback="avg(price)")) }} as price,
  sum(volume_usd) as volume_usd, sum(taker_buy_usd) as taker_buy_usd, sum(taker_sell_usd) as taker_sell_usd,
  sum(oi_usd) as oi_usd,
  {{ weighted_mean("funding_8h", "oi_usd") }} as funding_8h,
  sum(liq_long_usd) as liq_long_usd, sum(liq_short_usd) as liq_short_usd,
  count(*)::integer as n_markets,
  {%- for family, counted in counted_markets().items() %}
  count_if({{ counted | replace("{minutes}", step_minutes(step)) }})::integer as n_{{ family }},
  {%- endfor %}
  {{ source_of_parts() }} as source
{% endmacro %}

{#- When a row of a market counts in `n_<family>`, by the families of `expected_markets`: a state if it was observed, a flow
    if every minute of the bucket is known. A metric's `coverage` in models/metrics/_metrics.yml repeats it for readers of the
    rows; the test mart_coverage_counts_markets compares the two. -#}
{% macro counted_markets() %}
  {{ return({
    "price": "price is not null",
    "oi": "oi_usd is not null",
    "funding": "funding_8h is not null and oi_usd is not null",
    "volume": "volume_n >= {minutes}",
    "taker": "taker_buy_usd is not null and volume_n >= {minutes}",
    "liquidations": "liq_n >= {minutes}",
  }) }}
{% endmacro %}

{#- Mean of `value` weighted by `weight`; rows that lack either drop out of both sums. Null if no weight is left. -#}
{% macro weighted_mean(value, weight, fallback="null") -%}
coalesce(
    sum({{ value }} * {{ weight }}) filter (where {{ weight }} > 0)
    / sum({{ weight }}) filter (where {{ weight }} > 0 and {{ value }} is not null), {{ fallback }})
{%- endmacro %}

{#- The incremental strategy of the tiers: drop whole buckets of the window and, elsewhere, just the (t, key) that have
    new rows. The subqueries' bounds reach the scans as dynamic filters, so zone maps spare the untouched past. -#}
{% macro get_incremental_replace_series_sql(arg_dict) %}
  {%- set target = arg_dict["target_relation"] -%}
  {%- set rows = arg_dict["temp_relation"] -%}
  {%- set key = config.require("replace_key") -%}
  {%- set columns = arg_dict["dest_columns"] -%}
  delete from {{ target }}
  where t in (
    select {{ bucket("tick_ms", config.require("replace_step")) }} from ({{ whole_minutes() }})
  );
  delete from {{ target }} using (select distinct t, {{ key }} from {{ rows }}) as fresh
  where {{ target }}.t = fresh.t and {{ target }}.{{ key }} = fresh.{{ key }};
  insert into {{ target }} ({{ columns }}) select {{ columns }} from {{ rows }}
{% endmacro %}

{#- True if two sums of the same numbers agree: both unknown, or apart by no more than the order of summing explains. -#}
{% macro same_number(one, other) -%}
({{ one }} is not distinct from {{ other }} or coalesce(abs({{ one }} - {{ other }}) <= 1e-9 * greatest(abs({{ one }}), 1), false))
{%- endmacro %}
