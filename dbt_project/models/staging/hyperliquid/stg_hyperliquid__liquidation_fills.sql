{{ config(tags=['across_minutes']) }}
{%- set fields = {
    "symbol": word("r ->> '$.coin'"),
    "ts": time_ms("r ->> '$.time'", past=true),
    "size": size("r ->> '$.sz'"),
    "price": price("r ->> '$.px'"),
    "mark_price": price("r ->> '$.liquidation.markPx'", zero="kept"),
} %}
with frames as (
    {{ recorded('hyperliquid', 'liquidator_fills', "from_json(body, '[{\"received_ms\":\"BIGINT\",\"message\":\"JSON\"}]')",
        may_be_empty=true) }}
),

pages as (
    {{ recorded('hyperliquid', 'wallet_fills', "from_json(body, '[\"JSON\"]')", may_be_empty=true) }}
),

fills as (
    select
        tick_ms, endpoint, key, requested_ms, r.received_ms as received_ms, r.message ->> '$.data.user' as user,
        unnest(coalesce(from_json(r.message -> '$.data.fills', '["JSON"]'), [null])) as r
    from frames
    where r is null or (r.message ->> '$.channel') = 'userFills'
    union all
    select tick_ms, endpoint, key, requested_ms, received_ms, key as user, r
    from pages
)

select
    tick_ms,
    endpoint,
    key,
    requested_ms,
    received_ms,
    r ->> '$.tid' as tid,
    lower(r ->> '$.liquidation.liquidatedUser') as wallet,
    case when wallet = lower(user) then 'victim' else 'counterparty' end as role,
    case
        when wallet is null then null
        when ((r ->> '$.side') = 'A') = (role = 'victim') then 'long'
        else 'short'
    end as side,
    r ->> '$.liquidation.method' as method,
    {{ measured(fields, required=["symbol", "ts", "tid", "side", "size", "price"]) }}
from {{ read("fills", fields) }}
where r is null or json_type(r -> '$.liquidation') = 'OBJECT'
qualify reject is not null or row_number() over (partition by symbol, ts, tid order by role desc, received_ms) = 1
