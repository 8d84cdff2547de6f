with recorded as (
    {{ recorded('aster', 'liquidations', "from_json(body, '[{\"received_ms\":\"BIGINT\",\"message\":\"JSON\"}]')",
        may_be_empty=true) }}
),

frames as (
    select
        *,
        coalesce(r.message -> '$.data', r.message) as event
    from recorded
)

select
    tick_ms,
    key,
    requested_ms,
    r.received_ms as received_ms,
    endpoint,
    event ->> '$.o.s' as symbol,
    case event ->> '$.o.S' when 'SELL' then 'long' when 'BUY' then 'short' end as side,
    try_cast(event ->> '$.o.T' as bigint) as ts,
    try_cast(event ->> '$.o.z' as double) as size,
    try_cast(event ->> '$.o.ap' as double) as price,
    {{ reject(['symbol', 'side', 'ts', 'size', 'price']) }}
from frames
where
    not starts_with(coalesce(symbol, ''), 'TEST')
    -- Responses to a subscription are not events.
    and coalesce(event ->> '$.id', event ->> '$.result') is null
qualify
    reject is not null
    or row_number() over (partition by tick_ms, symbol, ts, side, size, price order by r.received_ms) = 1
