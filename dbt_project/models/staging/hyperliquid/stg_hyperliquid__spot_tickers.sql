with contexts as (
    {{ recorded('hyperliquid', 'spot_tickers', "from_json(body -> '$[1]',
        '[{\"coin\":\"VARCHAR\",\"midPx\":\"VARCHAR\",\"markPx\":\"VARCHAR\",\"dayNtlVlm\":\"VARCHAR\"}]')") }}
),

pairs as (
    {{ recorded('hyperliquid', 'spot_tickers', "from_json(body -> '$[0].universe', '[{\"name\":\"VARCHAR\"}]')") }}
)

select
    c.tick_ms,
    c.endpoint,
    c.key,
    c.requested_ms,
    c.received_ms,
    c.r.coin as symbol,
    try_cast(c.r.markpx as double) as mark_price,
    coalesce(try_cast(c.r.midpx as double), try_cast(c.r.markpx as double)) as last_price,
    try_cast(c.r.dayntlvlm as double) as vol24h_quote,
    case
        when c.r is null then 'unreadable'
        when c.r.coin is null or p.r is null or try_cast(c.r.markpx as double) is null or vol24h_quote is null then 'incomplete'
    end as reject
from contexts as c
left join pairs as p on c.tick_ms = p.tick_ms and c.requested_ms = p.requested_ms and c.r.coin = p.r.name
qualify c.r is null or p.r is not null or count(p.r) over (partition by c.tick_ms, c.requested_ms) = 0
