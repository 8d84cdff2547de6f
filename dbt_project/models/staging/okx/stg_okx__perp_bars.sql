with recorded as (
    {{ recorded('okx', 'perp_bars', "from_json(body -> '$.data', '[[\"VARCHAR\"]]')", may_be_empty=true) }}
)

select
    tick_ms,
    endpoint,
    key,
    requested_ms,
    received_ms,
    key as symbol,
    try_cast(r[1] as bigint) as opened_ms,
    opened_ms + case params ->> '$.bar' when '1m' then 60000 when '1H' then 3600000 when '1Dutc' then 86400000 end - 1 as closed_ms,
    try_cast(r[2] as double) as open,
    try_cast(r[3] as double) as high,
    try_cast(r[4] as double) as low,
    try_cast(r[5] as double) as close,
    try_cast(r[7] as double) as volume,
    try_cast(r[8] as double) as turnover,
    {{ reject(['opened_ms', 'closed_ms', 'open', 'high', 'low', 'close', 'volume', 'turnover']) }}
from recorded
where r[9] is distinct from '0'
