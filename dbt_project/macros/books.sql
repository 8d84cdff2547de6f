{#- CTEs of the window's newest book of each market and minute: `books`, and `priced`, its levels with their distance from
    the mid and their notional. `kind` is the kind of the staged books. -#}
{% macro priced_books(kind) -%}
books as (
    select
        b.tick_ms, i.market_id, b.venue, i.type, b.symbol, i.base, i.quote, b.ts, b.bids, b.asks,
        i.multiplier, i.usd_like,
        -- An inverse contract is worth that many USD; any other contract, that many units of the symbol.
        case when b.size_unit = 'contracts' then i.contract_size else 1 end as size_factor,
        b.size_unit = 'contracts' and i.inverse as sizes_are_usd,
        (b.bids[1][1] + b.asks[1][1]) / 2 as mid
    from {{ ref('staged_books') }} as b
    join {{ ref('instruments') }} as i on b.venue = i.venue and b.type = i.type and b.symbol = i.symbol
    where
        b.kind = '{{ kind }}' and b.reject is null and len(b.bids) > 0 and len(b.asks) > 0
        and b.tick_ms in (select w.tick_ms from {{ source('pipeline', 'window_minutes') }} as w)
    qualify row_number() over (partition by b.tick_ms, i.market_id order by b.ts desc, b.requested_ms desc) = 1
),

levels as (
    select tick_ms, market_id, mid, size_factor, sizes_are_usd, 'bid' as side, unnest(bids) as level from books
    union all
    select tick_ms, market_id, mid, size_factor, sizes_are_usd, 'ask' as side, unnest(asks) as level from books
),

priced as (
    select
        tick_ms, market_id, side,
        -- Distance from the mid in percent, rounded to remove floating-point noise.
        round(abs(level[1] / mid - 1) * 100, 9) as away_pct,
        level[1] as price,
        level[2] * size_factor * case when sizes_are_usd then 1 else level[1] end as notional
    from levels
)
{%- endmacro %}

{#- Figures of an order book: the mid, the notional within bands around it, and the cost of a market order. `kind` is
    the kind of the staged books, `bands_pct` the bands in percent, `order_usd` the size of the order. -#}
{% macro book_figures(kind, bands_pct, order_usd=none) %}
{{ config(
    replace_on='tick_ms', replace_buckets='select tick_ms from pipeline.window_minutes', triggers=endpoints_of([kind])
) }}
with {{ priced_books(kind) }},

walked as (
    select
        *{% if order_usd %},
        coalesce(sum(notional) over (
            partition by tick_ms, market_id, side order by away_pct
            rows between unbounded preceding and 1 preceding
        ), 0) as before
        {% endif %}
    from priced
),

sides as (
    select
        tick_ms, market_id, side, count(*) as levels, max(away_pct) as reach_pct,
        {% for band in bands_pct %}
        coalesce(sum(notional) filter (where away_pct <= {{ band }}), 0) as within_{{ loop.index }},
        {% endfor %}
        {% if order_usd %}
        least({{ order_usd }}, sum(notional)) as filled,
        sum(greatest(least(notional, {{ order_usd }} - before), 0) / price) as filled_size
        {% endif %}
    from walked
    group by tick_ms, market_id, side
)

select
    b.tick_ms,
    b.market_id,
    b.venue,
    b.type,
    b.symbol,
    b.base,
    b.quote,
    b.ts,
    b.mid / b.multiplier as mid,
    [
        {%- for band in bands_pct %}
        {
            band_pct: {{ band }}::double,
            bid_usd: case when b.usd_like then bid.within_{{ loop.index }} end,
            ask_usd: case when b.usd_like then ask.within_{{ loop.index }} end,
            bid_truncated: bid.reach_pct < {{ band }},
            ask_truncated: ask.reach_pct < {{ band }}
        }{{ "," if not loop.last }}
        {%- endfor %}
    ] as depth,
    {% if order_usd %}
    {%- set one = bands_pct.index(1.0) + 1 %}
    (bid.within_{{ one }} - ask.within_{{ one }}) / nullif(bid.within_{{ one }} + ask.within_{{ one }}, 0) as imbalance,
    least(1.0, bid.reach_pct, ask.reach_pct) as imbalance_range_pct,
    case when b.usd_like then (ask.filled / nullif(ask.filled_size, 0) / b.mid - 1) * 10000 end as cost_buy_bps,
    ask.filled < {{ order_usd }} as cost_buy_truncated,
    case when b.usd_like then (1 - bid.filled / nullif(bid.filled_size, 0) / b.mid) * 10000 end as cost_sell_bps,
    bid.filled < {{ order_usd }} as cost_sell_truncated,
    {% endif %}
    bid.levels as bid_levels,
    ask.levels as ask_levels
from books as b
join sides as bid on b.tick_ms = bid.tick_ms and b.market_id = bid.market_id and bid.side = 'bid'
join sides as ask on b.tick_ms = ask.tick_ms and b.market_id = ask.market_id and ask.side = 'ask'
{% endmacro %}

{#- A spot pair without separators: BTC-USDT, BTC/USDT and BTC_USDT are one pair. -#}
{% macro joined_pair(pair) -%}upper(regexp_replace({{ pair }}, '[^A-Za-z0-9]', '', 'g')){%- endmacro %}
