{%- set fields = {
    "instrument": word("r.symbol"),
    "open_contracts": size("r.sumopeninterest"),
    "open_interest_coins": "open_contracts",
} %}
with recorded as (
    {{ recorded('binance', 'option_open_interest', "from_json(body,
        '[{\"symbol\":\"VARCHAR\",\"sumOpenInterest\":\"VARCHAR\"}]')") }}
)

select
    tick_ms,
    key,
    requested_ms,
    received_ms,
    endpoint,
    {{ measured(fields, required=["instrument", "open_interest_coins"]) }}
from {{ read("recorded", fields) }}
where r.symbol is null or regexp_matches(r.symbol, '^(BTC|ETH)-')
