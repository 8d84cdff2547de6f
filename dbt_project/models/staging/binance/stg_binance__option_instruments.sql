{%- set fields = {
    "expiry_ms": time_ms("r.expirydate"),
    "instrument": word("r.symbol"),
    "strike": price("r.strikeprice"),
    "contract_size": contract_size("r.unit"),
} %}
with recorded as (
    {{ recorded('binance', 'option_instruments', "from_json(body -> '$.optionSymbols',
        '[{\"symbol\":\"VARCHAR\",\"expiryDate\":\"VARCHAR\",\"side\":\"VARCHAR\",\"strikePrice\":\"VARCHAR\",
           \"unit\":\"VARCHAR\",\"quoteAsset\":\"VARCHAR\"}]')") }}
)

select
    tick_ms,
    key,
    requested_ms,
    received_ms,
    endpoint,
    split_part(r.symbol, '-', 1) as coin,
    lower(r.side) as option_type,
    r.quoteasset as settle,
    'trading' as status,
    {{ measured(fields, required=["instrument", "expiry_ms", "strike", "option_type", "contract_size"]) }}
from {{ read("recorded", fields) }}
where r.symbol is null or regexp_matches(r.symbol, '^(BTC|ETH)-')
