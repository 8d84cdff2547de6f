-- Weights are published with four digits: smaller differences are not a change.
{{ config(
    incremental_strategy='replace_keys', replace_keys=['market_id', 'since_ms'],
    triggers=endpoints_of(families()['staged_index_components'].kinds)
) }}
with reported as (
    select
        c.venue, c.symbol, c.tick_ms as since_ms,
        list_sort(list_distinct(list({exchange: c.exchange, pair: c.pair, weight: round(c.weight, 4)}))) as components
    from {{ ref('staged_index_components') }} as c
    where c.reject is null
    group by c.venue, c.symbol, c.tick_ms
),

fresh as (
    select i.market_id, t.since_ms, t.venue, t.symbol, i.base, t.components
    from reported as t
    join {{ ref('instruments') }} as i on t.venue = i.venue and i.type = 'perp' and t.symbol = i.symbol
),

timeline as (
    select *, true as is_fresh from fresh
    {% if is_update() %}
    union all by name
    select *, false as is_fresh from {{ this }} where market_id in (select market_id from fresh)
    {% endif %}
)

select market_id, since_ms, venue, symbol, base, components
from timeline
qualify
    is_fresh
    and components is distinct from lag(components) over (partition by market_id order by since_ms, is_fresh)
