with recorded as (
    {{ recorded('binance', 'open_interest', "[from_json(body,
        '{\"symbol\":\"VARCHAR\",\"openInterest\":\"VARCHAR\",\"time\":\"VARCHAR\"}')]") }}
)

select
    tick_ms,
    endpoint,
    key,
    requested_ms,
    received_ms,
    r.symbol as symbol,
    try_cast(r.openinterest as double) as open_interest,
    {{ reject(['symbol', 'open_interest']) }}
from recorded
where not contains(coalesce(r.symbol, ''), '_')
