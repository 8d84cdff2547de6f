-- Of two values for the same bucket the one that was recorded later counts.
{{ config(
    incremental_strategy='replace_keys', replace_keys=['market_id', 'period_ms', 't'], replace_on='t',
    triggers=endpoints_of(families()['staged_liquidation_sums'].kinds)
) }}
with latest as (
    select *
    from {{ ref('staged_liquidation_sums') }}
    where reject is null and {{ is_backfilled() }} and long_usd + short_usd is not null
    qualify row_number() over (partition by venue, symbol, period_ms, t order by tick_ms desc, requested_ms desc) = 1
),

identified as materialized (
    select
        i.market_id,
        s.period_ms,
        s.t,
        s.venue,
        s.symbol,
        i.base,
        if(i.usd_like, s.long_usd, null) as long_usd,
        if(i.usd_like, s.short_usd, null) as short_usd,
        'backfilled' as source,
        s.tick_ms
    from latest as s
    join {{ ref('instruments') }} as i on s.venue = i.venue and i.type = 'perp' and s.symbol = i.symbol
)

{{ newest_versions('identified', ['market_id', 'period_ms', 't']) }}
order by t
