{{ config(replace_on='tick_ms', replace_buckets='select tick_ms from pipeline.window_minutes', triggers=['recorded']) }}
with events as (
    select
        e.tick_ms, e.received_ms, {{ recorder_of('e.key') }} as recorder, e.ts, i.market_id,
        e.venue, e.symbol, {{ coin_then('i') }} as base, i.aggregated, e.side, e.price, i.multiplier, i.usd_like,
        coalesce({{ liquidated_size('e', 'i') }}, e.size_quote / nullif(e.price, 0)) as size
    from {{ ref('staged_liquidations') }} as e
    join {{ ref('instruments') }} as i on e.venue = i.venue and e.type = i.type and e.symbol = i.symbol
    {{ join_past_coin('i', 'e.ts') }}
    where e.reject is null
),

-- What two recorders heard is one event, and what one of them heard twice are two.
numbered as (
    select
        *,
        row_number() over (
            partition by recorder, market_id, ts, side, price, size order by tick_ms, received_ms
        ) as nth
    from events
),

once as (
    select *
    from numbered
    qualify row_number() over (
        partition by market_id, ts, side, price, size, nth order by tick_ms, recorder
    ) = 1
),

in_common_units as (
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
    from once
)

select *
from in_common_units as c
{% if is_update() -%}
-- Heard at the turn of a minute, by one recorder before it and by the other after it, one is stored already.
where not exists (
    select 1 from {{ this }} as t
    where
        t.tick_ms in (c.tick_ms - 60000, c.tick_ms + 60000)
        and t.tick_ms not in (select w.tick_ms from {{ source('pipeline', 'window_minutes') }} as w)
        and t.market_id = c.market_id and t.ts = c.ts and t.side = c.side
        and t.price is not distinct from c.price and t.size_base is not distinct from c.size_base
)
{%- endif %}
