{#- A staging view of Gate's contract_stats, which publish every statistic of a perp in one row per bucket: `columns` are
    those that it reads, `fields` what it makes of them beside `t`, in the rows that `rows` selects. -#}
{% macro gate_statistics(columns, fields, required=[], unit=none, rows="true") -%}
{%- set read_columns = ["time"] + columns -%}
{%- set fields = dict({"t": time_ms("r.time", "s", past=true)}, **fields) -%}
with recorded as (
    {{ recorded('gate', 'contract_stats', "from_json(body,
        '[{\"" ~ read_columns | join("\":\"VARCHAR\",\"") ~ "\":\"VARCHAR\"}]')", may_be_empty=true) }}
)

select
    tick_ms,
    key,
    requested_ms,
    received_ms,
    endpoint,
    key as symbol,
    {{ period_ms("params ->> '$.interval'") }} as period_ms,
    {%- if unit %}
    '{{ unit }}' as unit,
    {%- endif %}
    {{ measured(fields, required=["t", "period_ms"] + required) }}
from {{ read("recorded", fields) }}
where r is null or ({{ rows }} and coalesce(t + period_ms <= tick_ms, true))
{%- endmacro %}

{#- Long fractions: `long` and `short` are the counts of both sides, `ratio` is long divided by short. Before Gate added the
    counts, it published the ratio only. -#}
{% macro gate_long_fractions(long, short, ratio) -%}
{{ gate_statistics([ratio, long, short], {
    "_long": size("r." ~ long),
    "_short": size("r." ~ short),
    "_long_by_ratio": number("r." ~ ratio, "fraction", "{0} / (1 + {0})"),
    "long_fraction": "coalesce(_long / nullif(_long + _short, 0), _long_by_ratio)",
}, required=["long_fraction"], rows="_long + _short is distinct from 0") }}
{%- endmacro %}
