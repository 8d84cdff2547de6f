{%- set fields = {
    "instrument": word("r.symbol"),
    "volume_coins": size("r.volume"),
    "volume_usd": amount("r.amount"),
} %}
with recorded as (
    {{ recorded('binance', 'option_volumes', "from_json(body,
        '[{\"symbol\":\"VARCHAR\",\"volume\":\"VARCHAR\",\"amount\":\"VARCHAR\"}]')") }}
)

select
    tick_ms,
    key,
    requested_ms,
    received_ms,
    endpoint,
    {{ measured(fields, required=["instrument", "volume_coins"]) }}
from {{ read("recorded", fields) }}
where r.symbol is null or regexp_matches(r.symbol, '^(BTC|ETH)-')
