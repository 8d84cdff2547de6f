with recorded as (
    {{ recorded('lighter', 'settlements', "case when json_valid(body) then coalesce(from_json(body -> '$.fundings',
        '[{\"timestamp\":\"VARCHAR\",\"rate\":\"VARCHAR\",\"direction\":\"VARCHAR\"}]'), []) end", may_be_empty=true) }}
)

select
    tick_ms,
    key,
    requested_ms,
    received_ms,
    endpoint,
    substr(key, strpos(key, ':') + 1) as symbol,
    try_cast(r.timestamp as bigint) * 1000 as settled_ms,
    try_cast(r.rate as double) / 100 * case r.direction when 'long' then 1 when 'short' then -1 end as funding_rate,
    {{ reject(['settled_ms', 'funding_rate']) }}
from recorded
