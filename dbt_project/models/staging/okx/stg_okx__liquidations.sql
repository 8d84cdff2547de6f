{%- set fields = {
    "symbol": word("contract ->> '$.instId'"),
    "ts": time_ms("event ->> '$.ts'", past=true),
    "size_contracts": size("event ->> '$.sz'"),
    "price": price("event ->> '$.bkPx'"),
} %}
with recorded as (
    {{ recorded('okx', 'liquidations', "from_json(body, '[{\"received_ms\":\"BIGINT\",\"message\":\"JSON\"}]')",
        may_be_empty=true) }}
),

contracts as (
    select
        tick_ms,
        endpoint,
        key,
        requested_ms,
        r.received_ms as received_ms,
        r,
        unnest(coalesce(from_json(r.message -> '$.data', '["JSON"]'), [null])) as contract
    from recorded
    -- Responses to subscriptions are not events.
    where r is null or (r.message ->> '$.event') is null
),

events as (
    select
        *,
        unnest(coalesce(from_json(contract -> '$.details', '["JSON"]'), [null])) as event
    from contracts
    where coalesce(contract ->> '$.instType', 'SWAP') = 'SWAP'
)

select
    tick_ms,
    endpoint,
    key,
    requested_ms,
    received_ms,
    case
        when event ->> '$.posSide' in ('long', 'short') then event ->> '$.posSide'
        when event ->> '$.side' = 'sell' then 'long'
        when event ->> '$.side' = 'buy' then 'short'
    end as side,
    {{ measured(fields, required=["symbol", "side", "ts", "size_contracts", "price"]) }}
from {{ read("events", fields) }}
