with recorded as (
    {{ recorded('gate', 'perp_bars', "from_json(body,
        '[{\"t\":\"VARCHAR\",\"o\":\"VARCHAR\",\"h\":\"VARCHAR\",\"l\":\"VARCHAR\",\"c\":\"VARCHAR\",\"v\":\"VARCHAR\",
           \"sum\":\"VARCHAR\"}]')", may_be_empty=true) }}
)

select
    tick_ms,
    key,
    requested_ms,
    received_ms,
    endpoint,
    key as symbol,
    try_cast(r.t as bigint) * 1000 as opened_ms,
    opened_ms + case params ->> '$.interval'
        when '1m' then 60000 when '5m' then 300000 when '15m' then 900000 when '1h' then 3600000 when '4h' then 14400000
        when '1d' then 86400000
    end - 1 as closed_ms,
    try_cast(r.o as double) as open,
    try_cast(r.h as double) as high,
    try_cast(r.l as double) as low,
    try_cast(r.c as double) as close,
    try_cast(r.v as double) as volume_contracts,
    try_cast(r.sum as double) as turnover,
    {{ reject(['opened_ms', 'closed_ms', 'open', 'close', 'volume_contracts', 'turnover']) }}
from recorded
