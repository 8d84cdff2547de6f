{{ config(
    incremental_strategy='replace_keys', replace_keys=['venue', 'type', 'symbol'],
    triggers=endpoints_of(families()['staged_categories'].kinds)
) }}
select venue, type, symbol, arg_max(category, tick_ms) as category
from {{ ref('staged_categories') }}
where reject is null
group by venue, type, symbol
