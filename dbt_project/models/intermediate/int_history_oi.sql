-- Of two values for the same time the one that was recorded later counts.
{{ config(
    incremental_strategy='replace_keys', replace_keys=['market_id', 'period_ms', 't'], replace_on='t',
    triggers=endpoints_of(families()['staged_oi_history'].kinds + families()['staged_metrics'].kinds)
) }}
with staged as (
    select * from {{ ref('staged_oi_history') }}
    union all by name
    select * from {{ ref('staged_metrics') }}
),

latest as (
    select *
    from staged
    where
        reject is null and {{ is_backfilled() }} and t <= tick_ms and {{ of_window() }}
    qualify row_number() over (partition by venue, symbol, period_ms, t order by tick_ms desc, requested_ms desc) = 1
),

identified as materialized (
    select
        i.market_id,
        o.period_ms,
        o.t,
        o.venue,
        o.symbol,
        i.base,
        coalesce(
            o.single_open_interest,
            v.oi_factor * coalesce(o.open_interest, case when not i.inverse then o.open_contracts * i.contract_size end)
        ) * i.multiplier as oi_base,
        -- Contracts of an inverse market are worth USD.
        v.oi_factor * coalesce(
            o.open_interest_usd, case when i.inverse then o.open_contracts * i.contract_size end
        ) as oi_usd,
        'backfilled' as source,
        o.tick_ms
    from latest as o
    join {{ ref('instruments') }} as i on o.venue = i.venue and i.type = 'perp' and o.symbol = i.symbol
    left join {{ ref('venues') }} as v on o.venue = v.venue
)

{{ newest_versions('identified', ['market_id', 'period_ms', 't']) }}
order by t
