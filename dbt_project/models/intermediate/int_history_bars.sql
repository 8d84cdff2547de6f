-- Of two versions of a bar the one that was recorded later counts.
{{ config(
    incremental_strategy='replace_keys', replace_keys=['market_id', 'step', 't'], replace_on='t',
    triggers=['history_perp_bars', 'history_spot_bars']
) }}
with closed as (
    select *, case closed_ms - opened_ms + 1 when 3600000 then '1h' when 86400000 then '1d' end as step
    from {{ ref('staged_bars') }}
    where
        reject is null and {{ is_backfilled() }} and closed_ms < tick_ms and step is not null
        and opened_ms % (closed_ms - opened_ms + 1) = 0
    qualify row_number() over (
        partition by venue, type, symbol, step, opened_ms order by tick_ms desc, requested_ms desc
    ) = 1
),

identified as materialized (
    select
        i.market_id,
        b.step,
        b.opened_ms as t,
        b.venue,
        b.type,
        b.symbol,
        i.base,
        {{ bar_in_common_units('b', 'i') }},
        'backfilled' as source,
        b.tick_ms
    from closed as b
    join {{ ref('instruments') }} as i on b.venue = i.venue and b.type = i.type and b.symbol = i.symbol
)

{{ newest_versions('identified', ['market_id', 'step', 't']) }}
order by step, t
