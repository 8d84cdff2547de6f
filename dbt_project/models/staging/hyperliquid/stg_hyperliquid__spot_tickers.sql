-- spotMetaAndAssetCtxs; one row per spot pair. Contexts outnumber the universe, so they are matched by name (`@107`,
-- `PURR/USDC`), never by position; token names are found by their `index` field. midPx is null without a book;
-- dayNtlVlm is in the quote token.
with contexts as (
    {{ recorded('hyperliquid', 'spot_tickers', "from_json(body -> '$[1]',
        '[{\"coin\":\"VARCHAR\",\"midPx\":\"VARCHAR\",\"markPx\":\"VARCHAR\",\"dayNtlVlm\":\"VARCHAR\"}]')") }}
),

pairs as (
    {{ recorded('hyperliquid', 'spot_tickers', "from_json(body -> '$[0].universe',
        '[{\"name\":\"VARCHAR\",\"tokens\":[\"INTEGER\"]}]')") }}
),

tokens as (
    {{ recorded('hyperliquid', 'spot_tickers', "from_json(body -> '$[0].tokens',
        '[{\"index\":\"INTEGER\",\"name\":\"VARCHAR\"}]')") }}
)

select
    c.tick_ms,
    c.key,
    c.requested_ms,
    c.received_ms,
    c.r.coin as symbol,
    b.r.name as base_raw,
    q.r.name as quote,
    try_cast(c.r.midpx as double) as mid_price,
    try_cast(c.r.markpx as double) as mark_price,
    try_cast(c.r.dayntlvlm as double) as vol24h_quote,
    case
        when c.r is null then 'unreadable'
        when symbol is null or base_raw is null or quote is null or mark_price is null or vol24h_quote is null then 'incomplete'
    end as reject
from contexts as c
left join pairs as p
    on c.tick_ms = p.tick_ms and c.requested_ms = p.requested_ms and c.r.coin = p.r.name
left join tokens as b
    on c.tick_ms = b.tick_ms and c.requested_ms = b.requested_ms and p.r.tokens[1] = b.r.index
left join tokens as q
    on c.tick_ms = q.tick_ms and c.requested_ms = q.requested_ms and p.r.tokens[2] = q.r.index
-- A context without a pair in the universe is a market that does not trade (yet, or any more).
qualify c.r is null or p.r is not null or count(p.r) over (partition by c.tick_ms, c.requested_ms) = 0
