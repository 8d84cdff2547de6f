-- Old liquidations from files: at most one of a market in a second, and so a sample, which nothing sums. The files have each
-- row twice.
{{ config(
    incremental_strategy='replace_keys', replace_keys=['market_id', 'ts', 'side'], replace_on='ts',
    triggers=endpoints_of(families()['staged_liquidation_samples'].kinds)
) }}
with events as (
    select
        e.tick_ms, e.ts, i.market_id, e.venue, e.symbol, {{ coin_then('i') }} as base, e.side, e.price, i.multiplier, i.usd_like,
        {{ liquidated_size('e', 'i') }} as size
    from {{ ref('staged_liquidation_samples') }} as e
    join {{ ref('instruments') }} as i on e.venue = i.venue and i.type = 'perp' and e.symbol = i.symbol
    {{ join_past_coin('i', 'e.ts') }}
    where e.reject is null
    qualify row_number() over (partition by i.market_id, e.ts, e.side order by e.tick_ms desc, e.requested_ms desc) = 1
)

select
    tick_ms,
    ts,
    market_id,
    venue,
    symbol,
    base,
    side,
    {{ liquidation_in_common_units() }},
    'backfilled' as source
from events
order by ts
