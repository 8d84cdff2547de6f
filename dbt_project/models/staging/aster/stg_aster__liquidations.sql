{%- set fields = {
    "symbol": word("event ->> '$.o.s'"),
    "ts": time_ms("event ->> '$.o.T'", past=true),
    "size": size("event ->> '$.o.z'"),
    "price": price("event ->> '$.o.ap'"),
} %}
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
    case event ->> '$.o.S' when 'SELL' then 'long' when 'BUY' then 'short' end as side,
    {{ measured(fields, required=["symbol", "side", "ts", "size", "price"]) }}
from {{ read("frames", fields) }}
where
    not starts_with(coalesce(symbol, ''), 'TEST')
    -- Responses to a subscription are not events.
    and coalesce(event ->> '$.id', event ->> '$.result') is null
qualify
    reject is not null
    or row_number() over (partition by tick_ms, symbol, ts, side, size, price order by r.received_ms) = 1
