{%- set fields = {
    "symbol": word("event ->> '$.symbol'"),
    "ts": time_ms("event ->> '$.ts'", past=true),
    "size_quote": amount("event ->> '$.amount'"),
    "price": price("event ->> '$.price'"),
} %}
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
    case event ->> '$.side' when 'buy' then 'long' when 'sell' then 'short' end as side,
    {{ measured(fields, required=["symbol", "side", "ts", "size_quote", "price"]) }}
from {{ read("events", fields) }}
