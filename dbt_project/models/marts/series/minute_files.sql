{#- The minutes of files are too many for the warehouse and for every edition, so each window writes its own as a Parquet file;
    this table says what is in which. A window that is built again replaces its rows, and its file has another name if its content
    has changed, so that a reader of an older edition still finds the one it knows. -#}
{{ config(
    incremental_strategy='replace_keys', replace_keys=['window_id'],
    triggers=endpoints_of(file_bar_kinds()), post_hook="{{ write_minutes() }}"
) }}
with minutes as (
  select * from {{ ref('int_file_minutes') }}
),

named as (
  select
    min(tick_ms) || '-' || max(tick_ms) as window_id,
    printf('%s-%016x', window_id, bit_xor(hash(t, market_id, base, close, volume_usd, taker_buy_usd))) as file
  from minutes
)

select window_id, file, base, min(t) as from_ms, max(t) + 60000 as to_ms, count(*) as minutes, max(tick_ms) as tick_ms
from minutes, named
group by window_id, file, base
