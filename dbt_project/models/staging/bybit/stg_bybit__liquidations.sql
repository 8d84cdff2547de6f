{%- set fields = {
    "symbol": word("event ->> '$.s'"),
    "ts": time_ms("event ->> '$.T'", past=true),
    "size": size("case when not ends_with(event ->> '$.s', 'USD') then event ->> '$.v' end"),
    "size_contracts": size("case when ends_with(event ->> '$.s', 'USD') then event ->> '$.v' end"),
    "price": price("event ->> '$.p'"),
} %}
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
    case event ->> '$.S' when 'Buy' then 'long' when 'Sell' then 'short' end as side,
    {{ measured(fields, required=["symbol", "side", "ts", "coalesce(size, size_contracts)", "price"]) }}
from {{ read("events", fields) }}
where not contains(coalesce(symbol, ''), '-')
