{%- set coin_margined = "coalesce(" ~ binance_is_coin_margined("(event ->> '$.o.s')") ~ ", false)" %}
{%- set fields = {
    "symbol": word("event ->> '$.o.s'"),
    "ts": time_ms("event ->> '$.o.T'", past=true),
    "size": size("case when not " ~ coin_margined ~ " then event ->> '$.o.z' end"),
    "size_contracts": size("case when " ~ coin_margined ~ " then event ->> '$.o.z' end"),
    "price": price("event ->> '$.o.ap'"),
} %}
with recorded as (
    {{ recorded('binance', 'liquidations', "from_json(body, '[{\"received_ms\":\"BIGINT\",\"message\":\"JSON\"}]')",
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
    endpoint,
    key,
    requested_ms,
    r.received_ms as received_ms,
    case event ->> '$.o.S' when 'SELL' then 'long' when 'BUY' then 'short' end as side,
    {{ measured(fields, required=["symbol", "side", "ts", "coalesce(size, size_contracts)", "price"]) }}
from {{ read("frames", fields) }}
where
    -- The stream has USD-M (st 1) and COIN-M (st 2); the symbol of a COIN-M perp ends in _PERP.
    not {{ binance_is_dated("symbol") }}
    -- Responses to a subscription are not events.
    and coalesce(event ->> '$.id', event ->> '$.result') is null
qualify
    reject is not null
    or row_number() over (partition by tick_ms, symbol, ts, side, size, size_contracts, price order by r.received_ms) = 1
