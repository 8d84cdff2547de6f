with recorded as (
    {{ recorded('lighter', 'spot_bars', "case when json_valid(body) then coalesce(from_json(body -> '$.c', '[\"JSON\"]'), []) end",
        may_be_empty=true) }}
)

select
    tick_ms,
    key,
    requested_ms,
    received_ms,
    endpoint,
    substr(key, strpos(key, ':') + 1) as symbol,
    try_cast(r ->> '$.t' as bigint) as opened_ms,
    opened_ms + case params ->> '$.resolution' when '1h' then 3600000 when '1d' then 86400000 else 60000 end - 1 as closed_ms,
    try_cast(r ->> '$.o' as double) as open,
    try_cast(r ->> '$.h' as double) as high,
    try_cast(r ->> '$.l' as double) as low,
    try_cast(r ->> '$.c' as double) as close,
    try_cast(r ->> '$.v' as double) as volume,
    try_cast(r ->> '$.V' as double) as turnover,
    {{ reject(['opened_ms', 'closed_ms', 'open', 'high', 'low', 'close', 'volume', 'turnover']) }}
from recorded
