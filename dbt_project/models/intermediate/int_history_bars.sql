-- Of two versions of a bar the one that was recorded later counts. Minutes of files are stored as their hours: minutes
-- are not kept for long, and a venue that leaves out minutes without a trade has whole hours nevertheless.
{{ config(
    incremental_strategy='replace_keys', replace_keys=['market_id', 'step', 't'], replace_on='t',
    triggers=['history_perp_bars', 'history_spot_bars'] + endpoints_of(file_bar_kinds())
) }}
with fetched as (
    select * from {{ ref('staged_bars') }} where reject is null and {{ is_backfilled() }} and closed_ms < tick_ms
),

-- Some files have rows twice.
minutes_of_files as (
    select *, opened_ms - opened_ms % 3600000 as hour_ms
    from fetched
    where kind in ('{{ file_bar_kinds() | join("', '") }}') and closed_ms = opened_ms + 59999 and opened_ms % 60000 = 0
    qualify row_number() over (partition by venue, type, symbol, tick_ms, requested_ms, opened_ms order by volume desc) = 1
),

hours_of_files as (
    select
        venue, type, symbol, tick_ms, requested_ms, hour_ms as opened_ms, hour_ms + 3599999 as closed_ms,
        arg_min(open, minutes_of_files.opened_ms) as open, max(high) as high, min(low) as low,
        arg_max(close, minutes_of_files.opened_ms) as close,
        {% for column in ["volume", "volume_contracts", "turnover", "taker_buy_turnover", "taker_buy_contracts"] -%}
        sum({{ column }}) as {{ column }}{{ ", " if not loop.last }}
        {%- endfor %}
    from minutes_of_files
    where hour_ms + 3600000 <= tick_ms
    group by venue, type, symbol, tick_ms, requested_ms, hour_ms
),

closed as (
    select *, case closed_ms - opened_ms + 1 when 3600000 then '1h' when 86400000 then '1d' end as step
    from (
        select * from fetched where (kind in ('{{ file_bar_kinds() | join("', '") }}')) is not true
        union all by name
        select * from hours_of_files
    )
    where step is not null and opened_ms % (closed_ms - opened_ms + 1) = 0
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
