with recorded as (
    {{ recorded('bybit', 'liquidations', "from_json(body, '[{\"received_ms\":\"BIGINT\",\"message\":\"JSON\"}]')",
        may_be_empty=true) }}
),

events as (
    select
        tick_ms,
        endpoint,
        key,
        requested_ms,
        r.received_ms as received_ms,
        r,
        unnest(coalesce(from_json(r.message -> '$.data', '["JSON"]'), [null])) as event
    from recorded
    -- Responses to subscriptions and pings are not events.
    where r is null or (r.message ->> '$.op') is null
)

select
    tick_ms,
    endpoint,
    key,
    requested_ms,
    received_ms,
    event ->> '$.s' as symbol,
    case event ->> '$.S' when 'Buy' then 'long' when 'Sell' then 'short' end as side,
    try_cast(event ->> '$.T' as bigint) as ts,
    try_cast(event ->> '$.v' as double) as size,
    try_cast(event ->> '$.p' as double) as price,
    {{ reject(['symbol', 'side', 'ts', 'size', 'price']) }}
from events
where not contains(coalesce(symbol, ''), '-')
