{#- Binance's statistics of one perp (/futures/data): lists of buckets, oldest first, of the period that was asked for. -#}

{#- The length of a bucket, ms. -#}
{% macro binance_period_ms() -%}
case params ->> '$.period'
        when '5m' then 300000 when '15m' then 900000 when '30m' then 1800000 when '1h' then 3600000 when '2h' then 7200000
        when '4h' then 14400000 when '6h' then 21600000 when '12h' then 43200000 when '1d' then 86400000
    end::bigint
{%- endmacro %}

{#- Long shares. longAccount is the share that is long, also where positions are counted. -#}
{% macro binance_long_fractions(kind) -%}
with recorded as (
    {{ recorded('binance', kind, "from_json(body,
        '[{\"symbol\":\"VARCHAR\",\"longAccount\":\"VARCHAR\",\"timestamp\":\"VARCHAR\"}]')", may_be_empty=true) }}
)

select
    tick_ms,
    key,
    requested_ms,
    received_ms,
    endpoint,
    r.symbol as symbol,
    try_cast(r.timestamp as bigint) as t,
    {{ binance_period_ms() }} as period_ms,
    try_cast(r.longaccount as double) as long_fraction,
    {{ reject(['symbol', 't', 'period_ms', 'long_fraction']) }}
from recorded
{%- endmacro %}
