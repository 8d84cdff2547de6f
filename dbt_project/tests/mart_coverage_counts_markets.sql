-- The markets that a coin's row counts are those that count by the definition of each metric, in the minutes of the last
-- three hours.
{{ config(meta={'dagster': {'ref': {'name': 'series_base_1m'}}}) }}
{%- set definitions = {} %}
{%- for metric in (graph.metrics.values() if execute else []) if metric.config.meta.get("coverage") and not metric.config.meta.coverage.get("reads") %}
{%- do definitions.update({metric.config.meta.coverage.family: metric.config.meta.coverage.counted}) %}
{%- endfor %}
with coins as (
  select * from {{ ref("series_base_1m") }} where type = 'all' and t >= {{ newest_minute() }} - 10800000
),

markets as (
  select t, base
    {%- for family in counted_markets() %},
    count_if({{ definitions.get(family, "false") | replace("{minutes}", 1) }}) as n_{{ family }}
    {%- endfor %}
  from {{ ref("series_market_1m") }}
  where aggregated and t >= {{ newest_minute() }} - 10800000
  group by t, base
)

select *
from coins full join markets using (t, base)
where false
  {%- for family in counted_markets() %}
  or coins.n_{{ family }} is distinct from markets.n_{{ family }}
  {%- endfor %}
