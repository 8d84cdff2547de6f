{#- Gate's contract_stats, which publish several long fractions in one row per bucket: `long` and `short` are the counts of
    both sides, `ratio` is long divided by short. -#}
{% macro gate_long_fractions(long, short, ratio) -%}
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
    try_cast(r.time as bigint) * 1000 as t,
    case params ->> '$.interval'
        when '1m' then 60000 when '5m' then 300000 when '15m' then 900000 when '1h' then 3600000 when '4h' then 14400000
        when '1d' then 86400000
    end::bigint as period_ms,
    -- Before Gate added the counts, it published the ratio only.
    coalesce(
        try_cast(r.{{ long }} as double) / (try_cast(r.{{ long }} as double) + try_cast(r.{{ short }} as double)),
        try_cast(r.{{ ratio }} as double) / (1 + try_cast(r.{{ ratio }} as double))
    ) as long_fraction,
    {{ reject(['t', 'period_ms', 'long_fraction']) }}
from recorded
where r is null or (coalesce(try_cast(r.{{ long }} as double) + try_cast(r.{{ short }} as double) > 0, true)
    and coalesce(t + period_ms <= tick_ms, true))
{%- endmacro %}
