{#- Time buckets: the steps of the series tiers, and the newest recorded minute. All times are UTC epoch ms. -#}

{#- Steps in order, finest first; each tier is built from the one before it. 3d is not stored but computed when read:
    ten years are fewer than 1,500 of them. -#}
{% macro steps() %}
  {{ return({
    "1m": 60000, "5m": 300000, "15m": 900000, "1h": 3600000, "4h": 14400000, "1d": 86400000, "3d": 259200000
  }) }}
{% endmacro %}

{#- Its width: a number, or of the step `asked` the expression for what the reader asked. -#}
{% macro step_ms(step) %}{{ return(asked("step_ms", steps()["5m"]) if step == "asked" else steps()[step]) }}{% endmacro %}

{% macro step_minutes(step) -%}
{{ return("(" ~ step_ms(step) ~ " // 60000)" if step == "asked" else step_ms(step) // 60000) }}
{%- endmacro %}

{% macro finer_step(step) %}
  {%- set names = steps().keys() | list -%}
  {{ return(names[names.index(step) - 1]) }}
{% endmacro %}

{#- Start of the bucket that holds the time in `column`. -#}
{% macro bucket(column, step) -%}
({{ column }} - {{ column }} % {{ step_ms(step) }})
{%- endmacro %}

{#- The newest minute in which the recorder wrote anything: "now" for every live table. -#}
{% macro newest_minute() -%}
(select max(end_ms) - 60000 from {{ ref("recording_runs") }} where venue = '')
{%- endmacro %}

{#- The newest minute as a number, for scans of long tables: DuckDB's zone maps skip old row groups for literal bounds, not
    for the result of a subquery. -#}
{% macro newest_minute_ms() -%}
{{ return(known_ms(ref("recording_runs"), "max(end_ms) filter (venue = '') - 60000")) }}
{%- endmacro %}

{#- The first minute that was recorded, as a number; 0 while nothing is. -#}
{% macro recorded_since_ms() -%}
{{ return(known_ms(ref("recording_runs"), "min(start_ms) filter (venue = '')")) }}
{%- endmacro %}

{#- The as_of of the edition that this build leads to, as a number: the end of rolling windows. -#}
{% macro as_of_ms() -%}
{%- set as_of = known_ms(source("pipeline", "settings"), "max(if(name = 'as_of_ms', value, null))::bigint") -%}
{{ return(as_of or newest_minute_ms()) }}
{%- endmacro %}

{#- The result of `expression` over `relation`; 0 while dbt parses, or if the relation does not exist or is empty. -#}
{% macro known_ms(relation, expression) -%}
{%- set known = execute and load_relation(relation) -%}
{{ return((run_query("select " ~ expression ~ " from " ~ relation).rows[0][0] if known else 0) or 0) }}
{%- endmacro %}

{#- Merges intervals [start_ms, end_ms) of one `key` that touch; intervals of one key must not overlap. -#}
{% macro merge_intervals(relation, key) -%}
select {{ key }}, min(start_ms) as start_ms, max(end_ms) as end_ms
from (
  select *, count(*) filter (where opens) over (partition by {{ key }} order by start_ms) as island
  from (
    select *, start_ms is distinct from lag(end_ms) over (partition by {{ key }} order by start_ms) as opens
    from {{ relation }}
  )
)
group by {{ key }}, island
{%- endmacro %}
