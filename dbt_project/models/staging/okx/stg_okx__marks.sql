with recorded as (
    {{ recorded('okx', 'marks', "from_json(body -> '$.data',
        '[{\"instId\":\"VARCHAR\",\"instType\":\"VARCHAR\",\"markPx\":\"VARCHAR\"}]')") }}
),

indices as (
    select
        tick_ms,
        symbol,
        max_by(index_price, requested_ms) as index_price
    from {{ ref('stg_okx__index_tickers') }}
    where reject is null
    group by all
),

marks as (
    select
        *,
        r.instid as symbol,
        try_cast(r.markpx as double) as mark_price
    from recorded
    where coalesce(r.insttype, 'SWAP') = 'SWAP'
)

select
    m.tick_ms,
    m.endpoint,
    m.key,
    m.requested_ms,
    m.received_ms,
    m.symbol,
    m.mark_price,
    i.index_price,
    {{ reject(['m.symbol', 'm.mark_price']) }}
from marks as m
left join indices as i on m.tick_ms = i.tick_ms and m.symbol = i.symbol || '-SWAP'
