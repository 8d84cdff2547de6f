-- A map is updated from the previous one and never computed from scratch, so data that arrives late does not change it.
-- Each build that recorded order books of the indices updates the newest maps; maps of the scored perps are also
-- frozen, for the last hours.
{%- set kept_hours = 36 %}
{{ config(
    incremental_strategy='replace_keys', replace_keys=['frozen_ms'], triggers=endpoints_of(['index_books']),
    post_hook='delete from {{ this }} where frozen_ms between 1 and (select max(t) from {{ this }}) - ' ~ (kept_hours * 3600000)
) }}
{%- set scenarios = [0.5, 1, 2] %}
{%- set minutes, depth = source('pipeline', 'window_minutes'), ref('int_index_depth') %}
{%- set from_ms, until_ms = map_times(minutes) %}
{%- set hours = range((from_ms // 3600000 + 1) * 3600000, until_ms + 1, 3600000) | list %}
{%- set scored = var('scored_perps') %}
with perps as (
    select market_id
    from {{ ref('instruments') }}
    where
        type = 'perp' and aggregated and market_id in (select c.market_id from {{ ref('int_index_components') }} as c)
        and base in (select d.base from {{ depth }} as d where d.tick_ms between {{ until_ms - 86400000 }} and {{ until_ms + 300000 }})
),

changes as materialized (
    {{ position_changes('perps', from_ms, until_ms) }}
),

before as (
    {% if is_update() %}
    select market_id, scenario, side, bin, usd from {{ this }} where frozen_ms = 0
    {% else %}
    select null::varchar as market_id, null::double as scenario, null::varchar as side, null::bigint as bin, null::double as usd
    where false
    {% endif %}
){% for hour in hours %},

-- The perps of the venue with the highest open interest when the hour began.
scored_{{ loop.index }} as (
    select m.market_id
    from {{ ref('int_market_minutes') }} as m
    where
        m.minute_ms between {{ hour - 300000 }} and {{ hour - 1 }} and m.type = 'perp' and m.aggregated
        and m.venue = '{{ scored.venue }}' and m.quote = '{{ scored.quote }}' and m.market_id in (select market_id from perps)
    group by m.market_id
    order by max_by(m.oi_usd, m.minute_ms) desc nulls last, m.market_id
    limit {{ scored.most }}
),

map_{{ loop.index }} as (
    {{ liquidation_map('before', 'changes', hour, [1]) }}
){% endfor %}

select 0::bigint as frozen_ms, {{ until_ms }}::bigint as t, *
from (
    {{ liquidation_map('before', 'changes', until_ms, scenarios) }}
)
{% for hour in hours %}
union all
select {{ hour }}, {{ hour }}, *
from map_{{ loop.index }}
where market_id in (select market_id from scored_{{ loop.index }})
{% endfor %}
