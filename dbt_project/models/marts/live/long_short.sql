{{ config(
  incremental_strategy="replace_all",
  triggers=endpoints_of(["long_short_accounts", "long_short_top_accounts", "long_short_top_positions"])
) }}
{%- set now_ms = newest_minute_ms() %}
{#- Quiet markets are requested once an hour. -#}
{%- set oldest_ms = 7200000 %}
{%- set bucket_ms = 300000 %}
{%- set ages = {"1h": 3600000, "4h": 14400000, "24h": 86400000} %}
{%- set ratios %}
  select market_id, venue, kind, symbol, base, t, long_fraction
  from {{ ref("int_ratios") }}
  where period_ms = {{ bucket_ms }} and long_fraction is not null
    -- As one text: a pair would be compared column by column with each of them.
    and list_contains([
      {%- for venue, kind in var("snapshot_ratios") %}'{{ venue }} {{ kind }}'{{ ", " if not loop.last }}{% endfor -%}
    ], venue || ' ' || kind)
{%- endset %}
-- Not by `qualify`, for which DuckDB would look the chosen rows up in the whole table.
with newest as (
  select unnest(max_by(facts, t))
  from ({{ ratios }} and t between {{ now_ms - oldest_ms }} and {{ now_ms }}) as facts
  group by market_id, kind
),
{% for name, age_ms in ages.items() %}
ago_{{ name }} as (
  {{ ratios }} and t between {{ now_ms - oldest_ms - age_ms - bucket_ms }} and {{ now_ms - age_ms }}
),
{% endfor %}
changes as (
  select
    newest.base, newest.venue, newest.kind, newest.symbol, newest.t, newest.long_fraction, oi_usd,
    {%- for name, age_ms in ages.items() %}
    -- From that time's bucket, or from the bucket before it.
    if(ago_{{ name }}.t >= newest.t - {{ age_ms + bucket_ms }}, newest.long_fraction - ago_{{ name }}.long_fraction, null) as chg_{{ name }}
    {{- "," if not loop.last }}
    {%- endfor %}
  from newest
  {%- for name, age_ms in ages.items() %}
  asof left join ago_{{ name }}
    on newest.market_id = ago_{{ name }}.market_id and newest.kind = ago_{{ name }}.kind
    and newest.t - {{ age_ms }} >= ago_{{ name }}.t
  {%- endfor %}
  -- Markets that are no longer listed drop out.
  join {{ ref("live_markets") }} as live on newest.market_id = live.market_id
),

highest_oi as (
  select *, {
    symbol: symbol, "long": long_fraction, ts: t
    {%- for name in ages %},
    chg_{{ name }}: chg_{{ name }}
    {%- endfor %}
  } as ratio
  from changes
  qualify row_number() over (partition by base, venue, kind order by oi_usd desc nulls last, symbol) = 1
)

select
  base
  {%- for venue, kind in var("snapshot_ratios") %},
  any_value(ratio) filter (venue = '{{ venue }}' and kind = '{{ kind }}') as {{ venue }}_{{ kind }}
  {%- endfor %}
from highest_oi
group by base
