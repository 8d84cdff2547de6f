with recorded as (
    {{ recorded('gate', 'liquidations', "from_json(body, '[{\"received_ms\":\"BIGINT\",\"message\":\"JSON\"}]')",
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
        unnest(coalesce(
            case
                when json_type(r.message, '$.result') = 'ARRAY' then from_json(r.message -> '$.result', '["JSON"]')
                else [r.message -> '$.result']
            end, [null]
        )) as event
    from recorded
    -- Responses to subscriptions and pings are not events.
    where r is null or (r.message ->> '$.event') = 'update'
)

select
    tick_ms,
    key,
    requested_ms,
    received_ms,
    endpoint,
    event ->> '$.contract' as symbol,
    case sign(try_cast(event ->> '$.size' as double)) when -1 then 'long' when 1 then 'short' end as side,
    try_cast(event ->> '$.time' as bigint) as ts,
    abs(try_cast(event ->> '$.size' as double)) as size_contracts,
    try_cast(event ->> '$.price' as double) as price,
    {{ reject(['symbol', 'side', 'ts', 'size_contracts', 'price']) }}
from events
