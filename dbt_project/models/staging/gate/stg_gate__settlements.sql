with recorded as (
    {{ recorded('gate', 'settlements', "from_json(body, '[{\"t\":\"VARCHAR\",\"r\":\"VARCHAR\"}]')", may_be_empty=true) }}
)

select
    tick_ms,
    key,
    requested_ms,
    received_ms,
    endpoint,
    key as symbol,
    try_cast(r.t as bigint) * 1000 as settled_ms,
    try_cast(r.r as double) as funding_rate,
    {{ reject(['settled_ms', 'funding_rate']) }}
from recorded
