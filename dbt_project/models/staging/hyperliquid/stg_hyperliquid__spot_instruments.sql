{%- set fields = {
    "symbol": word("r.name"),
    "base_raw": word("base_name"),
    "quote": word("quote_name"),
} %}
with pairs as (
    {{ recorded('hyperliquid', 'spot_tickers', "from_json(body -> '$[0].universe',
        '[{\"name\":\"VARCHAR\",\"tokens\":[\"INTEGER\"]}]')") }}
),

tokens as (
    {{ recorded('hyperliquid', 'spot_tickers', "from_json(body -> '$[0].tokens',
        '[{\"index\":\"INTEGER\",\"name\":\"VARCHAR\"}]')") }}
),

named as (
    select p.*, b.r.name as base_name, q.r.name as quote_name
    from pairs as p
    left join tokens as b
        on p.tick_ms = b.tick_ms and p.requested_ms = b.requested_ms and p.r.tokens[1] = b.r.index
    left join tokens as q
        on p.tick_ms = q.tick_ms and p.requested_ms = q.requested_ms and p.r.tokens[2] = q.r.index
)

select
    tick_ms,
    endpoint,
    key,
    requested_ms,
    received_ms,
    'hyperliquid:' || base_name as base_fallback,
    'trading' as status,
    {{ measured(fields, required=["symbol", "base_raw", "quote"]) }}
from {{ read("named", fields) }}
