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
    r.symbol as instrument,
    try_cast(r.sumopeninterest as double) as open_contracts,
    open_contracts as open_interest_coins,
    {{ reject(['instrument', 'open_interest_coins']) }}
from recorded
where r.symbol is null or regexp_matches(r.symbol, '^(BTC|ETH)-')
