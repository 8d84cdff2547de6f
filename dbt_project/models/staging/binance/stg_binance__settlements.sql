with recorded as (
    {{ recorded('binance', 'settlements', "from_json(body,
        '[{\"symbol\":\"VARCHAR\",\"fundingTime\":\"VARCHAR\",\"fundingRate\":\"VARCHAR\"}]')") }}
)

select
    tick_ms,
    key,
    requested_ms,
    received_ms,
    endpoint,
    r.symbol as symbol,
    try_cast(r.fundingtime as bigint) as settled_ms,
    try_cast(r.fundingrate as double) as funding_rate,
    {{ reject(['symbol', 'settled_ms', 'funding_rate']) }}
from recorded
where not contains(coalesce(r.symbol, ''), '_')
