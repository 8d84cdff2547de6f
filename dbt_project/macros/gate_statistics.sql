{#- Gate's contract_stats, which publish several long fractions in one row per bucket: `long` and `short` are the counts of
    both sides, `ratio` is long divided by short. Before Gate added the counts, it published the ratio only. -#}
{% macro gate_long_fractions(long, short, ratio) -%}
{%- set fields = {
    "t": time_ms("r.time", "s", past=true),
    "_long": size("r." ~ long),
    "_short": size("r." ~ short),
    "_long_by_ratio": number("r." ~ ratio, "fraction", "{0} / (1 + {0})"),
    "long_fraction": "coalesce(_long / nullif(_long + _short, 0), _long_by_ratio)",
} %}
with recorded as (
    {{ recorded('gate', 'contract_stats', "from_json(body,
        '[{\"time\":\"VARCHAR\",\"" ~ ratio ~ "\":\"VARCHAR\",\"" ~ long ~ "\":\"VARCHAR\",\"" ~ short ~ "\":\"VARCHAR\"}]')", may_be_empty=true) }}
)

select
    tick_ms,
    key,
    requested_ms,
    received_ms,
    endpoint,
    key as symbol,
    {{ period_ms("params ->> '$.interval'") }} as period_ms,
    {{ measured(fields, required=["t", "period_ms", "long_fraction"]) }}
from {{ read("recorded", fields) }}
where r is null or (_long + _short is distinct from 0 and coalesce(t + period_ms <= tick_ms, true))
{%- endmacro %}
