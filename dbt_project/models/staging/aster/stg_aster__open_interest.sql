with recorded as (
    {{ recorded('aster', 'open_interest', "[from_json(body,
        '{\"symbol\":\"VARCHAR\",\"openInterest\":\"VARCHAR\"}')]") }}
)

select
    tick_ms,
    key,
    requested_ms,
    received_ms,
    endpoint,
    r.symbol as symbol,
    try_cast(r.openinterest as double) as open_interest,
    {{ reject(['symbol', 'open_interest']) }}
from recorded
