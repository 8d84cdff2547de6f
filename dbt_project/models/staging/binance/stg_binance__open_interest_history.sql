with recorded as (
    {{ recorded('binance', 'open_interest_history', "from_json(body,
        '[{\"symbol\":\"VARCHAR\",\"sumOpenInterest\":\"VARCHAR\",\"sumOpenInterestValue\":\"VARCHAR\",\"timestamp\":\"VARCHAR\"}]')",
        may_be_empty=true) }}
)

select
    tick_ms,
    key,
    requested_ms,
    received_ms,
    endpoint,
    r.symbol as symbol,
    try_cast(r.timestamp as bigint) as t,
    {{ binance_period_ms() }}::bigint as period_ms,
    try_cast(r.sumopeninterest as double) as open_interest,
    try_cast(r.sumopeninterestvalue as double) as open_interest_usd,
    {{ reject(['symbol', 't', 'period_ms', 'open_interest']) }}
from recorded
