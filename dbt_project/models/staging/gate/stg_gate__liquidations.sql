{%- set fields = {
    "symbol": word("event ->> '$.contract'"),
    "ts": time_ms("event ->> '$.time'", past=true),
    "price": price("event ->> '$.price'"),
    "size_contracts": size("event ->> '$.size'", "nullif(abs({}), 0)"),
} %}
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
    case when left(event ->> '$.size', 1) = '-' then 'long' else 'short' end as side,
    {{ measured(fields, required=["symbol", "side", "ts", "size_contracts", "price"]) }}
from {{ read("events", fields) }}
