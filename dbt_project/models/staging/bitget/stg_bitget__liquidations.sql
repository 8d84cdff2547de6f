with recorded as (
    {{ recorded('bitget', 'liquidations', "from_json(body, '[{\"received_ms\":\"BIGINT\",\"message\":\"JSON\"}]')",
        may_be_empty=true) }}
),

events as (
    select
        tick_ms,
        key,
        requested_ms,
        r.received_ms as received_ms,
        endpoint,
        r,
        unnest(coalesce(from_json(r.message -> '$.data', '["JSON"]'), [null])) as event
    from recorded
    -- Responses to subscriptions are not events.
    where r is null or (r.message ->> '$.event') is null
)

select
    tick_ms,
    key,
    requested_ms,
    received_ms,
    endpoint,
    event ->> '$.symbol' as symbol,
    case event ->> '$.side' when 'buy' then 'long' when 'sell' then 'short' end as side,
    try_cast(event ->> '$.ts' as bigint) as ts,
    try_cast(event ->> '$.amount' as double) as size_quote,
    try_cast(event ->> '$.price' as double) as price,
    {{ reject(['symbol', 'side', 'ts', 'size_quote', 'price']) }}
from events
