{%- set fields = {
    "symbol": word("r.market"),
} %}
with recorded as (
    {{ recorded('bithumb', 'spot_instruments', "from_json(body, '[{\"market\":\"VARCHAR\"}]')") }}
)

select
    tick_ms,
    key,
    requested_ms,
    received_ms,
    endpoint,
    nullif(split_part(r.market, '-', 2), '') as base_raw,
    nullif(split_part(r.market, '-', 1), '') as quote,
    'trading' as status,
    {{ measured(fields, required=["symbol", "base_raw", "quote"]) }}
from {{ read("recorded", fields) }}
where coalesce(quote, 'KRW') = 'KRW'
