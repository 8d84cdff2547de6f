-- A settlement that is published again is not stored again. Its interval is the time since the previous settlement, so
-- a settlement that arrives late changes the row of the next one.
{{ config(
    incremental_strategy='replace_keys', replace_keys=['market_id', 'settled_ms'], replace_on='settled_ms',
    triggers=endpoints_of(families()['staged_settlements'].kinds)
) }}
{#- No venue has longer or shorter intervals: a longer time between two settlements means that one is missing, a shorter
    one that a time is wrong. #}
{% set shortest_ms, longest_ms = 1800000, 86400000 %}
with latest as materialized (
    select
        i.market_id,
        -- Some venues' settlement times include the milliseconds that the settlement took.
        s.settled_ms - s.settled_ms % 60000 as settled_ms,
        s.venue,
        s.symbol,
        i.base,
        s.funding_rate,
        s.interval_h as published_h,
        {{ source_of_endpoint() }} as source,
        s.tick_ms
    from {{ ref('staged_settlements') }} as s
    join {{ ref('instruments') }} as i on s.venue = i.venue and s.type = i.type and s.symbol = i.symbol
    where s.reject is null and s.settled_ms < s.tick_ms + 60000
    qualify row_number() over (
        partition by i.market_id, s.settled_ms - s.settled_ms % 60000
        order by source = 'recorded' desc, s.tick_ms desc, s.requested_ms desc
    ) = 1
),

{% if is_update() %}
-- The stored settlements of these markets around the new ones.
stored as materialized (
    select * from {{ this }}
    where
        settled_ms between (select min(settled_ms) - {{ longest_ms }} from latest)
        and (select max(settled_ms) + {{ longest_ms }} from latest)
        and market_id in (select market_id from latest)
),
{% endif %}

fresh as (
    select latest.*
    from latest
    {% if is_update() %}
    left join stored on latest.market_id = stored.market_id and latest.settled_ms = stored.settled_ms
    where
        stored.market_id is null
        or (
            latest.funding_rate is distinct from stored.funding_rate
            and case when stored.source = latest.source then latest.tick_ms >= stored.tick_ms else latest.source = 'recorded' end
        )
        or (latest.source = 'recorded' and stored.source <> 'recorded')
    {% endif %}
),

timeline as (
    select *, null::double as stored_h, true as is_fresh from fresh
    {% if is_update() %}
    union all by name
    select s.* exclude (interval_h, funding_8h), null::double as published_h, s.interval_h as stored_h, false as is_fresh
    from stored as s
    anti join fresh as f on s.market_id = f.market_id and s.settled_ms = f.settled_ms
    {% endif %}
),

measured as (
    select
        *,
        settled_ms - lag(settled_ms) over (partition by market_id order by settled_ms) as distance_ms,
        lag(tick_ms) over (partition by market_id order by settled_ms) as before_tick_ms
    from timeline
)

select
    market_id,
    settled_ms,
    venue,
    symbol,
    base,
    funding_rate,
    case
        when distance_ms between {{ shortest_ms }} and {{ longest_ms }} then round(distance_ms / 3600000.0, 2)
        else coalesce(published_h, stored_h)
    end as interval_h,
    funding_rate * 8 / interval_h as funding_8h,
    source,
    case when is_fresh then tick_ms else before_tick_ms end as tick_ms
from measured
where is_fresh or interval_h is distinct from stored_h
