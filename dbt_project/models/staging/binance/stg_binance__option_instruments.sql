with recorded as (
    {{ recorded('binance', 'option_instruments', "from_json(body -> '$.optionSymbols',
        '[{\"symbol\":\"VARCHAR\",\"expiryDate\":\"BIGINT\",\"side\":\"VARCHAR\",\"strikePrice\":\"VARCHAR\",
           \"unit\":\"VARCHAR\",\"quoteAsset\":\"VARCHAR\"}]')") }}
)

select
    tick_ms,
    key,
    requested_ms,
    received_ms,
    endpoint,
    r.symbol as instrument,
    split_part(r.symbol, '-', 1) as coin,
    r.expirydate as expiry_ms,
    try_cast(r.strikeprice as double) as strike,
    lower(r.side) as option_type,
    try_cast(r.unit as double) as contract_size,
    r.quoteasset as settle,
    'trading' as status,
    {{ reject(['instrument', 'expiry_ms', 'strike', 'option_type', 'contract_size']) }}
from recorded
where r.symbol is null or regexp_matches(r.symbol, '^(BTC|ETH)-')
