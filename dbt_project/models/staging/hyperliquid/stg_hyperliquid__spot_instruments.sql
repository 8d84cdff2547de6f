with pairs as (
    {{ recorded('hyperliquid', 'spot_tickers', "from_json(body -> '$[0].universe',
        '[{\"name\":\"VARCHAR\",\"tokens\":[\"INTEGER\"]}]')") }}
),

tokens as (
    {{ recorded('hyperliquid', 'spot_tickers', "from_json(body -> '$[0].tokens',
        '[{\"index\":\"INTEGER\",\"name\":\"VARCHAR\"}]')") }}
)

select
    p.tick_ms,
    p.endpoint,
    p.key,
    p.requested_ms,
    p.received_ms,
    p.r.name as symbol,
    b.r.name as base_raw,
    'hyperliquid:' || b.r.name as base_fallback,
    q.r.name as quote,
    'trading' as status,
    case
        when p.r is null then 'unreadable'
        when p.r.name is null or b.r.name is null or q.r.name is null then 'incomplete'
    end as reject
from pairs as p
left join tokens as b
    on p.tick_ms = b.tick_ms and p.requested_ms = b.requested_ms and p.r.tokens[1] = b.r.index
left join tokens as q
    on p.tick_ms = q.tick_ms and p.requested_ms = q.requested_ms and p.r.tokens[2] = q.r.index
