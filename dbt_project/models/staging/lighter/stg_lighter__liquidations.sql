{{ config(tags=['across_minutes']) }}
{%- set fields = {
    "ts": time_ms("trade ->> '$.timestamp'", past=true),
    "size": size("trade ->> '$.size'"),
    "price": price("trade ->> '$.price'"),
} %}
with recorded as (
    {{ recorded('lighter', 'liquidations', "from_json(body, '[{\"received_ms\":\"BIGINT\",\"message\":\"JSON\"}]')",
        may_be_empty=true) }}
),

markets as (
    {{ recorded('lighter', 'perp_tickers', "from_json(body -> '$.order_book_details',
        '[{\"symbol\":\"VARCHAR\",\"market_id\":\"VARCHAR\"}]')", may_be_empty=true) }}
),

named as (
    select tick_ms, r.market_id as market, r.symbol as symbol
    from markets
    where r.symbol is not null
    union all
    select tick_ms, split_part(key, ':', 1) as market, substr(key, strpos(key, ':') + 1) as symbol
    from {{ ref('raw_window') }}
    where venue = 'lighter' and contains(key, ':')
),

names as (
    select market, max_by(symbol, tick_ms) as symbol
    from named
    group by market
),

trades as (
    select
        *,
        unnest(coalesce(from_json(r.message -> '$.liquidation_trades', '["JSON"]'), [])) as trade
    from recorded
    where r is not null and (r.message ->> '$.type') = 'update/trade'
    union all by name
    -- A body that cannot be read, or a frame that is no object, stays a row.
    select *, null::json as trade
    from recorded
    where r is null or json_type(r.message) is distinct from 'OBJECT'
)

select
    t.tick_ms,
    t.key,
    t.requested_ms,
    t.r.received_ms as received_ms,
    t.endpoint,
    n.symbol,
    case t.trade ->> '$.is_maker_ask' when 'false' then 'long' when 'true' then 'short' end as side,
    {{ measured(fields, required=["n.symbol", "side", "ts", "size", "price"]) }}
from {{ read("trades", fields) }} as t
left join names as n on (t.trade ->> '$.market_id') = n.market
where coalesce(t.trade ->> '$.type', 'liquidation') = 'liquidation'
qualify
    reject is not null
    or row_number() over (partition by t.tick_ms, n.symbol, t.trade ->> '$.trade_id' order by t.r.received_ms, t.key) = 1
