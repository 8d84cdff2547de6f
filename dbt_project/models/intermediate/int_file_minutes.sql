-- The minutes of bars in the files that this window landed. Some files have rows twice.
{{ config(incremental_strategy='replace_all', triggers=endpoints_of(file_bar_kinds())) }}
with closed as (
    select * from {{ ref('staged_bars') }}
    where reject is null and kind in ('{{ file_bar_kinds() | join("', '") }}')
        and closed_ms = opened_ms + 59999 and opened_ms % 60000 = 0 and closed_ms < tick_ms
    qualify row_number() over (
        partition by venue, type, symbol, opened_ms order by tick_ms desc, requested_ms desc, volume desc
    ) = 1
)

{{ bars_of_markets('closed', 't', 'i.usd_like') }}
