-- Of two versions of a bar the one that was recorded later counts. Minutes of files are stored as their hours: minutes
-- are not kept for long, and a venue that leaves out minutes without a trade has whole hours nevertheless.
{{ config(
    incremental_strategy='replace_keys', replace_keys=['market_id', 'step', 't'], replace_on='t',
    triggers=['history_perp_bars', 'history_spot_bars'] + endpoints_of(file_bar_kinds())
) }}
with closed as (
    select *, case closed_ms - opened_ms + 1 when 3600000 then '1h' when 86400000 then '1d' end as step
    from {{ ref('staged_bars') }}
    where reject is null and {{ is_backfilled() }} and closed_ms < tick_ms
        and step is not null and opened_ms % (closed_ms - opened_ms + 1) = 0
    qualify row_number() over (
        partition by venue, type, symbol, step, opened_ms order by tick_ms desc, requested_ms desc
    ) = 1
),

hours_of_files as (
    select
        market_id, t - t % 3600000 as t, any_value(venue) as venue, any_value(type) as type, any_value(symbol) as symbol,
        any_value(base) as base, min_by(open, minutes.t) as open, max_by(close, minutes.t) as close,
        {#- A minute of which they are unknown may have been the highest or the lowest. #}
        if(count(high) = count(*), max(high), null) as high, if(count(low) = count(*), min(low), null) as low,
        {% for column in ["volume_base", "volume_usd", "taker_buy_usd", "taker_sell_usd"] -%}
        sum({{ column }}) as {{ column }},
        {% endfor -%}
        max(tick_ms) as tick_ms
    from {{ ref('int_file_minutes') }} as minutes
    {#- Without a window of files the table has the rows of an earlier one. #}
    where tick_ms in (select tick_ms from {{ source("pipeline", "window_minutes") }})
        and (tick_ms, venue) not in (select (b.tick_ms, b.venue) from {{ source("pipeline", "window_built") }} as b)
    group by market_id, minutes.t - minutes.t % 3600000
    having min(minutes.t) - min(minutes.t) % 3600000 + 3600000 <= max(tick_ms)
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
    union all by name
    select *, '1h' as step, 'backfilled' as source from hours_of_files
)

{{ newest_versions('identified', ['market_id', 'step', 't']) }}
order by step, t
