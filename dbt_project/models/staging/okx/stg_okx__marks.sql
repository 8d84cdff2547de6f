{%- set fields = {
    "symbol": word("r.instid"),
    "mark_price": price("r.markpx", zero="kept"),
} %}
with recorded as (
    {{ recorded('okx', 'marks', "from_json(body -> '$.data',
        '[{\"instId\":\"VARCHAR\",\"instType\":\"VARCHAR\",\"markPx\":\"VARCHAR\"}]')") }}
),

indices as (
    select
        tick_ms,
        symbol || '-SWAP' as perp,
        max_by(index_price, requested_ms) as index_price
    from {{ ref('stg_okx__index_tickers') }}
    where reject is null
    group by tick_ms, perp
)

select
    m.tick_ms,
    m.endpoint,
    m.key,
    m.requested_ms,
    m.received_ms,
    i.index_price,
    {{ measured(fields, required=["symbol", "mark_price"]) }}
from {{ read("recorded", fields) }} as m
left join indices as i on m.tick_ms = i.tick_ms and m.symbol = i.perp
where coalesce(m.r.insttype, 'SWAP') = 'SWAP'
