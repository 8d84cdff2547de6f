-- Bars are replaced by key, because an hourly catch-up brings bars of many minutes for a few markets. A recorded bar
-- takes precedence over a backfilled one; of equals, the version that was requested last.
{{ config(incremental_strategy='replace_keys', replace_keys=['market_id', 'minute_ms'], replace_on='minute_ms') }}
with closed as (
    select *, {{ source_of_endpoint() }} as source
    from {{ ref('staged_bars') }}
    where reject is null and {{ is_stored_minute() }}
    qualify row_number() over (
        partition by venue, type, symbol, opened_ms order by source = 'recorded' desc, tick_ms desc, requested_ms desc
    ) = 1
),

identified as materialized (
    {{ bars_of_markets('closed', 'minute_ms', 'b.source') }}
)

{{ newest_versions('identified', ['market_id', 'minute_ms']) }}
