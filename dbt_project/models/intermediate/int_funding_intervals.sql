-- Minutes are processed in order of time; a value that arrives late for an earlier time is inserted only where it
-- changes something.
{{ config(incremental_strategy='replace_keys', replace_keys=['market_id', 'source', 'since_ms']) }}
with reported as (
    select venue, type, symbol, 'minutes' as source, tick_ms as since_ms, max_by(interval_h, received_ms) as interval_h
    from {{ ref('staged_market_state') }}
    where reject is null and interval_h is not null
    group by venue, type, symbol, tick_ms
    union all by name
    select venue, type, symbol, 'instruments' as source, tick_ms as since_ms, max_by(interval_h, received_ms) as interval_h
    from {{ ref('staged_instruments') }}
    where reject is null and interval_h is not null
    group by venue, type, symbol, tick_ms
),

fresh as (
    select i.market_id, t.source, t.since_ms, t.interval_h
    from reported as t
    join {{ ref('instruments') }} as i on t.venue = i.venue and t.type = i.type and t.symbol = i.symbol
    union all by name
    select market_id, 'settlements' as source, (settled_ms - interval_h * 3600000)::bigint as since_ms, interval_h
    from {{ ref('int_settlements') }}
    where interval_h is not null
        {% if is_update() %}and tick_ms in (select w.tick_ms from {{ source('pipeline', 'window_minutes') }} as w){% endif %}
),

timeline as (
    select *, true as is_fresh from fresh
    {% if is_update() %}
    union all by name
    select market_id, source, since_ms, interval_h, false as is_fresh from {{ this }}
    {% endif %}
)

select market_id, source, since_ms, interval_h
from timeline
qualify
    is_fresh
    and interval_h is distinct from lag(interval_h) over (partition by market_id, source order by since_ms, is_fresh)
