-- Values are counted before markets are compared: only the minutes in which a venue lost many are read market by market.
{#- A build decides again the minutes from its window's first to an hour after its last, and looks whether markets that were
    lost before are back. -#}
{%- set reach_ms = 3600000 %}
{%- set ends = 'select min(tick_ms), max(tick_ms) from ' ~ source('pipeline', 'window_minutes') %}
{%- set window = run_query(ends).rows[0] if execute and is_update() else [none, none] %}
{%- set first, last = window[0] or 0, (window[1] or 0) + reach_ms %}
{{ config(
    replace_on='lost_ms', triggers=['recorded'],
    replace_buckets='select lost_ms from ' ~ this ~ ' where coalesce(back_ms >= ' ~ first ~ ', true) or lost_ms between ' ~ first ~ ' and ' ~ last
) }}
{%- set columns = {'price': 'price', 'oi': 'oi_base', 'funding': 'funding_rate'} %}
with states as not materialized (
    select minute_ms, market_id, venue, type{% for column in columns.values() %}, {{ column }}{% endfor %}
    from {{ ref('int_market_minutes') }}
    {% if is_update() %}where minute_ms between {{ first - reach_ms }} and {{ last }}{% endif %}
),

counts as (
    select
        minute_ms, venue, type,
        lag(minute_ms) over before as before_ms,
        {% for family, column in columns.items() %}
        count({{ column }}) as n_{{ family }},
        lag(count({{ column }})) over before as before_{{ family }}{{ "," if not loop.last }}
        {% endfor %}
    from states
    group by minute_ms, venue, type
    window before as (partition by venue, type order by minute_ms)
),

-- The venue's minutes with less than nine tenths of the markets that had the value in its minute before.
losses as materialized (
    {% for family in columns %}
    select venue, type, '{{ family }}' as family, minute_ms as lost_ms, before_ms, before_{{ family }} as markets
    from counts
    where
        n_{{ family }} * 10 < before_{{ family }} * 9 and before_ms >= minute_ms - {{ reach_ms }}
        {% if is_update() %}and minute_ms >= {{ first }}{% endif %}
    {{ "union all" if not loop.last }}
    {% endfor %}
),

reported as not materialized (
    {% for family, column in columns.items() %}
    select minute_ms, market_id, venue, type, '{{ family }}' as family from states where {{ column }} is not null
    {{ "union all" if not loop.last }}
    {% endfor %}
),

lost as (
    select l.venue, l.type, r.market_id, l.family, l.lost_ms, l.markets
    from losses as l
    join reported as r on l.venue = r.venue and l.type = r.type and l.family = r.family and l.before_ms = r.minute_ms
    anti join reported as n on r.market_id = n.market_id and l.family = n.family and l.lost_ms = n.minute_ms
),

known as (
    select *, null::bigint as back_ms from lost
    {% if is_update() %}
    union all by name
    select * from {{ this }} where coalesce(back_ms >= {{ first }}, true) and lost_ms < {{ first }}
    {% endif %}
),

returned as (
    select k.market_id, k.family, k.lost_ms, min(r.minute_ms) as back_ms
    from known as k
    join reported as r on k.market_id = r.market_id and k.family = r.family and k.lost_ms < r.minute_ms
    -- Earlier builds have looked at the minutes before.
    {% if is_update() %}where r.minute_ms >= {{ first }}{% endif %}
    group by k.market_id, k.family, k.lost_ms
)

select
    k.venue, k.type, k.market_id, k.family, k.lost_ms, k.markets::integer as markets,
    {% if is_update() %}
    least(r.back_ms, old.back_ms) as back_ms
    {% else %}
    r.back_ms
    {% endif %}
from known as k
left join returned as r on k.market_id = r.market_id and k.family = r.family and k.lost_ms = r.lost_ms
{% if is_update() %}
left join {{ this }} as old on k.market_id = old.market_id and k.family = old.family and k.lost_ms = old.lost_ms
{% endif %}
