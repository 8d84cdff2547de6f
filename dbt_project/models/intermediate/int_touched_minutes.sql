{{ config(incremental_strategy='replace_all', tags=['window']) }}
select tick_ms as minute_ms
from {{ source('pipeline', 'window_minutes') }}
union
select opened_ms
from {{ ref('staged_bars') }}
where reject is null and opened_ms + 60000 <= tick_ms and closed_ms = opened_ms + 59999 and opened_ms % 60000 = 0
union
select ts - ts % 60000
from {{ ref('int_liquidations') }}
where tick_ms in (select w.tick_ms from {{ source('pipeline', 'window_minutes') }} as w)
