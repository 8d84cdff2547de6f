{#- What was known when: stamps on the rows of the finest market tier and on the hours of history, and how rows are read as
    they were at an earlier time.

    A stamp is the as_of of the edition that first served the value. The rows of a minute are in the edition of that minute,
    its bars in the next or, of quiet markets, up to 70 minutes later: two columns say when. Everything else is rare: a value
    that was served and then changed is kept in `earlier`, with the as_of of the edition that changed it. -#}

{#- The columns of an earlier version, in the order of the struct; `base` to `liq_n` are observed, the others are the bar's. -#}
{% macro observed_columns() %}
  {{ return(["base", "aggregated", "price", "vol24h_usd", "oi_usd", "oi_base", "funding_8h", "funding_n", "liq_long_usd", "liq_short_usd", "liq_n"]) }}
{% endmacro %}
{% macro bar_columns() %}{{ return(["volume_usd", "taker_buy_usd", "taker_sell_usd", "volume_n"] + candle_columns()) }}{% endmacro %}

{#- `earlier` of a row that replaces the row `old`: a version is added if a value that was served has changed. -#}
{% macro earlier_versions(old, changed) -%}
case
    when coalesce({{ old }}.earlier[-1].until_ms, {{ old }}.known_ms) < {{ as_of_ms() }} and ({{ changed }})
      then list_append(coalesce({{ old }}.earlier, []), {{ version_of(old) }})
    else {{ old }}.earlier
  end
{%- endmacro %}

{#- `earlier` of a row that replaces none. -#}
{% macro no_versions(row) -%}case when false then [{{ version_of(row) }}] end{%- endmacro %}

{% macro version_of(row) -%}
{until_ms: {{ as_of_ms() }}::bigint
  {%- for column in observed_columns() + bar_columns() + ["source"] %}, {{ column }}: {{ row }}.{{ column }}{% endfor %}}
{%- endmacro %}

{% macro any_differs(old, new, columns) -%}
{% for column in columns %}{{ old }}.{{ column }} is distinct from {{ new }}.{{ column }}{{ " or " if not loop.last }}{% endfor %}
{%- endmacro %}

{#- A value that a reader sets on its connection (`set variable …`); without it, the default, which is the present and all. -#}
{% macro asked(name, default) -%}coalesce(getvariable('asked_{{ name }}')::bigint, {{ default }}){%- endmacro %}
{% macro asked_time() -%}{{ asked("known_at_ms", 9223372036854775807) }}{%- endmacro %}

{#- The rows of `relation` in the asked range, of the asked coin, as they were at the asked time. DuckDB takes a
    variable for a constant, so that these conditions reach the scan. -#}
{% macro rows_as_known(relation, also="true", bars_later=false) -%}
{%- set identity = ["t", "market_id", "venue", "type", "symbol", "quote", "hip3"] -%}
{%- set values = observed_columns() + bar_columns() -%}
{%- for version in ["", "old."] %}
select {{ identity | join(", ") }}
  {%- for column in observed_columns() %}, {{ version }}{{ column }} as {{ column }}{% endfor %}
  {%- for column in bar_columns() %}, {% if bars_later %}if(bar_known_ms <= {{ asked_time() }}, {{ version }}{{ column }}, {{ 0 if column.endswith("_n") else "null" }}){% else %}{{ version }}{{ column }}{% endif %} as {{ column }}{% endfor %},
  {% if bars_later %}if(bar_known_ms <= {{ asked_time() }}, {{ version }}source, 'recorded'){% else %}{{ version }}source{% endif %} as source
from {% if version %}(select *, list_filter(earlier, lambda version: version.until_ms > {{ asked_time() }})[1] as old from {{ relation }} where earlier is not null) as rows{% else %}{{ relation }} as rows{% endif %}
where rows.known_ms <= {{ asked_time() }}
  and rows.t >= {{ asked("from_ms", 0) }} and rows.t < {{ asked("to_ms", 9223372036854775807) }}
  and (getvariable('asked_base')::varchar is null or {{ version or "rows." }}base = getvariable('asked_base')::varchar)
  and {{ "old is not null" if version else "(rows.earlier is null or rows.earlier[-1].until_ms <= " ~ asked_time() ~ ")" }}
  and {{ also | replace("{version}", version or "rows.") }}
{{ "union all" if not version }}
{%- endfor %}
{%- endmacro %}
