{%- set fields = {
    "symbol": word("r.coin"),
    "mark_price": price("r.markpx", zero="kept"),
    "last_price": price("coalesce(r.midpx, r.markpx)", zero="kept"),
    "vol24h_quote": amount("r.dayntlvlm"),
} %}
with contexts as (
    {{ recorded('hyperliquid', 'spot_tickers', "from_json(body -> '$[1]',
        '[{\"coin\":\"VARCHAR\",\"midPx\":\"VARCHAR\",\"markPx\":\"VARCHAR\",\"dayNtlVlm\":\"VARCHAR\"}]')") }}
),

universe as (
    {{ recorded('hyperliquid', 'spot_tickers', "from_json(body -> '$[0].universe', '[{\"name\":\"VARCHAR\"}]')") }}
),

pairs as (
    select tick_ms, requested_ms, r.name as pair from universe
)

select
    c.tick_ms,
    c.endpoint,
    c.key,
    c.requested_ms,
    c.received_ms,
    {{ measured(fields, required=["symbol", "mark_price", "vol24h_quote", "p.pair"]) }}
from {{ read("contexts", fields) }} as c
left join pairs as p on c.tick_ms = p.tick_ms and c.requested_ms = p.requested_ms and c.r.coin = p.pair
qualify c.r is null or p.pair is not null or count(p.pair) over (partition by c.tick_ms, c.requested_ms) = 0
