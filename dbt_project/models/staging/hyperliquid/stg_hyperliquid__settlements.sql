with recorded as (
    {{ recorded('hyperliquid', 'settlements', "from_json(body,
        '[{\"coin\":\"VARCHAR\",\"fundingRate\":\"VARCHAR\",\"time\":\"BIGINT\"}]')", may_be_empty=true) }}
)

select
    tick_ms,
    endpoint,
    key,
    requested_ms,
    received_ms,
    r.coin as symbol,
    r.time as settled_ms,
    try_cast(r.fundingrate as double) as funding_rate,
    {{ reject(['symbol', 'settled_ms', 'funding_rate']) }}
from recorded
