-- Minutes of files are stored as their hours. Some files have rows twice; of two versions of a minute the one that was
-- recorded later counts.
{{ config(
    incremental_strategy='replace_keys', replace_keys=['market_id', 'kind', 't'], replace_on='t',
    triggers=endpoints_of(families()['staged_marks'].kinds)
) }}
with minutes as (
    select *, opened_ms - opened_ms % 3600000 as t
    from {{ ref('staged_marks') }}
    where reject is null and closed_ms = opened_ms + 59999 and opened_ms % 60000 = 0
    qualify row_number() over (
        partition by venue, symbol, kind, opened_ms order by tick_ms desc, requested_ms desc
    ) = 1
),

hours as (
    select
        venue, symbol, replace(kind, '_bars_files', '') as kind, t, max(tick_ms) as tick_ms,
        arg_min(open, opened_ms) as open, max(high) as high, min(low) as low, arg_max(close, opened_ms) as close
    from minutes
    where t + 3600000 <= tick_ms
    group by venue, symbol, minutes.kind, t
),

identified as materialized (
    select
        i.market_id,
        h.kind,
        h.t,
        h.venue,
        h.symbol,
        i.base,
        {% for price in ['open', 'high', 'low', 'close'] -%}
        h.{{ price }} / if(h.kind = 'premium', 1, i.multiplier) as {{ price }},
        {% endfor -%}
        'backfilled' as source,
        h.tick_ms
    from hours as h
    join {{ ref('instruments') }} as i on h.venue = i.venue and i.type = 'perp' and h.symbol = i.symbol
)

{{ newest_versions('identified', ['market_id', 'kind', 't']) }}
order by kind, t
