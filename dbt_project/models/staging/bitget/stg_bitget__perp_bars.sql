with recorded as (
    {{ recorded('bitget', 'perp_bars', "from_json(body -> '$.data', '[[\"VARCHAR\"]]')",
        may_be_empty=true) }}
)

select
    tick_ms,
    key,
    requested_ms,
    received_ms,
    endpoint,
    key as symbol,
    try_cast(r[1] as bigint) as opened_ms,
    opened_ms
    + try_cast(regexp_extract(params ->> '$.granularity', '^[0-9]+') as bigint)
        * case regexp_extract(params ->> '$.granularity', '^[0-9]+(.)', 1)
            when 'm' then 60000 when 'h' then 3600000 when 'H' then 3600000 when 'd' then 86400000 when 'D' then 86400000
        end - 1 as closed_ms,
    try_cast(r[2] as double) as open,
    try_cast(r[3] as double) as high,
    try_cast(r[4] as double) as low,
    try_cast(r[5] as double) as close,
    try_cast(r[6] as double) as volume,
    try_cast(r[7] as double) as turnover,
    {{ reject(['opened_ms', 'closed_ms', 'open', 'close', 'volume', 'turnover']) }}
from recorded
