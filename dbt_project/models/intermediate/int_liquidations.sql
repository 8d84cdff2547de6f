{{ config(replace_on='tick_ms', replace_buckets='select tick_ms from pipeline.window_minutes') }}
with events as (
    select
        e.tick_ms, e.ts, i.market_id, e.venue, e.symbol, {{ coin_then('i') }} as base, i.aggregated, e.side, e.price, i.multiplier, i.usd_like,
        coalesce({{ liquidated_size('e', 'i') }}, e.size_quote / nullif(e.price, 0)) as size
    from {{ ref('staged_liquidations') }} as e
    join {{ ref('instruments') }} as i on e.venue = i.venue and e.type = i.type and e.symbol = i.symbol
    {{ join_past_coin('i', 'e.ts') }}
    where e.reject is null
)

select
    tick_ms,
    ts,
    market_id,
    venue,
    symbol,
    base,
    aggregated,
    side,
    {{ liquidation_in_common_units() }}
from events
