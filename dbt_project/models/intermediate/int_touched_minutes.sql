{{ config(incremental_strategy='replace_all', tags=['window']) }}
select tick_ms as minute_ms
from ({{ whole_minutes() }})
union
select opened_ms
from {{ ref('staged_bars') }}
where reject is null and {{ is_stored_minute() }}
union
select minute_ms
from {{ ref('int_market_bars') }}
where tick_ms in (select l.tick_ms from {{ source('pipeline', 'late_minutes') }} as l where l.due) and {{ is_late() }}
union
select o.t
from {{ ref('int_history_oi') }} as o
where
    o.period_ms = 300000 and o.tick_ms in (select w.tick_ms from {{ source('pipeline', 'window_minutes') }} as w)
    and (o.tick_ms, o.venue) not in (select (b.tick_ms, b.venue) from {{ source('pipeline', 'window_built') }} as b)
    and (o.market_id, o.t) in (select (b.market_id, b.minute_ms) from {{ ref('int_market_bars') }} as b)
union
select ts - ts % 60000
from {{ ref('int_liquidations') }}
where tick_ms in ({{ whole_minutes() }})
